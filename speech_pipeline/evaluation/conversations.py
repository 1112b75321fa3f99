"""Clips of single speakers -> conversations with exact reference turns and words, and long speech."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.random import Generator, default_rng
from numpy.typing import NDArray

from speech_pipeline.audio.waveform import SAMPLING_RATE
from speech_pipeline.errors import InvalidParameters
from speech_pipeline.evaluation.clips import SPEECH_LEVEL, Clip
from speech_pipeline.evaluation.conversations_course import Utterance, asides, plan_course
from speech_pipeline.evaluation.conversations_recipe import Recipe
from speech_pipeline.transcript import SpeakerTurn, Word

__all__ = ["Conversation", "Recipe", "Utterance", "make_conversation", "make_long_speech"]

PEAK = 0.95
"""Highest absolute sample; louder mixes are scaled down as a whole."""

_NOISE_PERIOD = 60 * SAMPLING_RATE


@dataclass(frozen=True, slots=True, eq=False)
class Conversation:
    """A made recording and all that is known about it.

    Attributes:
        samples: float32 [n], mono, 16 kHz, within [-1, 1].
        utterances: what was put into it, in order of start; those of one speaker do not overlap.
    """

    samples: NDArray[np.float32]
    utterances: tuple[Utterance, ...]

    @property
    def duration(self) -> float:
        """Length in seconds."""
        return len(self.samples) / SAMPLING_RATE

    @property
    def speakers(self) -> tuple[str, ...]:
        """The people who speak, in order of their first word."""
        return tuple(dict.fromkeys(utterance.clip.speaker for utterance in self.utterances))

    @property
    def turns(self) -> tuple[SpeakerTurn, ...]:
        """Who speaks when, exact to the sample, in order of start."""
        return tuple(sorted((t for u in self.utterances for t in u.turns), key=lambda turn: turn.start))

    @property
    def words(self) -> tuple[Word, ...]:
        """All words with their speakers, utterance by utterance."""
        return tuple(word for utterance in self.utterances for word in utterance.words)


def make_conversation(clips: Sequence[Clip], recipe: Recipe) -> Conversation:
    """Let people talk to one another.

    The speakers are drawn from those of the clips. Each clip of a speaker is used once before any is used again.

    Raises:
        InvalidParameters: the clips have too few speakers, or the duration is too short for each to speak once.
    """
    generator = default_rng(recipe.seed)
    fitting = [clip for clip in clips if not recipe.languages or clip.language in recipe.languages]
    available = list(dict.fromkeys(clip.speaker for clip in fitting))
    if len(available) < recipe.speakers:
        raise InvalidParameters(f"{recipe.speakers} speakers were asked for; the clips have {len(available)}.")
    order = [available[index] for index in generator.permutation(len(available))]
    if recipe.backchannel_share:  # somebody is needed who has something short to say
        order.sort(key=lambda name: not any(asides(clip) for clip in fitting if clip.speaker == name))
        order = order[:1] + [order[1 + index] for index in generator.permutation(len(order) - 1)]
    chosen = order[: recipe.speakers]
    voices = [[clip for clip in fitting if clip.speaker == name] for name in chosen]
    utterances = plan_course(voices, recipe, generator)
    if len({utterance.clip.speaker for utterance in utterances}) < recipe.speakers:
        raise InvalidParameters(
            f"{recipe.duration_s:g} s are too short for each of {recipe.speakers} speakers to say one of the clips."
        )
    spread = recipe.level_difference_db
    levels = generator.permutation(np.linspace(-spread, 0, recipe.speakers))
    gains = {name: float(10 ** (level / 20)) for name, level in zip(chosen, levels, strict=True)}
    samples = _mix(utterances, gains, round(recipe.duration_s * SAMPLING_RATE))
    if recipe.noise_snr_db is not None:
        _add_noise(samples, SPEECH_LEVEL * 10 ** (-recipe.noise_snr_db / 20), recipe.noise, generator)
    _limit_peak(samples)
    return Conversation(samples, tuple(utterances))


def make_long_speech(
    clips: Sequence[Clip],
    duration_s: float,
    seed: int = 0,
    *,
    pause_s: float = 0.5,
    languages: Sequence[str] = ("en",),
) -> Conversation:
    """Join clips, in a new order each time round, with a set pause after each.

    Args:
        clips: what is said.
        duration_s: the shortest length, in seconds; the last clip is complete.
        seed: the same clips and seed give the same samples.
        pause_s: silence before, between and after clips, in seconds.
        languages: codes of the languages to take; empty takes them all.

    Returns:
        The recording; its utterances say where each clip lies, so that each can be scored once.

    Raises:
        InvalidParameters: no clip is in these languages, or the duration is not positive.
    """
    fitting = [clip for clip in clips if not languages or clip.language in languages]
    if not fitting or not 0 < duration_s <= 36_000:
        raise InvalidParameters("Long speech needs a clip in one of its languages, and from 0 to 36000 s to fill.")
    generator = default_rng(seed)
    pause = round(pause_s * SAMPLING_RATE)
    utterances: list[Utterance] = []
    position = pause
    while position < duration_s * SAMPLING_RATE:
        for index in generator.permutation(len(fitting)):
            utterances.append(Utterance(fitting[index], position))
            position = utterances[-1].end + pause
            if position >= duration_s * SAMPLING_RATE:
                break
    samples = _mix(utterances, {}, position)
    _limit_peak(samples)
    return Conversation(samples, tuple(utterances))


def _mix(utterances: Sequence[Utterance], gains: Mapping[str, float], length: int) -> NDArray[np.float32]:
    samples = np.zeros(length, np.float32)
    for utterance in utterances:
        gain = np.float32(gains.get(utterance.clip.speaker, 1.0))
        samples[utterance.start : utterance.end] += gain * utterance.clip.samples
    return samples


def _add_noise(samples: NDArray[np.float32], level: float, colour: str, generator: Generator) -> None:
    """Add noise of a root mean square ``level`` in place. It repeats without a seam every minute."""
    noise = generator.standard_normal(_NOISE_PERIOD, np.float32)
    if colour == "pink":  # power falls with frequency, 3 dB an octave
        spectrum = np.fft.rfft(noise)
        spectrum[0] = 0
        spectrum[1:] /= np.sqrt(np.arange(1, len(spectrum)))
        noise = np.fft.irfft(spectrum, _NOISE_PERIOD).astype(np.float32)
    noise *= np.float32(level / np.sqrt(np.mean(np.square(noise, dtype=np.float64))))
    for start in range(0, len(samples), _NOISE_PERIOD):
        block = samples[start : start + _NOISE_PERIOD]
        block += noise[: len(block)]


def _limit_peak(samples: NDArray[np.float32]) -> None:
    peak = max(float(samples.max()), -float(samples.min()))
    if peak > PEAK:
        samples *= np.float32(PEAK / peak)
