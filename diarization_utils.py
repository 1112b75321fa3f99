"""Who said which word: joins recognised words with speaker turns. Pure functions, all times in seconds.

Each word has two kinds of evidence: how much of it lies in the turns of each speaker, softened because both word times
and turn edges are off by some tenths of a second; and the text, because speakers change at the ends of sentences and at
pauses far more often than inside a clause. The labels that explain both best are found with the Viterbi algorithm
(A. Viterbi, 1967, "Error bounds for convolutional codes and an asymptotically optimum decoding algorithm").
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import groupby, pairwise
from math import isfinite

import numpy as np
from numpy.typing import NDArray

from speech_pipeline.punctuation import ends_clause, ends_sentence
from speech_pipeline.transcript import Diarization, Segment, SpeakerTurn, Word

EDGE_TOLERANCE_S = 0.2
"""How far turn edges and word times are expected to be off."""

EXCLUSIVE_SHARE = 0.35
"""Weight of the exclusive turns against all turns; they differ only where speech overlaps."""

SHORT_TURN_BONUS = 0.5
"""Extra weight of very short turns, falling with ``exp(-length in s)``: of two that overlap the shorter says more."""

SHORT_TURN_S = 0.8
"""A turn up to this long can be an interjection, such as "yeah", inside somebody else's sentence."""

INTERJECTION_SHARE = 0.7
"""Part of a word that must lie in such a turn, and in no other, for it to be one."""

MIN_WORD_S = 0.02
NOWHERE_S = 1e6
"""Distance to a speaker without any turn of finite length."""

NEARNESS = 0.05
"""Evidence a turn gives to a word at its edge but outside it; a word inside a turn has evidence 1."""

NEARNESS_REACH_S = 0.5
"""Distance at which the evidence of a turn outside the word has fallen to a quarter."""

SWITCH_COST_CLAUSE = 4.0
SWITCH_COST_COMMA = 3.0
SWITCH_COST_UNPUNCTUATED = 0.1
SWITCH_COST_SENTENCE = 0.1
"""Cost of a change of speaker between two words, in nats, by what stands between them."""

PAUSE_RELIEF_PER_S = 1.0
"""Nats by which each second of silence between two words cheapens a change of speaker."""

PUNCTUATION_REACH = 25
"""Words to either side in which a sentence must end for the text to count as punctuated."""

SECONDS_PER_WORD = 0.4
"""Usual length of a word; a segment without words weighs as much as the words it would hold."""

Floats = NDArray[np.float64]


def attribute(segments: Sequence[Segment], diarization: Diarization) -> tuple[Segment, ...]:
    """Segments of one speaker each, with speakers numbered by first appearance (``SPEAKER_00``, ``SPEAKER_01``, ...).

    The text, the words and their order stay the same. Segments are cut where the speaker changes and nowhere joined.
    Every word and segment has a speaker; without any turn all is one speaker's.
    """
    return number_speakers(assign_speakers(segments, diarization), diarization)[0]


def assign_speakers(segments: Sequence[Segment], diarization: Diarization) -> tuple[Segment, ...]:
    """Like :func:`attribute`, with the labels of the diarization as they are.

    A segment without words, or with words that do not spell its text, goes as a whole to its best speaker.
    """
    pieces = [piece for segment in segments for piece in _pieces(segment)]
    speakers = list(dict.fromkeys(turn.speaker for turn in (*diarization.turns, *diarization.exclusive_turns)))
    if len(speakers) > 1 and pieces:
        evidence = _evidence(pieces, diarization, speakers)
        costs = _switch_costs(pieces, _interjections(pieces, diarization, speakers))
        path = _best_path(np.log(evidence) * _weights(pieces)[:, None], costs)
        labels = [speakers[index] for index in path]
    else:
        labels = [speakers[0] if speakers else speaker_label(0)] * len(pieces)
    remaining = iter(labels)
    return tuple(part for segment in segments for part in _cut(segment, [next(remaining) for _ in _pieces(segment)]))


