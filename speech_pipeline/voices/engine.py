"""What an engine has to bring to become a voice; :mod:`speech_pipeline.voices.engine_voice` does the rest."""

from collections.abc import Mapping
from typing import Protocol

from speech_pipeline.voices.voice import Speech


class Engine(Protocol):
    """Speaks short texts that were checked and cleaned. Safe to call from several threads at once."""

    @property
    def name(self) -> str:
        """Name for messages."""
        ...

    @property
    def voices(self) -> Mapping[str, tuple[str, ...]]:
        """Names of the voices by language code, the default first."""
        ...

    @property
    def longest_text(self) -> int:
        """Characters of the longest text the engine is given, where a wide one (Chinese, Korean) counts as three."""
        ...

    def sampling_rate(self, language: str) -> int:
        """Samples a second in this language."""
        ...

    def speak(self, text: str, language: str, voice: str, speed: float) -> Speech:
        """Speak a text of at most :attr:`longest_text`. Equal calls give equal samples.

        The samples may be of any loudness and have silence at their ends. Any exception is a failure of the engine.
        """
        ...
