"""An engine that says numbers: as many samples as the text has characters, of a size that tells who spoke."""

from collections.abc import Callable, Mapping

import numpy as np

from speech_pipeline.voices.voice import Speech

RATE = 8_000


class ScriptedEngine:
    """Notes what it is given; ``script`` may stand in for its speech or raise an error."""

    def __init__(
        self,
        voices: Mapping[str, tuple[str, ...]] | None = None,
        script: Callable[[str], Speech] | None = None,
        name: str = "scripted",
        longest_text: int = 40,
    ) -> None:
        self.name = name
        self.longest_text = longest_text
        self.voices = voices or {"en": ("ann", "bob"), "fr": ("chloé",)}
        self.calls: list[tuple[str, str, str, float]] = []
        self._script = script or self._hum

    def sampling_rate(self, language: str) -> int:
        return RATE

    def speak(self, text: str, language: str, voice: str, speed: float) -> Speech:
        self.calls.append((text, language, voice, speed))
        return self._script(text)

    def _hum(self, text: str) -> Speech:
        """A tone of 10 ms for each character."""
        times = np.arange(len(text) * RATE // 100) / RATE
        return Speech(np.asarray(0.1 * np.sin(2 * np.pi * 400 * times), np.float32), RATE)