def number_speakers(segments: Sequence[Segment], diarization: Diarization) -> tuple[tuple[Segment, ...], Diarization]:
    """Rename the speakers of both by first appearance: in the segments first, then the others by their first turn."""
    heard = (speaker for segment in segments for speaker in (*(w.speaker for w in segment.words), segment.speaker))
    turns = sorted((*diarization.turns, *diarization.exclusive_turns), key=lambda turn: turn.start)
    order = dict.fromkeys(speaker for speaker in (*heard, *(turn.speaker for turn in turns)) if speaker is not None)
    names = {speaker: speaker_label(index) for index, speaker in enumerate(order)}

    def renamed(speaker: str | None) -> str | None:
        return None if speaker is None else names[speaker]

    numbered = tuple(
        replace(
            segment,
            speaker=renamed(segment.speaker),
            words=tuple(replace(word, speaker=renamed(word.speaker)) for word in segment.words),
        )
        for segment in segments
    )
    return numbered, replace(
        diarization,
        turns=tuple(replace(turn, speaker=names[turn.speaker]) for turn in diarization.turns),
        exclusive_turns=tuple(replace(turn, speaker=names[turn.speaker]) for turn in diarization.exclusive_turns),
    )


def with_speaker(segment: Segment, speaker: str) -> Segment:
    """The segment and all its words given to one speaker."""
    return replace(segment, speaker=speaker, words=tuple(replace(word, speaker=speaker) for word in segment.words))


def speaker_label(index: int) -> str:
    """The label of the speaker that appears as number ``index``, counted from 0."""
    return f"SPEAKER_{index:02d}"


def _pieces(segment: Segment) -> tuple[Word, ...] | tuple[Segment]:
    """What gets one label: the words, or the segment where it has none that spell its text."""
    if segment.words and "".join(word.text for word in segment.words) == segment.text:
        return segment.words
    return (segment,)


def _cut(segment: Segment, labels: Sequence[str]) -> list[Segment]:
    """The segment cut where the label of its pieces changes."""
    if len(set(labels)) == 1:
        return [with_speaker(segment, labels[0])]
    runs = [
        tuple(replace(word, speaker=speaker) for word, _ in run)
        for speaker, run in groupby(zip(segment.words, labels, strict=True), key=lambda pair: pair[1])
    ]
    return [
        replace(
            segment,
            text="".join(word.text for word in run),
            start=run[0].start,
            end=max(run[0].start, run[-1].end),
            words=run,
            speaker=run[0].speaker,
        )
        for run in runs
    ]


def _evidence(pieces: Sequence[Word | Segment], diarization: Diarization, speakers: Sequence[str]) -> Floats:
    """How much speaks for each speaker of each piece: float64 [pieces, speakers], about 0 to 1, never 0."""
    starts, ends = _times(pieces)
    evidence = np.empty((len(pieces), len(speakers)))
    for column, speaker in enumerate(speakers):
        turns = _merged(turn for turn in diarization.turns if turn.speaker == speaker)
        exclusive = _merged(turn for turn in diarization.exclusive_turns if turn.speaker == speaker)
        share = _share(starts, ends, turns)
        if diarization.exclusive_turns:
            share = EXCLUSIVE_SHARE * _share(starts, ends, exclusive) + (1 - EXCLUSIVE_SHARE) * share
        distance = _distance(starts, ends, turns if len(turns) else exclusive)
        evidence[:, column] = share + NEARNESS / (1 + distance / NEARNESS_REACH_S) ** 2
    return evidence


def _times(pieces: Sequence[Word | Segment]) -> tuple[Floats, Floats]:
    """Starts and ends, at least ``MIN_WORD_S`` apart: float64 [pieces] each."""
    times = np.array([(piece.start, piece.end) for piece in pieces], dtype=np.float64)
    starts, ends = times.min(axis=1), times.max(axis=1)
    widening = np.maximum(0, MIN_WORD_S - (ends - starts)) / 2
    return starts - widening, ends + widening


def _interjections(
    pieces: Sequence[Word | Segment], diarization: Diarization, speakers: Sequence[str]
) -> NDArray[np.bool_]:
    """Which pieces lie in a short turn while nobody else speaks: bool [pieces]."""
    starts, ends = _times(pieces)
    by_speaker = [_merged(turn for turn in diarization.turns if turn.speaker == speaker) for speaker in speakers]
    short = [turns[turns[:, 1] - turns[:, 0] <= SHORT_TURN_S] for turns in by_speaker]
    in_any = sum(_covered(starts, ends, turns) for turns in by_speaker)
    in_short = np.max([_covered(starts, ends, turns) for turns in short], axis=0)
    least = INTERJECTION_SHARE * (ends - starts)
    return (in_short >= least) & (in_any - in_short <= ends - starts - least)


