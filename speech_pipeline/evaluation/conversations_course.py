"""The course of a made conversation: who says which clip when."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from numpy.random import Generator

from speech_pipeline.audio.waveform import SAMPLING_RATE
from speech_pipeline.evaluation.clips import Clip, fade_ends
from speech_pipeline.evaluation.conversations_recipe import Recipe
from speech_pipeline.transcript import SpeakerTurn, Word

MAX_BACKCHANNEL_S = 1.0
"""Longest clip, or piece of one, that is said while somebody else goes on speaking, in seconds."""

MIN_INTERRUPTED_S = 2.0
"""Shortest utterance during which somebody else says something, in seconds."""

_OWN_GAP = SAMPLING_RATE // 5
_RECENT = 8
_CLEAN_CUT_S = 0.04
_PIECE_MARGIN_S = 0.05
_MIN_PIECE_S = 0.25


@dataclass(frozen=True, slots=True)
class Utterance:
    """A clip at its place in a recording.

    Attributes:
        clip: what is said, and by whom.
        start: first sample in the recording.
    """

    clip: Clip
    start: int

    @property
    def end(self) -> int:
        """The sample after the last."""
        return self.start + len(self.clip.samples)

    @property
    def turns(self) -> tuple[SpeakerTurn, ...]:
        """The stretches of speech, in seconds of the recording."""
        return tuple(
            SpeakerTurn(self.clip.speaker, (self.start + a) / SAMPLING_RATE, (self.start + b) / SAMPLING_RATE)
            for a, b in self.clip.regions
        )

    @property
    def words(self) -> tuple[Word, ...]:
        """The words with their speaker, in seconds of the recording."""
        offset = self.start / SAMPLING_RATE
        return tuple(
            replace(word, start=word.start + offset, end=word.end + offset, speaker=self.clip.speaker)
            for word in self.clip.words
        )


def asides(clip: Clip) -> list[Clip]:
    """What of a clip can be said during somebody else's utterance: all of a short one, or a word or two of it."""
    if len(clip.samples) <= MAX_BACKCHANNEL_S * SAMPLING_RATE:
        return [clip]
    return list(_short_pieces(clip)) if clip.timed else []


def plan_course(voices: Sequence[Sequence[Clip]], recipe: Recipe, generator: Generator) -> list[Utterance]:
    """Everybody speaks once, then anybody but the last speaker, until nothing fits in any more.

    Args:
        voices: the clips of each speaker.
        recipe: pauses, overlap and backchannels; its number of speakers is that of ``voices``.
        generator: draws clips, speakers and pauses.

    Returns:
        Utterances in order of start; those of one speaker do not overlap. Where a speaker is missing, the duration is
        too short.
    """
    table = _Table([_Voice(clips, generator) for clips in voices], recipe, generator)
    return sorted(table.talk(), key=lambda utterance: utterance.start)


class _Voice:
    """One speaker: what there is to say, and until when the last of it lasts."""

    def __init__(self, clips: Sequence[Clip], generator: Generator) -> None:
        self._clips = clips
        self._generator = generator
        self._order: list[int] = []
        self.asides = [aside for clip in clips for aside in asides(clip)]
        self.busy_until = -_OWN_GAP

    def next_clip(self, longest: int) -> Clip | None:
        """The next clip of at most so many samples; None where all are longer."""
        if not any(len(clip.samples) <= longest for clip in self._clips):
            return None
        while True:
            if not self._order:
                self._order = list(self._generator.permutation(len(self._clips)))
            clip = self._clips[self._order.pop()]
            if len(clip.samples) <= longest:
                return clip


