import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from pyannote.audio.pipelines import SpeakerDiarization
from pyannote.core import SlidingWindow, SlidingWindowFeature

from speech_pipeline.diarization_frames import activations, loudest, speakers_at_once, window_starts

GRID = SlidingWindow(start=0.0, duration=0.02, step=0.02)
WINDOWS = SlidingWindow(start=0.0, duration=1.0, step=0.26)
ALIKE = np.ones(50, np.float32)


@given(st.integers(1, 6), st.integers(1, 3), st.integers(0, 2**32 - 1))
@settings(deadline=None, max_examples=40)
def test_the_same_frames_are_marked_as_by_pyannote(windows: int, clusters: int, seed: int) -> None:
    chance = np.random.default_rng(seed)
    # Distinct values: which of two equally active speakers is marked is left open.
    segmentation = SlidingWindowFeature(chance.random((windows, 50, 3)).astype(np.float32) + 0.01, WINDOWS)
    of_windows = np.stack([chance.integers(-1, clusters, 3) for _ in range(windows)])
    of_windows[of_windows < 0] = -2
    starts = window_starts(segmentation, GRID)
    active = activations(segmentation.data, of_windows, starts, ALIKE)
    assert active.shape == (starts[-1] + 50, max(1, of_windows.max() + 1))
    count = np.minimum(chance.integers(0, 4, len(active)), (active > 0).sum(axis=1))
    marked = loudest(active, count)

    pipeline = SpeakerDiarization.__new__(SpeakerDiarization)
    if of_windows.max() >= 0:
        counted = SlidingWindowFeature(count[:, None].astype(np.int8), GRID)
        expected = SpeakerDiarization.reconstruct(pipeline, segmentation, of_windows, counted)
        np.testing.assert_array_equal(marked, expected.data[: len(marked)])
    np.testing.assert_array_equal(marked.sum(axis=1), count)


@given(st.integers(1, 6), st.integers(0, 2**32 - 1))
@settings(deadline=None, max_examples=40)
def test_speakers_are_counted_as_by_pyannote(windows: int, seed: int) -> None:
    activity = SlidingWindowFeature(np.random.default_rng(seed).integers(0, 2, (windows, 50, 3)), WINDOWS)
    count = speakers_at_once(activity.data > 0, window_starts(activity, GRID), ALIKE)
    expected = SpeakerDiarization.speaker_count(activity, GRID, warm_up=(0.0, 0.0))
    np.testing.assert_array_equal(count, expected.data[: len(count), 0])


def test_the_middle_of_a_window_outvotes_the_edges_of_others() -> None:
    weights = np.hamming(50).astype(np.float32)
    starts = np.array([0, 20, 40])
    activity = np.zeros((3, 50, 1), bool)
    activity[1, 20:30] = True
    assert speakers_at_once(activity, starts, weights)[40:50].tolist() == [1] * 10
    assert speakers_at_once(~activity, starts, weights)[40:50].tolist() == [0] * 10


def test_nobody_is_marked_who_is_not_active() -> None:
    active = np.array([[0.0, 0.2], [0.3, 0.1], [0.0, 0.0]], np.float32)
    assert loudest(active, np.array([2, 1, 2])).tolist() == [[0, 1], [1, 0], [0, 0]]
