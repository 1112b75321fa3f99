"""The vocabulary every stage speaks: words, segments, speaker turns, the transcript made of them, and the reply to it.

All times are seconds from the start of the recording.
"""

import base64
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
class ReplyAudio:
    """A spoken reply as a file.

    Attributes:
        data: the file.
        format: ``wav``, ``flac``, ``mp3`` or ``opus``.
        sampling_rate: Hz.
        duration: seconds.
    """

    data: bytes
    format: str
    sampling_rate: int
    duration: float


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer, or a text to be spoken, with its voice.

    Attributes:
        text: as it was written.
        language: code of its language; None where it was never known.
        audio: None where there is nothing that can be spoken, or the voice failed.
        complete: False where something failed or was cut off; ``warnings`` say what.
        warnings: sentences; those about failures begin with the error's code in brackets.
        timings: seconds until and on parts of the work, see :class:`speech_pipeline.reply.reply_stream.ReplyStream`.
    """

    text: str = ""
    language: str | None = None
    audio: ReplyAudio | None = None
    complete: bool = True
    warnings: tuple[str, ...] = ()
    timings: Mapping[str, float] = field(default_factory=dict)

    def to_response(self) -> dict[str, Any]:
        """Plain JSON types for a caller who sent text: the reply and its warnings."""
        return {"reply": self.to_json(), "warnings": list(self.warnings)}

    def to_json(self) -> dict[str, Any]:
        """The reply without its warnings; audio as base64."""
        audio = self.audio and {
            "data": base64.b64encode(self.audio.data).decode(),
            "format": self.audio.format,
            "sampling_rate": self.audio.sampling_rate,
            "duration": _seconds(self.audio.duration),
        }
        return {
            "text": self.text,
            "language": self.language,
            "audio": audio,
            "complete": self.complete,
            "timings": _rounded(self.timings),
        }


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
        reply: the answer to what was said, None where none was asked for. Its warnings are among those below.
        warnings: sentences about what was ignored, reduced or doubtful.
        timings: seconds spent by stage.
    """

    segments: tuple[Segment, ...] = ()
    speaker_segments: tuple[Segment, ...] = ()
    turns: tuple[SpeakerTurn, ...] = ()
    language: str | None = None
    duration: float = 0.0
    formatted: str | None = None
    reply: Reply | None = None
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
            "timings": _rounded(self.timings),
        }
        if self.formatted is not None:
            response["formatted"] = self.formatted
        if self.reply is not None:
            response["reply"] = self.reply.to_json()
        return response


def _seconds(value: float) -> float:
    """A Python float rounded to the millisecond."""
    return round(float(value), 3)


def _rounded(timings: Mapping[str, float]) -> dict[str, float]:
    return {stage: round(float(seconds), 4) for stage, seconds in timings.items()}
