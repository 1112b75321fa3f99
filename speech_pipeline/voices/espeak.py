"""eSpeak NG: small, quick and artificial, in a hundred languages.

Its library and data come with the package ``espeakng-loader``. It is under the GPL, and runs as a program of its own
(:mod:`speech_pipeline.voices.espeak_process`).
"""

import importlib.util
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType

import numpy as np

from speech_pipeline.errors import ModelUnavailable
from speech_pipeline.languages import language_codes
from speech_pipeline.voices import espeak_process
from speech_pipeline.voices.voice import Speech

SAMPLING_RATE = 22_050

_ESPEAK_LANGUAGES = {"en": "en-us", "no": "nb", "zh": "cmn"}
"""What eSpeak calls the languages it has under another code than Whisper."""

_DEFAULT_VARIANTS = {"fr": "f5", "ko": "f5", "zh": "Annie"}
"""The variant that Whisper hears best where the plain voice is taken for another language."""

_VARIANTS = ("m1", "m2", "m3", "m4", "m5", "m6", "m7", "m8", "f1", "f2", "f3", "f4", "f5")

_WORDS_PER_MINUTE = 160
_LONGEST_RUN_S = 60.0


class EspeakEngine:
    """Speaks with eSpeak NG. Every text is spoken by a process of its own, so that calls may run side by side."""

    name = "espeak"
    longest_text = 400

    def __init__(self) -> None:
        """Find the library.

        Raises:
            ModelUnavailable: the package ``espeakng-loader`` is missing or does not work on this machine.
        """
        self._library, self._folder = _library_and_folder()
        self._readings: dict[str, Callable[[str], str]] = {}
        if importlib.util.find_spec("fugashi") and importlib.util.find_spec("unidic_lite"):
            from speech_pipeline.voices.japanese import JapaneseReading

            self._readings["ja"] = JapaneseReading().kana
        self.voices = MappingProxyType(self._find_voices())
        if not len(self.speak("a", "en", self.voices["en"][0], 1.0).samples):
            raise ModelUnavailable("The eSpeak voice does not work on this machine; set another voice.")

    def sampling_rate(self, language: str) -> int:
        """Samples a second."""
        return SAMPLING_RATE

    def speak(self, text: str, language: str, voice: str, speed: float) -> Speech:
        """Speak a short text."""
        if language in self._readings:
            text = self._readings[language](text)
        variant = "" if voice == "default" else f"+{voice}"
        command = [
            *(sys.executable, "-I", "-S", espeak_process.__file__, str(self._library), "."),
            _ESPEAK_LANGUAGES.get(language, language) + variant,
            str(round(_WORDS_PER_MINUTE * speed)),
        ]
        # eSpeak keeps the path of its data in a short array, which a relative path always fits.
        output = subprocess.run(
            command, input=text.encode(), cwd=self._folder, capture_output=True, timeout=_LONGEST_RUN_S, check=True
        ).stdout
        if not output:
            raise ChildProcessError("eSpeak NG ended without a word")
        sampling_rate = int.from_bytes(output[:4], "little")
        samples = np.frombuffer(output[4:], "<i2").astype(np.float32) / np.float32(2**15)
        return Speech(samples, sampling_rate)

    def _find_voices(self) -> Mapping[str, tuple[str, ...]]:
        # A language without its dictionary is silent.
        data = self._folder / "espeak-ng-data"
        files = {path.name.lower() for path in (data / "lang").rglob("*")}
        dictionaries = {path.name.removesuffix("_dict") for path in data.glob("*_dict")}
        known = {
            code
            for code in language_codes()
            if (name := _ESPEAK_LANGUAGES.get(code, code)) in files and dictionaries & {code, name}
        }
        if "ja" not in self._readings:
            known.discard("ja")  # it spells Chinese characters out
        return {
            code: tuple(dict.fromkeys([_DEFAULT_VARIANTS.get(code, "default"), "default", *_VARIANTS]))
            for code in sorted(known)
        }


def _library_and_folder() -> tuple[Path, Path]:
    """The shared library, and the folder that holds ``espeak-ng-data``."""
    if importlib.util.find_spec("espeakng_loader") is None:
        raise ModelUnavailable("The eSpeak voice needs the package espeakng-loader: pip install espeakng-loader.")
    import espeakng_loader

    return Path(espeakng_loader.get_library_path()), Path(espeakng_loader.get_data_path()).parent