class _Table:
    """A conversation under way. Positions are samples."""

    def __init__(self, voices: Sequence[_Voice], recipe: Recipe, generator: Generator) -> None:
        self._voices = voices
        self._recipe = recipe
        self._generator = generator
        self._total = round(recipe.duration_s * SAMPLING_RATE)
        self._utterances: list[Utterance] = []
        self._last: Utterance | None = None
        self._end = 0
        self._speech = 0
        self._overlapped = 0

    def talk(self) -> list[Utterance]:
        """The utterances in the order in which they were placed."""
        speaker: _Voice | None = None
        for voice in self._voices:
            if not self._speak(voice):
                return self._utterances
            speaker = voice
        while speaker is not None:
            others = [voice for voice in self._voices if voice is not speaker]
            order = [others[index] for index in self._generator.permutation(len(others))]
            speaker = next((voice for voice in order if self._speak(voice)), None)
        return self._utterances

    def _speak(self, voice: _Voice) -> bool:
        """Let somebody speak next; whether a clip was left that fits."""
        gap = round(self._generator.uniform(*self._recipe.gap_s) * SAMPLING_RATE)
        clip = voice.next_clip(self._total - self._end - max(gap, _OWN_GAP))
        if clip is None:
            return False
        start = self._end + gap
        missing = self._recipe.overlap_share * (self._speech + len(clip.samples)) - self._overlapped
        if self._last is not None:
            overlap = min(len(self._last.clip.samples), len(clip.samples)) * self._generator.uniform(0.2, 0.8)
            if missing > overlap / 2:
                start = self._end - round(overlap)
        self._last = self._place(voice, clip, max(start, voice.busy_until + _OWN_GAP))
        self._interject(voice, self._last)
        return True

    def _interject(self, speaker: _Voice, utterance: Utterance) -> None:
        """Perhaps let somebody else say something short while the speaker goes on."""
        length = len(utterance.clip.samples)
        start = utterance.start + round(length * self._generator.uniform(0.2, 0.6))
        wanted = self._generator.uniform() < self._recipe.backchannel_share
        listeners = [
            voice
            for voice in self._voices
            if voice is not speaker and voice.asides and voice.busy_until + _OWN_GAP <= start
        ]
        if not wanted or not listeners or length < MIN_INTERRUPTED_S * SAMPLING_RATE:
            return
        listener = listeners[self._generator.integers(len(listeners))]
        aside = listener.asides[self._generator.integers(len(listener.asides))]
        if start + len(aside.samples) < utterance.end:
            self._place(listener, aside, start)

    def _place(self, voice: _Voice, clip: Clip, start: int) -> Utterance:
        utterance = Utterance(clip, start)
        recent = [other for other in self._utterances[-_RECENT:] if other.end > start]
        shared = sum(_shared(utterance, other) for other in recent)
        self._overlapped += shared
        self._speech += sum(b - a for a, b in clip.regions) - shared
        self._utterances.append(utterance)
        self._end = max(self._end, utterance.end)
        voice.busy_until = utterance.end
        return utterance


def _shared(left: Utterance, right: Utterance) -> int:
    """Samples in which both speak."""
    return sum(
        max(0, min(left.start + b, right.start + d) - max(left.start + a, right.start + c))
        for a, b in left.clip.regions
        for c, d in right.clip.regions
    )


def _short_pieces(clip: Clip) -> Iterator[Clip]:
    """One or two words of a clip with word times, where small pauses part them from their neighbours."""
    edges = [0.0, *((left.end + right.start) / 2 for left, right in pairwise(clip.words)), clip.words[-1].end]
    clean = [True, *(right.start - left.end >= _CLEAN_CUT_S for left, right in pairwise(clip.words)), True]
    for count in (1, 2):
        for first in range(len(clip.words) - count + 1):
            words = clip.words[first : first + count]
            begin = round(max(edges[first], words[0].start - _PIECE_MARGIN_S) * SAMPLING_RATE)
            end = round(min(edges[first + count], words[-1].end + _PIECE_MARGIN_S) * SAMPLING_RATE)
            whole = any(a <= begin and end <= b for a, b in clip.regions)
            long_enough = _MIN_PIECE_S <= (end - begin) / SAMPLING_RATE <= MAX_BACKCHANNEL_S
            if not (whole and long_enough and clean[first] and clean[first + count]):
                continue
            samples = clip.samples[begin:end].copy()
            fade_ends(samples)
            moved = (
                replace(word, start=word.start - begin / SAMPLING_RATE, end=word.end - begin / SAMPLING_RATE)
                for word in words
            )
            yield replace(
                clip,
                name=f"{clip.name}@{first}+{count}",
                samples=samples,
                regions=((0, len(samples)),),
                words=tuple(moved),
            )
