"""Voices made of others: one for each language, and one that stands in for languages the first cannot speak."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType

from speech_pipeline.errors import UnsupportedByModel
from speech_pipeline.voices.voice import Speech, Voice

_MOST_LISTED = 40


class VoicePerLanguage:
    """A :class:`~speech_pipeline.voices.voice.Voice` that has another one speak each language."""

    def __init__(self, by_language: Mapping[str, Voice]) -> None:
        """Put voices together.

        Args:
            by_language: what speaks a language, by its code; each must speak its own.
        """
        self._by_language = dict(by_language)
        self._voices = MappingProxyType({code: voice.voices[code] for code, voice in by_language.items()})

    @property
    def name(self) -> str:
        """Names of the engines."""
        return " and ".join(dict.fromkeys(voice.name for voice in self._by_language.values()))

    @property
    def voices(self) -> Mapping[str, tuple[str, ...]]:
        """Names by language code."""
        return self._voices

    def synthesize(self, text: str, language: str, voice: str | None = None, speed: float = 1.0) -> Speech:
        """Speak a text; see :meth:`Voice.synthesize <speech_pipeline.voices.voice.Voice.synthesize>`."""
        return self._speaker(language).synthesize(text, language, voice, speed)

    def stream(self, text: str, language: str, voice: str | None = None, speed: float = 1.0) -> Iterator[Speech]:
        """Speak a text piece by piece; see :meth:`Voice.stream <speech_pipeline.voices.voice.Voice.stream>`."""
        return self._speaker(language).stream(text, language, voice, speed)

    def _speaker(self, language: str) -> Voice:
        if language not in self._by_language:
            raise unsupported(self.name, language, list(self._by_language))
        return self._by_language[language]


class VoiceWithFallback:
    """A :class:`~speech_pipeline.voices.voice.Voice` made of two; what the second one speaks carries a warning."""

    def __init__(self, main: Voice, fallback: Voice) -> None:
        """Put two voices together.

        Args:
            main: speaks whatever it can.
            fallback: speaks the other languages.
        """
        self._main = main
        self._fallback = fallback
        self._voices = MappingProxyType({**fallback.voices, **main.voices})
        self._main_names = frozenset(name for names in main.voices.values() for name in names)

    @property
    def name(self) -> str:
        """Name of the main voice."""
        return self._main.name

    @property
    def voices(self) -> Mapping[str, tuple[str, ...]]:
        """Names by language code, those of the main voice where it speaks the language."""
        return self._voices

    def synthesize(self, text: str, language: str, voice: str | None = None, speed: float = 1.0) -> Speech:
        """Speak a text; see :meth:`Voice.synthesize <speech_pipeline.voices.voice.Voice.synthesize>`."""
        if not self._falls_back(language):
            return self._main.synthesize(text, language, voice, speed)
        speech = self._fallback.synthesize(text, language, self._name_for_fallback(language, voice), speed)
        return self._with_warning(speech, language)

    def stream(self, text: str, language: str, voice: str | None = None, speed: float = 1.0) -> Iterator[Speech]:
        """Speak a text piece by piece; see :meth:`Voice.stream <speech_pipeline.voices.voice.Voice.stream>`."""
        if not self._falls_back(language):
            return self._main.stream(text, language, voice, speed)
        pieces = self._fallback.stream(text, language, self._name_for_fallback(language, voice), speed)
        return (self._with_warning(piece, language) for piece in pieces)

    def _falls_back(self, language: str) -> bool:
        return language not in self._main.voices and language in self._fallback.voices

    def _name_for_fallback(self, language: str, voice: str | None) -> str | None:
        """None, which is the default, where only the main voice has the name."""
        return None if voice in self._main_names and voice not in self._fallback.voices[language] else voice

    def _with_warning(self, speech: Speech, language: str) -> Speech:
        warning = f"The voice {self._main.name} does not speak {language!r}; {self._fallback.name} spoke instead."
        return replace(speech, warnings=(*speech.warnings, warning))


def unsupported(name: str, language: str, spoken: Sequence[str]) -> UnsupportedByModel:
    """The error for a language that a voice cannot speak."""
    return UnsupportedByModel(f"The voice {name} does not speak {language[:40]!r}; it speaks {listed(spoken)}.")


def listed(names: Sequence[str]) -> str:
    """The names for a message: not more than anybody reads, some networks have hundreds of speakers."""
    return ", ".join(names[:_MOST_LISTED]) + (", ..." if len(names) > _MOST_LISTED else "")
