"""Which parts of a recording with references hold one speaker alone, and what is said there."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise
from pathlib import Path

from speech_pipeline.evaluation.manifest import Recording, ReferenceWord
from speech_pipeline.evaluation.references import Utterance
from speech_pipeline.transcript import SpeakerTurn, Word

CLEAR_PAUSE_S = 1.0
"""Shortest pause that is taken for the place where the next person begins, where a reference has no times."""


@dataclass(frozen=True, slots=True)
class Piece:
    """The part of one channel, in seconds, in which one person says ``words``; without times unless ``timed``."""

    speaker: str
    channel: int
    start: float
    end: float
    words: tuple[Word, ...]
    timed: bool = False


def find_pieces(recording: Recording, regions: Sequence[Sequence[tuple[float, float]]]) -> Iterator[Piece]:
    """The parts of a recording in which one person speaks and the text is known.

    Args:
        recording: what the manifest says about it.
        regions: (start, end) of the speech of each channel, in seconds.
    """
    name = "_".join((recording.speaker or str(Path(recording.name).with_suffix(""))).split())
    speakers = {word.speaker for word in recording.words}
    timed = tuple(
        Word(word.word, word.start, max(word.start, word.end))
        for word in recording.words
        if word.start is not None and word.end is not None
    )
    if recording.channels:
        for channel, text in enumerate(recording.channels):
            yield Piece(f"{name}/{channel}", channel, 0.0, math.inf, _words(text))
    elif recording.turns and recording.utterances:
        yield from _solo_pieces(name, recording.utterances, recording.turns)
    elif len(speakers) > 1:
        if not timed:
            yield from _parted_pieces(name, recording.words, regions[0])
    elif recording.num_speakers not in (None, 1) or len({turn.speaker for turn in recording.turns or ()}) > 1:
        return
    elif timed and len(timed) == len(recording.words):
        yield Piece(name, 0, 0.0, math.inf, timed, timed=True)
    elif recording.text:
        yield Piece(name, 0, 0.0, math.inf, _words(recording.text))


def _words(text: str) -> tuple[Word, ...]:
    return tuple(Word(word, 0.0, 0.0) for word in text.split())


def _solo_pieces(name: str, utterances: Sequence[Utterance], turns: Sequence[SpeakerTurn]) -> Iterator[Piece]:
    """The utterances during which, by the turns, one person speaks."""
    for utterance in utterances:
        heard = {turn.speaker for turn in turns if turn.start < utterance.end and turn.end > utterance.start}
        if len(heard) == 1:
            speaker = f"{name}/{utterance.speaker}"
            yield Piece(speaker, 0, utterance.start, utterance.end, _words(utterance.text))


def _parted_pieces(
    name: str, words: Sequence[ReferenceWord], regions: Sequence[tuple[float, float]]
) -> Iterator[Piece]:
    """Speakers one after another, cut in the widest pauses; nothing where those do not stand out."""
    runs = [(speaker, tuple(run)) for speaker, run in groupby(words, key=lambda word: word.speaker)]
    pauses = sorted(((right[0] - left[1], left[1], right[0]) for left, right in pairwise(regions)), reverse=True)
    cuts, others = pauses[: len(runs) - 1], pauses[len(runs) - 1 :]
    if len(cuts) < len(runs) - 1 or any(pause < CLEAR_PAUSE_S for pause, _, _ in cuts):
        return
    if others and others[0][0] > CLEAR_PAUSE_S:
        return
    edges = [0.0, *sorted((left + right) / 2 for _, left, right in cuts), regions[-1][1]]
    for (speaker, run), (start, end) in zip(runs, pairwise(edges), strict=True):
        yield Piece(f"{name}/{speaker}", 0, start, end, _words(" ".join(word.word for word in run)))
