"""A transcript beside what is known about its recording -> every count that an error rate is made of."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import reduce
from operator import add
from typing import TypeVar

from speech_pipeline.evaluation.diarization_errors import DiarizationErrors, diarization_errors
from speech_pipeline.evaluation.manifest import Recording
from speech_pipeline.evaluation.normalization import SPACELESS_LANGUAGES, Normalizer, normalizer
from speech_pipeline.evaluation.speaker_errors import WordSpeakers, speaker_word_errors, word_speakers
from speech_pipeline.evaluation.tokens import Token, tokenize
from speech_pipeline.evaluation.word_errors import ErrorCounts, Pair, align, character_errors, word_errors
from speech_pipeline.evaluation.word_times import start_errors
from speech_pipeline.transcript import Segment, Transcript

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Alignment:
    """What is said and what was heard, word beside word; ``pairs`` holds every index of both, in order."""

    reference: tuple[Token, ...]
    hypothesis: tuple[Token, ...]
    pairs: tuple[Pair, ...]


@dataclass(frozen=True, slots=True)
class Scores:
    """Counts of one recording, or their sum over several; None is what cannot be scored.

    Attributes:
        words: word errors (WER).
        characters: character errors (CER).
        speaker_words: word errors by speaker (cpWER).
        word_speakers: words with their speakers.
        diarization: errors of the speaker turns (DER).
        start_errors_s: distance of the starts of each word, in seconds; empty where no times are known.
    """

    words: ErrorCounts | None = None
    characters: ErrorCounts | None = None
    speaker_words: ErrorCounts | None = None
    word_speakers: WordSpeakers | None = None
    diarization: DiarizationErrors | None = None
    start_errors_s: tuple[float, ...] = ()

    def __add__(self, other: "Scores") -> "Scores":
        return Scores(
            _sum(self.words, other.words, add),
            _sum(self.characters, other.characters, add),
            _sum(self.speaker_words, other.speaker_words, add),
            _sum(self.word_speakers, other.word_speakers, add),
            _sum(self.diarization, other.diarization, add),
            self.start_errors_s + other.start_errors_s,
        )


def align_words(recording: Recording, transcript: Transcript) -> tuple[Alignment, ...]:
    """Align the words of a recording: once, or once for each channel; nothing where no text is known."""
    normalize = normalizer(*recording.languages)
    if recording.channels:
        return tuple(
            _alignment(
                tokenize(text, normalize, [Token(word, _channel_speaker(channel)) for word in text.split()]),
                _heard([s for s in transcript.speaker_segments if s.channel == channel], normalize),
            )
            for channel, text in enumerate(recording.channels)
        )
    if recording.text is None:
        return ()
    said = tokenize(recording.text, normalize, [Token(w.word, w.speaker, w.start) for w in recording.words])
    return (_alignment(said, _heard(transcript.speaker_segments or transcript.segments, normalize)),)


def score(recording: Recording, transcript: Transcript, alignments: Iterable[Alignment]) -> Scores:
    """Count what is wrong in a transcript.

    Speakers are scored where the pipeline told them apart, as far as the recording's are known. Where nobody speaks,
    every word and every turn is an error.

    Args:
        recording: what is known.
        transcript: what was made of it.
        alignments: what :func:`align_words` made of the two.
    """
    alignments = tuple(alignments)
    spaces = recording.language not in SPACELESS_LANGUAGES
    words = [(_texts(a.reference), _texts(a.hypothesis)) for a in alignments]
    scores = Scores(
        words=_total(word_errors(said, heard) for said, heard in words),
        characters=_total(character_errors(said, heard, spaces=spaces) for said, heard in words),
        start_errors_s=tuple(e for a in alignments for e in start_errors(a.reference, a.hypothesis, a.pairs)),
    )
    if not recording.channels and "diarization" not in transcript.timings:
        return scores
    speakers = None
    if alignments and _speakers_known(recording):
        speakers = _total(word_speakers(a.reference, a.hypothesis, a.pairs) for a in alignments)
    return scores + Scores(
        speaker_words=_speaker_words(recording, transcript) if speakers is not None else None,
        word_speakers=speakers,
        diarization=None
        if recording.turns is None
        else diarization_errors(recording.turns, transcript.turns, transcript.duration),
    )


def _alignment(reference: tuple[Token, ...], hypothesis: tuple[Token, ...]) -> Alignment:
    return Alignment(reference, hypothesis, tuple(align(_texts(reference), _texts(hypothesis))))


def _heard(segments: Iterable[Segment], normalize: Normalizer) -> tuple[Token, ...]:
    segments = list(segments)
    words = [Token(word.text, word.speaker, word.start) for segment in segments for word in segment.words]
    return tokenize("".join(segment.text for segment in segments), normalize, words)


def _texts(tokens: Iterable[Token]) -> list[str]:
    return [token.text for token in tokens]


def _speakers_known(recording: Recording) -> bool:
    return bool(recording.channels) or (bool(recording.words) and all(word.speaker for word in recording.words))


def _speaker_words(recording: Recording, transcript: Transcript) -> ErrorCounts | None:
    normalize = normalizer(*recording.languages)
    if recording.channels:
        said = {_channel_speaker(channel): text for channel, text in enumerate(recording.channels)}
    else:
        said = _by_speaker((word.speaker, f" {word.word}") for word in recording.words)
    heard = _by_speaker((segment.speaker, segment.text) for segment in transcript.speaker_segments)
    return speaker_word_errors(
        {speaker: normalize(text) for speaker, text in said.items()},
        {speaker: normalize(text) for speaker, text in heard.items()},
    )


def _by_speaker(texts: Iterable[tuple[str | None, str]]) -> dict[str, str]:
    """All that each says; what was given to nobody is one speaker's."""
    joined: dict[str, str] = {}
    for speaker, text in texts:
        joined[speaker or ""] = joined.get(speaker or "", "") + text
    return joined


def _channel_speaker(channel: int) -> str:
    return f"channel {channel + 1}"


def _total(counts: Iterable[T]) -> T | None:
    """The sum; None without any."""
    found = list(counts)
    return reduce(add, found) if found else None


def _sum(left: T | None, right: T | None, plus: Callable[[T, T], T]) -> T | None:
    if left is None or right is None:
        return right if left is None else left
    return plus(left, right)