def _merged(turns: Iterable[SpeakerTurn]) -> Floats:
    """The union of one speaker's turns of finite length: disjoint, ordered intervals, float64 [intervals, 2]."""
    merged: list[list[float]] = []
    finite = (turn for turn in turns if isfinite(turn.duration))
    for start, end in sorted((min(turn.start, turn.end), max(turn.start, turn.end)) for turn in finite):
        if merged and start <= merged[-1][1]:
            merged[-1][1] = max(merged[-1][1], end)
        else:
            merged.append([start, end])
    return np.array(merged, dtype=np.float64).reshape(-1, 2)


def _share(starts: Floats, ends: Floats, intervals: Floats) -> Floats:
    """Weighted fraction of each piece inside the intervals, as a mean over shifts of up to ``EDGE_TOLERANCE_S``."""
    weights = 1 + SHORT_TURN_BONUS * np.exp(intervals[:, 0] - intervals[:, 1])
    shifts = np.linspace(-EDGE_TOLERANCE_S, EDGE_TOLERANCE_S, 7)
    covered = [_covered(starts + shift, ends + shift, intervals, weights) for shift in shifts]
    return np.mean(covered, axis=0) / (ends - starts)


def _covered(starts: Floats, ends: Floats, intervals: Floats, weights: Floats | float = 1.0) -> Floats:
    """Seconds of each piece inside the intervals, each second counted with the weight of its interval."""
    if not len(intervals):
        return np.zeros_like(starts)
    sums = np.concatenate([[0.0], np.cumsum((intervals[:, 1] - intervals[:, 0]) * weights)])
    edges, at_edges = intervals.ravel(), np.repeat(sums, 2)[1:-1]
    return np.interp(ends, edges, at_edges) - np.interp(starts, edges, at_edges)


def _distance(starts: Floats, ends: Floats, intervals: Floats) -> Floats:
    """Seconds from each piece to the nearest edge of an interval, 0 where they touch."""
    if not len(intervals):
        return np.full_like(starts, NOWHERE_S)
    following = np.searchsorted(intervals[:, 0], ends, side="right")
    after = np.append(intervals[:, 0], np.inf)[following] - ends
    before = starts - np.insert(intervals[:, 1], 0, -np.inf)[following]
    return np.maximum(0, np.minimum(before, after))


def _weights(pieces: Sequence[Word | Segment]) -> Floats:
    """How many words each piece counts for: float64 [pieces], at least 1."""
    return np.array([1.0 if isinstance(p, Word) else max(1.0, (p.end - p.start) / SECONDS_PER_WORD) for p in pieces])


def _switch_costs(pieces: Sequence[Word | Segment], interjections: NDArray[np.bool_]) -> Floats:
    """Cost of a change of speaker before each piece but the first, in nats: float64 [pieces - 1]."""
    sentence_ends = np.array([ends_sentence(piece.text) for piece in pieces])
    clause_ends = np.array([ends_clause(piece.text) for piece in pieces])
    reach = np.ones(min(2 * PUNCTUATION_REACH + 1, len(pieces)))
    punctuated = np.convolve(sentence_ends.astype(np.float64), reach, mode="same") > 0.5
    costs = np.where(punctuated, SWITCH_COST_CLAUSE, SWITCH_COST_UNPUNCTUATED)
    costs = np.where(punctuated & clause_ends, SWITCH_COST_COMMA, costs)
    pauses = np.array([max(0.0, after.start - before.end) for before, after in pairwise(pieces)])
    costs = costs[:-1] - PAUSE_RELIEF_PER_S * pauses
    free = sentence_ends[:-1] | interjections[:-1] | interjections[1:]
    return np.where(free, SWITCH_COST_SENTENCE, np.maximum(costs, SWITCH_COST_SENTENCE))


def _best_path(scores: Floats, switch_costs: Floats) -> list[int]:
    """The sequence of columns with the highest sum of scores [pieces, columns] less the costs of its changes."""
    total = scores[0]
    came_from = np.empty(scores.shape, dtype=np.intp)
    for index in range(1, len(scores)):
        best = int(total.argmax())
        switched = total[best] - switch_costs[index - 1]
        came_from[index] = np.where(total >= switched, np.arange(len(total)), best)
        total = np.maximum(total, switched) + scores[index]
    path = [int(total.argmax())]
    for index in range(len(scores) - 1, 0, -1):
        path.append(int(came_from[index][path[-1]]))
    return path[::-1]
