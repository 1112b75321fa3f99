"""Clips of made-up speakers, and a folder of recordings to cut clips from."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import soundfile
from numpy.typing import NDArray

from speech_pipeline.evaluation.clips import SPEECH_LEVEL, Clip
from speech_pipeline.transcript import Word
from tests.synthetic_audio import tone

RATE = 16_000


def clip(name: str, speaker: str, *stretches_s: float, pause_s: float = 0.5, timed: bool = True) -> Clip:
    """Tones of these lengths, parted by pauses, with a word in the middle of each."""
    samples: list[NDArray[np.float32]] = []
    regions: list[tuple[int, int]] = []
    words: list[Word] = []
    position = 0
    for number, seconds in enumerate(stretches_s):
        if samples:
            samples.append(np.zeros(round(pause_s * RATE), np.float32))
            position += len(samples[-1])
        samples.append(tone(seconds) * np.float32(SPEECH_LEVEL * np.sqrt(2) / 0.3))
        regions.append((position, position + len(samples[-1])))
        position += len(samples[-1])
        start, end = regions[-1][0] / RATE, regions[-1][1] / RATE
        words.append(Word(f"{name}{number}", start + 0.1 * seconds, end - 0.1 * seconds))
    return Clip(name, speaker, "en", np.concatenate(samples), tuple(regions), tuple(words), timed)


def speakers(count: int) -> tuple[Clip, ...]:
    """Three clips, of 0.5 to 5 s, for each of so many people."""
    return tuple(
        made
        for number in range(count)
        for made in (
            clip(f"short{number}-", f"person{number}", 0.5),
            clip(f"middle{number}-", f"person{number}", 1.5 + 0.1 * number, timed=number % 2 == 0),
            clip(f"long{number}-", f"person{number}", 2.0, 2.0),
        )
    )


def write_recording(folder: Path, name: str, spoken_s: list[tuple[float, float]], duration_s: float) -> None:
    """A recording that is a tone in these stretches, and silence outside them."""
    samples = np.zeros(round(duration_s * RATE), np.float32)
    for start, end in spoken_s:
        samples[round(start * RATE) : round(end * RATE)] = tone(end - start, frequency=300 + 100 * start)
    soundfile.write(folder / name, samples, RATE, subtype="PCM_16")


def write_manifest(folder: Path, entries: list[dict[str, Any]]) -> None:
    """The manifest of the folder."""
    (folder / "manifest.json").write_text(json.dumps(entries), encoding="utf-8")


def loud(samples: NDArray[np.float32]) -> list[tuple[float, float]]:
    """Speech of a recording without noise, in seconds: what is not silent for 0.1 s."""
    heard = np.flatnonzero(np.abs(samples) > 1e-3)
    if not len(heard):
        return []
    breaks = np.flatnonzero(np.diff(heard) > RATE // 10)
    starts = [heard[0], *heard[breaks + 1]]
    ends = [*heard[breaks], heard[-1]]
    return [(float(start) / RATE, float(end + 1) / RATE) for start, end in zip(starts, ends, strict=True)]
