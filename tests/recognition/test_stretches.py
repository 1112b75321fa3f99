from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from speech_pipeline.audio.waveform import SAMPLING_RATE
from speech_pipeline.recognition.stretches import MIN_STRETCH_S, stretches
from speech_pipeline.recognition.windows import Piece, Window


def window(seconds: float, pauses: list[tuple[float, float]], borders: list[float] | None = None) -> Window:
    """A window with pauses, and borders between pieces that are a minute apart in the recording."""
    edges = [0.0, *(borders or []), seconds]
    pieces = [Piece(60.0 * n + a, 60.0 * n + b, a) for n, (a, b) in enumerate(pairwise(edges))]
    return Window(np.zeros(round(seconds * SAMPLING_RATE), np.float32), tuple(pieces), pauses=tuple(pauses))


def in_seconds(heard: Window) -> list[tuple[float, float]]:
    return [(first / SAMPLING_RATE, last / SAMPLING_RATE) for first, last in stretches(heard)]


@pytest.mark.parametrize(
    ("heard", "expected"),
    [
        (window(5.0, []), [(0, 5)]),
        (window(6.0, [(1.9, 2.1), (4.0, 5.0)]), [(0, 2), (2, 4.5), (4.5, 6)]),
        (window(6.0, [], [2.0, 4.0]), [(0, 2), (2, 4), (4, 6)]),
        (window(6.0, [(1.4, 1.6), (2.0, 2.4)]), [(0, 2.2), (2.2, 6)]),
        (window(6.0, [(2.0, 2.2), (3.0, 3.4)], [2.5]), [(0, 2.5), (2.5, 6)]),
        (window(6.0, [(0.4, 0.6)]), [(0, 6)]),
        (window(6.0, [(5.4, 5.8)], [3.0]), [(0, 3), (3, 6)]),
        (window(0.5, [(0.2, 0.4)]), [(0, 0.5)]),
    ],
    ids=[
        "no pause",
        "middle of pauses",
        "pieces",
        "a short one joins across the shorter pause",
        "a short one does not join another piece",
        "a short one at the start",
        "a short one at the end",
        "all short",
    ],
)
def test_a_window_is_cut_in_its_pauses(heard: Window, expected: list[tuple[float, float]]) -> None:
    assert in_seconds(heard) == [pytest.approx(span) for span in expected]


@given(st.lists(st.tuples(st.floats(0.0, 29.0), st.floats(0.15, 1.0)), max_size=30), st.floats(0.01, 30.0))
def test_stretches_are_all_of_the_window_and_none_is_short(pauses: list[tuple[float, float]], seconds: float) -> None:
    inside = [(start, start + length) for start, length in sorted(pauses) if start + length < seconds]
    heard = window(seconds, inside)
    spans = stretches(heard)
    assert spans[0][0] == 0
    assert spans[-1][1] == len(heard.samples)
    assert all(left[1] == right[0] for left, right in pairwise(spans))
    assert len(spans) == 1 or all(last - first >= MIN_STRETCH_S * SAMPLING_RATE for first, last in spans)
