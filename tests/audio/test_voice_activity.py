from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
import soundfile
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from speech_pipeline.audio import voice_activity
from speech_pipeline.audio.silero_network import FRAME_SAMPLES
from speech_pipeline.audio.voice_activity import FRAME_S, VoiceActivityDetector
from tests.synthetic_audio import noise, tone

Regions = tuple[tuple[float, float], ...]


@pytest.fixture(scope="module")
def detector() -> VoiceActivityDetector:
    return VoiceActivityDetector()


@pytest.fixture(scope="module")
def call(sample_call: Path) -> NDArray[np.float32]:
    """The 30 s telephone call; the first word is said at 6.7 s."""
    samples, sampling_rate = soundfile.read(sample_call, dtype="float32")
    assert sampling_rate == 16_000
    return samples


@pytest.fixture(scope="module")
def turns(sample_call: Path) -> Regions:
    """Who speaks when in the call, as (start, end) in seconds."""
    fields = [line.split() for line in sample_call.with_suffix(".rttm").read_text().splitlines()]
    return tuple((float(field[3]), float(field[3]) + float(field[4])) for field in fields)


def mask(regions: Regions, duration_s: float = 30.0) -> NDArray[np.bool_]:
    """Whether each hundredth of a second is in a region."""
    covered = np.zeros(round(duration_s * 100), bool)
    for start, end in regions:
        covered[round(start * 100) : round(end * 100)] = True
    return covered


def share_found(regions: Regions, turns: Regions) -> float:
    """How much of the speech the regions hold, from 0 to 1."""
    speech = mask(turns)
    return float((mask(regions) & speech).sum() / speech.sum())


def test_regions_of_the_call_hold_the_speech_and_not_the_silence(
    detector: VoiceActivityDetector, call: NDArray[np.float32], turns: Regions
) -> None:
    regions = detector.detect(call).regions
    assert share_found(regions, turns) > 0.99
    assert regions[0][0] > 6.0
    assert (mask(regions) & ~mask(turns)).sum() < 0.2 * (~mask(turns)).sum()


