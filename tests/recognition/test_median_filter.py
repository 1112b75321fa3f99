import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from speech_pipeline.recognition.median_filter import median_filter


@settings(deadline=None)  # compiled at the first call
@given(arrays(np.float32, array_shapes(min_dims=2, max_dims=2, max_side=20), elements=st.floats(-9, 9, width=32)))
def test_takes_the_middle_of_seven(rows: np.ndarray) -> None:
    padded = np.pad(rows, ((0, 0), (3, 3)), mode="edge")
    windows = np.lib.stride_tricks.sliding_window_view(padded, 7, axis=1)
    assert np.array_equal(median_filter(rows), np.median(windows, axis=-1))
