"""PCM without a header: signed 16-bit samples, little-endian, one channel."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from speech_pipeline.audio.arrays import to_float

_BLOCK_FRAMES = 262_144
_SAMPLES_EXAMINED = 1_048_576
_FEWEST_SAMPLES = 160
_LEAST_CORRELATION = 0.5


def raw_frames(data: bytes) -> Iterator[NDArray[np.float32]]:
    """Yield blocks of float32 [n, 1]; an odd last byte is left out."""
    samples = _samples(data)
    for start in range(0, len(samples), _BLOCK_FRAMES):
        yield to_float(samples[start : start + _BLOCK_FRAMES, np.newaxis])


def looks_like_pcm(data: bytes) -> bool:
    """Whether neighbouring 16-bit samples resemble each other, as they do in sound and not in compressed data.

    The measure is the autocorrelation at a lag of one sample, over about a million samples from the middle. Constant
    data and data of under 160 samples tell nothing and count as no PCM.
    """
    samples = _samples(data)
    start = max(0, (len(samples) - _SAMPLES_EXAMINED) // 2)
    signal = samples[start : start + _SAMPLES_EXAMINED].astype(np.float64)
    if len(signal) < _FEWEST_SAMPLES:
        return False
    signal -= signal.mean()
    energy = float(signal @ signal)
    return energy > 0 and float(signal[:-1] @ signal[1:]) / energy > _LEAST_CORRELATION


def _samples(data: bytes) -> NDArray[np.int16]:
    return np.frombuffer(data, dtype="<i2", count=len(data) // 2)