def test_one_probability_a_frame(detector: VoiceActivityDetector, call: NDArray[np.float32]) -> None:
    probabilities = detector.detect(call).probabilities
    assert len(probabilities) == -(-len(call) // FRAME_SAMPLES)
    assert probabilities.dtype == np.float32
    assert 0 <= probabilities.min() < 0.1
    assert 0.9 < probabilities.max() <= 1
    assert probabilities[: round(6 / FRAME_S)].max() < 0.5


@pytest.mark.parametrize("scale", [0.1, 0.03, 0.01, 0.003, 0.001])
def test_speech_is_found_however_quiet_it_is(
    detector: VoiceActivityDetector, call: NDArray[np.float32], turns: Regions, scale: float
) -> None:
    regions = detector.detect(call * np.float32(scale)).regions
    assert share_found(regions, turns) > 0.97
    assert regions[0][0] > 6.0


def test_quiet_speech_is_found_in_16_bits(
    detector: VoiceActivityDetector, call: NDArray[np.float32], turns: Regions
) -> None:
    quantised = (np.round(call * 0.003 * 32_768) / 32_768).astype(np.float32)
    assert share_found(detector.detect(quantised).regions, turns) > 0.95


@pytest.mark.parametrize("scale", [3.0, 10.0, 100.0])
def test_speech_is_found_when_it_is_clipped(
    detector: VoiceActivityDetector, call: NDArray[np.float32], turns: Regions, scale: float
) -> None:
    regions = detector.detect(np.clip(call * np.float32(scale), -1, 1)).regions
    assert share_found(regions, turns) > 0.95
    assert regions[0][0] > 6.0


@pytest.mark.parametrize("offset", [0.02, -0.3, 0.9])
@pytest.mark.parametrize("scale", [1.0, 0.01])
def test_a_constant_offset_changes_nothing(
    detector: VoiceActivityDetector, call: NDArray[np.float32], scale: float, offset: float
) -> None:
    expected = mask(detector.detect(call).regions)
    found = mask(detector.detect(call * np.float32(scale) + np.float32(offset)).regions)
    assert (found != expected).mean() < 0.01


def test_detection_leaves_the_samples_as_they_are(detector: VoiceActivityDetector, call: NDArray[np.float32]) -> None:
    quiet = call * np.float32(0.01) + np.float32(0.1)
    before = quiet.copy()
    detector.detect(quiet)
    assert np.array_equal(quiet, before)


@pytest.mark.parametrize("level", [1.0, 0.1, 0.01, 1e-3, 1e-4, 1e-6])
@pytest.mark.parametrize("kind", ["white", "brown", "tone", "hum", "clicks", "steps"])
def test_sound_that_is_no_speech_gives_no_regions_at_any_level(
    detector: VoiceActivityDetector, kind: str, level: float
) -> None:
    generator = np.random.default_rng(0)
    white = noise(10.0)
    brown = np.cumsum(white - white.mean())
    sounds = {
        "white": white,
        "brown": brown / np.abs(brown).max(),
        "tone": tone(10.0),
        "hum": tone(10.0, frequency=50.0),
        "clicks": (generator.random(160_000) < 1e-4).astype(np.float32),
        "steps": np.round(white * 5),
    }
    assert detector.detect((sounds[kind] * level).astype(np.float32)).regions == ()


@pytest.mark.parametrize("scale", [1.0, 0.1, 0.01, 0.001])
def test_the_silent_start_of_the_call_gives_no_regions(
    detector: VoiceActivityDetector, call: NDArray[np.float32], scale: float
) -> None:
    assert detector.detect(call[: 6 * 16_000] * np.float32(scale)).regions == ()


@pytest.mark.parametrize("value", [0.0, 0.5, -1.0, 1e-30])
def test_a_constant_signal_gives_no_regions(detector: VoiceActivityDetector, value: float) -> None:
    activity = detector.detect(np.full(5 * 16_000, value, np.float32))
    assert activity.regions == ()
    assert np.all(np.isfinite(activity.probabilities))


@pytest.mark.parametrize("length", [0, 1, 63, 64, 511, 512, 513, 1_024, 1_025])
def test_recordings_of_a_few_samples(detector: VoiceActivityDetector, length: int) -> None:
    activity = detector.detect(tone(1.0)[:length])
    assert len(activity.probabilities) == -(-length // FRAME_SAMPLES)
    assert np.all(np.isfinite(activity.probabilities))
    assert activity.regions == ()


@pytest.mark.parametrize("block_frames", [1, 100, 937, 938, 10_000])
def test_the_length_of_blocks_does_not_matter(
    detector: VoiceActivityDetector,
    call: NDArray[np.float32],
    monkeypatch: pytest.MonkeyPatch,
    block_frames: int,
) -> None:
    recording = np.concatenate([call, call[: 16_000 * 5 + 7], call]) * np.float32(0.05)  # 2 034 frames: over a block
    expected = detector.detect(recording)
    monkeypatch.setattr(voice_activity, "_BLOCK_FRAMES", block_frames)
    activity = detector.detect(recording)
    np.testing.assert_allclose(activity.probabilities, expected.probabilities, atol=1e-4)
    assert activity.regions == expected.regions


def test_one_recording_does_not_influence_the_next(detector: VoiceActivityDetector, call: NDArray[np.float32]) -> None:
    expected = detector.detect(call[:160_000])
    detector.detect(call)
    assert np.array_equal(detector.detect(call[:160_000]).probabilities, expected.probabilities)


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 479_999), st.integers(0, 480_000))
def test_regions_are_in_order_and_inside_the_recording(
    detector: VoiceActivityDetector, call: NDArray[np.float32], start: int, length: int
) -> None:
    part = call[start : start + length]
    regions = detector.detect(part).regions
    assert all(0 <= begin < end <= len(part) / 16_000 for begin, end in regions)
    assert all(earlier[1] <= later[0] for earlier, later in pairwise(regions))


def test_padding_pauses_and_minimum_length_can_be_chosen(call: NDArray[np.float32]) -> None:
    exact = VoiceActivityDetector(padding_s=0.0).detect(call).regions
    padded = VoiceActivityDetector(padding_s=0.5).detect(call).regions
    assert padded[0][0] == pytest.approx(exact[0][0] - 0.5)
    fine = VoiceActivityDetector(padding_s=0.0, min_pause_s=0.05).detect(call).regions
    assert len(fine) > len(exact)
    assert VoiceActivityDetector(min_speech_s=60.0).detect(call).regions == ()
