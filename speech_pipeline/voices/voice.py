"""What every voice does, whichever engine speaks: text in, float32 samples out."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from speech_pipeline.voices.limits import MAX_SPEED as MAX_SPEED
from speech_pipeline.voices.limits import MAX_TEXT_CHARACTERS as MAX_TEXT_CHARACTERS
from speech_pipeline.voices.limits import MIN_SPEED as MIN_SPEED

SENTENCE_PAUSE_S = 0.3
"""Silence between two sentences, in seconds; a voice leaves none at the ends of what it returns."""


@dataclass(frozen=True, slots=True)
class Speech:
    """Spoken text.

    Attributes:
        samples: float32 [n], mono, in [-1, 1] and finite; empty when the text holds nothing that can be spoken.
        sampling_rate: samples a second.
        warnings: sentences about what was replaced or left out, such as another voice in place of the one asked for.
    """

    samples: NDArray[np.float32]
    sampling_rate: int
    warnings: tuple[str, ...] = ()

    @property
    def duration(self) -> float:
        """Length in seconds."""
        return len(self.samples) / self.sampling_rate


class Voice(Protocol):
    """Speaks text. Safe to call from several threads at once.

    Equal calls give equal samples. What is no speech (control characters, emoji, markup tags) is left out, so that a
    text of nothing else gives no samples. Every voice is equally loud, without clipped peaks, and begins and ends with
    speech, faded in and out: pauses between two calls are the caller's, see :data:`SENTENCE_PAUSE_S`.
    """

    @property
    def name(self) -> str:
        """Name of the engine, for messages: ``hibari``, ``espeak``."""
        ...

    @property
    def voices(self) -> Mapping[str, tuple[str, ...]]:
        """The names a caller may pick, by language code (``en``, ``zh``); the first one is the default.

        Its keys are the languages that can be spoken.
        """
        ...

    def synthesize(self, text: str, language: str, voice: str | None = None, speed: float = 1.0) -> Speech:
        """Speak a text.

        Args:
            text: what to say, at most :data:`MAX_TEXT_CHARACTERS`.
            language: code of its language.
            voice: one of ``voices[language]``; None: the default.
            speed: 1 is the voice's own pace, 2 twice as fast; from :data:`MIN_SPEED` to :data:`MAX_SPEED`.

        Raises:
            UnsupportedByModel: the language cannot be spoken.
            UnknownVoice: there is no such voice in this language.
            InvalidParameters: the speed is out of range.
            TextTooLong: more than :data:`MAX_TEXT_CHARACTERS`.
            SynthesisFailed: the engine failed.
            OutOfMemory: a single piece of the text does not fit in memory.
        """
        ...

    def stream(self, text: str, language: str, voice: str | None = None, speed: float = 1.0) -> Iterator[Speech]:
        """Speak a text piece by piece, each as soon as it is ready; joined they are what :meth:`synthesize` returns.

        A wrong argument is refused by the call itself, before the first piece is asked for. Nothing comes when there is
        nothing to say.

        Raises:
            the same as :meth:`synthesize`; what the engine raises may come after some pieces.
        """
        ...


def join(pieces: Iterable[Speech], sampling_rate: int) -> Speech:
    """Put the pieces of one stream together.

    Args:
        pieces: all at ``sampling_rate``.
        sampling_rate: stated because there may be no piece.
    """
    pieces = list(pieces)
    samples = [piece.samples for piece in pieces]
    return Speech(
        np.concatenate(samples) if samples else np.zeros(0, np.float32),
        sampling_rate,
        tuple(dict.fromkeys(warning for piece in pieces for warning in piece.warnings)),
    )
