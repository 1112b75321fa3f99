"""The last steps of every voice: silence at the ends cut off, one loudness, no clipped peaks, no clicks."""

import numpy as np
import soxr
from numpy.typing import NDArray
from pyloudnorm import Meter

LOUDNESS_LUFS = -23.0
"""Loudness of all speech (ITU-R BS.1770), that of EBU R 128; at a higher one some voices would have to be clipped."""

PEAK_DBTP = -1.0
"""The highest true peak, between the samples too, in dB relative to full scale."""

_SILENCE_BELOW_SPEECH_DB = 45.0
_FRAME_S = 0.01
_KEPT_BEFORE_S, _KEPT_AFTER_S = 0.02, 0.06
"""Kept at the ends beyond what is loud enough, for breaths and soft consonants."""
_FADE_IN_S, _FADE_OUT_S = 0.005, 0.02

_INAUDIBLE = 1e-4
_LOUDNESS_BLOCK_S = 0.4
_OVERSAMPLING = 4


def finish(samples: NDArray[np.float32], sampling_rate: int) -> NDArray[np.float32]:
    """Make the sound of an engine fit to be joined and played.

    Args:
        samples: finite [n], mono, of any loudness.
        sampling_rate: samples a second.

    Returns:
        float32 [m] in [-1, 1] at :data:`LOUDNESS_LUFS`, or softer where its peaks would pass :data:`PEAK_DBTP`; empty
        when there was nothing to hear.
    """
    if not len(samples):
        return np.zeros(0, np.float32)
    wave = np.asarray(samples, np.float64)
    speech = _trimmed(wave - wave.mean(), sampling_rate)
    if len(speech):
        _fade(speech, sampling_rate)
        speech *= _gain(speech, sampling_rate)
    return speech.astype(np.float32)


def loudness(samples: NDArray[np.floating], sampling_rate: int) -> float:
    """Integrated loudness in LUFS. What is shorter than a block of the meter is measured as if it were repeated."""
    block = int(_LOUDNESS_BLOCK_S * sampling_rate) + 1
    if len(samples) < block:
        samples = np.resize(samples, block)
    return float(Meter(sampling_rate).integrated_loudness(np.asarray(samples, np.float64)))


def true_peak(samples: NDArray[np.floating], sampling_rate: int) -> float:
    """The highest magnitude of the wave that runs through the samples, 1 being full scale (ITU-R BS.1770, annex 2)."""
    wave = soxr.resample(np.asarray(samples, np.float32), sampling_rate, _OVERSAMPLING * sampling_rate)
    return float(max(np.abs(wave).max(initial=0.0), np.abs(samples).max(initial=0.0)))


def _trimmed(samples: NDArray[np.float64], sampling_rate: int) -> NDArray[np.float64]:
    """Without what is far below the loudness of the speech at the ends."""
    frame = max(1, round(_FRAME_S * sampling_rate))
    frames = np.pad(samples, (0, -len(samples) % frame)).reshape(-1, frame)
    levels = np.sqrt(np.square(frames).mean(axis=1))
    if levels.max(initial=0.0) < _INAUDIBLE:
        return samples[:0]
    threshold = np.percentile(levels, 95) * 10 ** (-_SILENCE_BELOW_SPEECH_DB / 20)
    heard = np.flatnonzero(levels >= max(threshold, _INAUDIBLE / 10))
    start = heard[0] * frame - round(_KEPT_BEFORE_S * sampling_rate)
    end = (heard[-1] + 1) * frame + round(_KEPT_AFTER_S * sampling_rate)
    return samples[max(0, start) : end].copy()


def _gain(samples: NDArray[np.float64], sampling_rate: int) -> float:
    measured = loudness(samples, sampling_rate)
    peak = true_peak(samples, sampling_rate)
    wanted = 10 ** ((LOUDNESS_LUFS - measured) / 20) if np.isfinite(measured) else np.inf
    return float(min(wanted, 10 ** (PEAK_DBTP / 20) / peak))


def _fade(samples: NDArray[np.float64], sampling_rate: int) -> None:
    """Let the sound rise from nothing and sink to nothing along half a cosine, in place."""
    for seconds, ramp_of in ((_FADE_IN_S, samples), (_FADE_OUT_S, samples[::-1])):
        length = min(round(seconds * sampling_rate), len(samples) // 2)
        ramp_of[:length] *= 0.5 - 0.5 * np.cos(np.pi * np.arange(length) / max(1, length))
