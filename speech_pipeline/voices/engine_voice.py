"""An engine made into a voice: arguments checked, text cleaned and cut, sound trimmed and made even."""

from collections.abc import Iterator, Mapping
from dataclasses import replace

import numpy as np

from speech_pipeline.errors import (
    InvalidParameters,
    OutOfMemory,
    SpeechError,
    SynthesisFailed,
    TextTooLong,
    UnknownVoice,
)
from speech_pipeline.voices.combined import listed, unsupported
from speech_pipeline.voices.engine import Engine
from speech_pipeline.voices.finishing import finish
from speech_pipeline.voices.text import cut, speakable
from speech_pipeline.voices.voice import (
    MAX_SPEED,
    MAX_TEXT_CHARACTERS,
    MIN_SPEED,
    SENTENCE_PAUSE_S,
    Speech,
    join,
)


class EngineVoice:
    """A :class:`~speech_pipeline.voices.voice.Voice` that speaks with one engine."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    @property
    def name(self) -> str:
        """Name of the engine."""
        return self._engine.name

    @property
    def voices(self) -> Mapping[str, tuple[str, ...]]:
        """Names of the voices by language code, the default first."""
        return self._engine.voices

    def synthesize(self, text: str, language: str, voice: str | None = None, speed: float = 1.0) -> Speech:
        """Speak a text; see :meth:`Voice.synthesize <speech_pipeline.voices.voice.Voice.synthesize>`."""
        pieces = self.stream(text, language, voice, speed)
        return join(pieces, self._engine.sampling_rate(language))

    def stream(self, text: str, language: str, voice: str | None = None, speed: float = 1.0) -> Iterator[Speech]:
        """Speak a text piece by piece; see :meth:`Voice.stream <speech_pipeline.voices.voice.Voice.stream>`."""
        voice = self._checked(text, language, voice, speed)
        return self._pieces(text, language, voice, speed)

    def _checked(self, text: str, language: str, voice: str | None, speed: float) -> str:
        """The name of the voice that speaks, once the arguments are known to be right."""
        names = self.voices.get(language)
        if not names:
            raise unsupported(self.name, language, list(self.voices))
        if voice is not None and voice not in names:
            raise UnknownVoice(f"The voice {self.name} has no {voice[:40]!r} in {language!r}; it has {listed(names)}.")
        if not MIN_SPEED <= speed <= MAX_SPEED:
            raise InvalidParameters(f"speed must be a number from {MIN_SPEED:g} to {MAX_SPEED:g}.")
        if len(text) > MAX_TEXT_CHARACTERS:
            raise TextTooLong(f"The text has {len(text)} characters; at most {MAX_TEXT_CHARACTERS} are spoken at once.")
        return names[0] if voice is None else voice

    def _pieces(self, text: str, language: str, voice: str, speed: float) -> Iterator[Speech]:
        pause = np.zeros(0, np.float32)
        for piece in cut(speakable(text), self._engine.longest_text):
            speech = self._speak(piece, language, voice, speed)
            if len(speech.samples):
                yield replace(speech, samples=np.concatenate([pause, speech.samples]))
                pause = np.zeros(round(SENTENCE_PAUSE_S * speech.sampling_rate / speed), np.float32)
            elif speech.warnings:
                yield speech

    def _speak(self, piece: str, language: str, voice: str, speed: float) -> Speech:
        # The message of an engine may quote the text, so that no more than the kind of the error is passed on.
        try:
            speech = self._engine.speak(piece, language, voice, speed)
        except SpeechError:
            raise
        except MemoryError as error:
            raise OutOfMemory("A piece of the text does not fit in memory when it is spoken.") from error
        except Exception as error:
            raise SynthesisFailed(
                f"The voice {self.name} failed to speak the text ({type(error).__name__})."
            ) from error
        if not np.isfinite(speech.samples).all():
            raise SynthesisFailed(f"The voice {self.name} failed to speak the text: its samples are no numbers.")
        return replace(speech, samples=finish(speech.samples, speech.sampling_rate))
