"""The starter voice: hibari, English, a network of 8 MB that comes with its package."""

import importlib.util
import re
import unicodedata
from pathlib import Path
from types import MappingProxyType
from typing import Any

from speech_pipeline.errors import ModelUnavailable
from speech_pipeline.voices.voice import Speech

_SEED = 0

_LONG_NUMBER = re.compile(r"\d[\d,]{24,}")
"""A number that nobody says in words; hibari has words for 36 digits and fails beyond."""


class HibariEngine:
    """Speaks English with hibari.

    The package holds one voice, ``heart``; others are there once ``hibari --voice NAME`` has fetched them.
    """

    name = "hibari"
    longest_text = 400

    def __init__(self) -> None:
        """Load every voice that is on this machine.

        Raises:
            ModelUnavailable: the package ``hibari-tts`` is missing.
        """
        if importlib.util.find_spec("hibari") is None:
            raise ModelUnavailable("The starter voice needs the package hibari-tts: pip install hibari-tts.")
        from hibari import SAMPLE_RATE, Hibari
        from hibari.voices import VOICES, cache_dir

        present = [
            name
            for name, voice in VOICES.items()
            if voice.get("bundled") or (Path(cache_dir()) / voice["file"]).is_file()
        ]
        self._sampling_rate = int(SAMPLE_RATE)
        self._models: dict[str, Any] = {name: Hibari(voice=name) for name in present}
        self.voices = MappingProxyType({"en": tuple(present)})

    def sampling_rate(self, language: str) -> int:
        """Samples a second."""
        return self._sampling_rate

    def speak(self, text: str, language: str, voice: str, speed: float) -> Speech:
        """Speak a short text."""
        text = _LONG_NUMBER.sub(_one_by_one, "".join(map(_plain_digit, text)))
        return Speech(self._models[voice](text, speed=speed, seed=_SEED), self._sampling_rate)


def _plain_digit(character: str) -> str:
    """Digits such as ② and ³, which hibari takes for numbers and cannot read, as those of the keyboard."""
    if character.isdigit() and not character.isdecimal():
        return f" {unicodedata.digit(character)} "
    return character


def _one_by_one(number: re.Match[str]) -> str:
    """The digits of a number apart, in groups of three."""
    digits = number[0].replace(",", "")
    return ", ".join(" ".join(digits[start : start + 3]) for start in range(0, len(digits), 3))
