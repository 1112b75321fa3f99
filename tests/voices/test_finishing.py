"""What the last steps promise of every engine's sound."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray

from speech_pipeline.voices.finishing import LOUDNESS_LUFS, PEAK_DBTP, finish, loudness, true_peak

RATE = 24_000
HIGHEST_PEAK = 10 ** (PEAK_DBTP / 20)


def speech_like(seconds: float, level: float = 0.1, rate: int = RATE, seed: int = 0) -> NDArray[np.float32]:
    """Noise with the pace of syllables."""
    times = np.arange(int(seconds * rate)) / rate
    noise = np.random.default_rng(seed).standard_normal(len(times))
    return np.asarray(level * noise * (0.4 + 0.6 * np.abs(np.sin(2 * np.pi * 4 * times))), np.float32)


@pytest.mark.parametrize("level", [1e-3, 0.05, 0.3, 30.0])
@pytest.mark.parametrize("rate", [8_000, 16_000, 22_050, 24_000, 48_000])
def test_every_level_comes_out_equally_loud_below_the_peak(level: float, rate: int) -> None:
    finished = finish(speech_like(3.0, level, rate), rate)
    assert loudness(finished, rate) == pytest.approx(LOUDNESS_LUFS, abs=0.5)
    assert true_peak(finished, rate) <= HIGHEST_PEAK * 1.01


def test_short_speech_is_as_loud_as_long() -> None:
    assert loudness(finish(speech_like(0.2), RATE), RATE) == pytest.approx(LOUDNESS_LUFS, abs=1.0)


def test_lone_peaks_make_it_softer_and_are_not_clipped() -> None:
    samples = speech_like(3.0, 0.01)
    samples[20_000] = samples[50_000] = 5.0
    finished = finish(samples, RATE)
    assert true_peak(finished, RATE) == pytest.approx(HIGHEST_PEAK, rel=0.02)
    assert np.abs(finished).max() <= 1.0


def test_silence_and_noise_at_the_ends_are_cut_off() -> None:
    speech = speech_like(1.0, 0.2)
    noise = speech_like(2.0, 0.0002, seed=1)
    finished = finish(np.concatenate([np.zeros(RATE, np.float32), speech, noise, np.zeros(999, np.float32)]), RATE)
    assert len(speech) <= len(finished) <= len(speech) + 0.12 * RATE


def test_soft_ends_of_words_are_kept() -> None:
    speech, hiss = speech_like(1.0, 0.3), speech_like(0.15, 0.006, seed=1)
    assert len(finish(np.concatenate([speech, hiss]), RATE)) >= len(speech) + 0.98 * len(hiss)


def test_it_begins_and_ends_without_a_click_and_without_an_offset() -> None:
    finished = finish(speech_like(1.0) + np.float32(0.5), RATE)
    assert abs(finished[0]) < 1e-6
    assert abs(finished[-1]) < 1e-6
    assert abs(finished.mean()) < 0.01


@pytest.mark.parametrize("samples", [np.zeros(0), np.zeros(1), np.zeros(50_000), np.full(50_000, 0.3)])
def test_nothing_is_left_of_silence(samples: NDArray[np.float64]) -> None:
    assert len(finish(samples.astype(np.float32), RATE)) == 0


@given(
    arrays(np.float32, st.integers(0, 4_000), elements=st.floats(-100, 100, width=32)), st.sampled_from([8_000, RATE])
)
def test_whatever_comes_in_what_comes_out_can_be_played(samples: NDArray[np.float32], rate: int) -> None:
    before = samples.copy()
    finished = finish(samples, rate)
    assert finished.dtype == np.float32
    assert np.isfinite(finished).all()
    assert np.abs(finished).max(initial=0.0) <= 1.0
    assert len(finished) <= len(samples)
    np.testing.assert_array_equal(samples, before)
    np.testing.assert_array_equal(finish(samples, rate), finished)
