"""The vocabulary every stage speaks: words, segments, speaker turns, and the transcript made of them.

All times are seconds from the start of the recording.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Word:
    """One word as it was heard.

    Attributes:
        text: the word with the white space before it and the punctuation after it, so that joining the words of a
            segment gives the segment's text. Scripts without spaces have words without white space.
        start: seconds.
        end: seconds, at least ``start``.
        probability: mean probability of the word's tokens, from 0 to 1.
        speaker: label of the speaker, or None where nobody was assigned.
    """

    text: str
    start: float
    end: float
    probability: float = 1.0
    speaker: str | None = None


@dataclass(frozen=True, slots=True)
class Segment:
    """A stretch of speech, about one sentence long.

    Attributes:
        text: the text with the white space before it; joining the segments gives the whole text.
        start: seconds.
        end: seconds, at least ``start``.
        words: the words of the segment; empty when word times were not asked for.
        speaker: label of the speaker, or None.
        language: ISO 639-1 code of the language that was decoded (the spoken one, also when translating).
        average_log_probability: mean natural log-probability of the tokens of the window it came from.
        compression_ratio: bytes of the window's text divided by their zlib-compressed size; above 2.4 text repeats.
        no_speech_probability: probability from 0 to 1 that the window holds no speech.
        temperature: sampling temperature that gave the text; 0 is greedy.
        channel: index of the channel it was heard in, or None when channels were mixed.
    """

    text: str
    start: float
    end: float
    words: tuple[Word, ...] = ()
    speaker: str | None = None
    language: str | None = None
    average_log_probability: float = 0.0
    compression_ratio: float = 0.0
    no_speech_probability: float = 0.0
    temperature: float = 0.0
    channel: int | None = None


@dataclass(frozen=True, slots=True)
class SpeakerTurn:
    """One speaker talks from ``start`` to ``end`` (seconds). Turns of different speakers may overlap."""

    speaker: str
    start: float
    end: float

    @property
    def duration(self) -> float:
        """Length in seconds."""
        return self.end - self.start


@dataclass(frozen=True, slots=True)
class Diarization:
    """Who speaks when.

    Attributes:
        turns: all turns ordered by start, overlapped speech included.
        exclusive_turns: the same speakers with at most one speaking at any time; what words are attributed with.
        warnings: sentences about requests that were honoured only in part.
    """

    turns: tuple[SpeakerTurn, ...] = ()
    exclusive_turns: tuple[SpeakerTurn, ...] = ()
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Transcript:
    """Everything the pipeline knows about one recording.

    Attributes:
        segments: what was said, in order of time.
        speaker_segments: the same words, cut where the speaker changes; empty when speakers were not asked for.
        turns: speaker turns with overlap; empty when speakers were not asked for.
        language: code of the language most of the recording is in; where nobody speaks the one that was asked for,
            or None.
        duration: length of the recording in seconds.
        formatted: the transcript in the text format that was asked for, None for json.
        warnings: sentences about what was ignored, reduced or doubtful.
        timings: seconds spent by stage.
    """

    segments: tuple[Segment, ...] = ()
    speaker_segments: tuple[Segment, ...] = ()
    turns: tuple[SpeakerTurn, ...] = ()
    language: str | None = None
    duration: float = 0.0
    formatted: str | None = None
    warnings: tuple[str, ...] = ()
    timings: Mapping[str, float] = field(default_factory=dict)

    @property
    def text(self) -> str:
        """The whole text, without white space at its ends."""
        return "".join(segment.text for segment in self.segments).strip()

    @property
    def words(self) -> tuple[Word, ...]:
        """All words in order, with their speakers when speakers were asked for."""
        return tuple(word for segment in self.speaker_segments or self.segments for word in segment.words)

    def to_response(self) -> dict[str, Any]:
        """Plain JSON types for the caller.

        ``text``, ``chunks`` and ``speakers`` are those of the widely used public handler: chunk texts keep their
        leading space, times are ``[start, end]`` in seconds. The other keys are additions.
        """
        response: dict[str, Any] = {
            "text": self.text,
            "chunks": [{"text": s.text, "timestamp": [_seconds(s.start), _seconds(s.end)]} for s in self.segments],
            "speakers": [
                {"speaker": s.speaker, "text": s.text, "timestamp": [_seconds(s.start), _seconds(s.end)]}
                for s in self.speaker_segments
            ],
            "language": self.language,
            "duration": _seconds(self.duration),
            "words": [
                {"word": w.text.strip(), "start": _seconds(w.start), "end": _seconds(w.end), "speaker": w.speaker}
                for w in self.words
            ],
            "turns": [{"speaker": t.speaker, "start": _seconds(t.start), "end": _seconds(t.end)} for t in self.turns],
            "warnings": list(self.warnings),
            "timings": {stage: round(float(seconds), 4) for stage, seconds in self.timings.items()},
        }
        if self.formatted is not None:
            response["formatted"] = self.formatted
        return response


def _seconds(value: float) -> float:
    """A Python float rounded to the millisecond."""
    return round(float(value), 3)
