from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from speech_pipeline.audio.voice_activity import FRAME_S
from speech_pipeline.audio.waveform import SAMPLING_RATE
from speech_pipeline.recognition.windows import (
    CUT_SEARCH_S,
    KEPT_PAUSE_S,
    PAUSE_S,
    SILENCE,
    Piece,
    Window,
    cut_windows,
    halve,
    select,
)

Regions = list[tuple[float, float]]


def numbered(seconds: float) -> NDArray[np.float32]:
    """A recording whose samples are their own positions."""
    return np.arange(round(seconds * SAMPLING_RATE), dtype=np.float32)


def positions(windows: Sequence[Window]) -> NDArray[np.int64]:
    """Positions in a numbered recording that the windows hold, in their order."""
    return np.concatenate([np.zeros(0), *(window.samples for window in windows)]).astype(np.int64)


@st.composite
def recordings(draw: st.DrawFn) -> tuple[float, Regions]:
    """A length in seconds, and regions in order, the last of which may end past the recording."""
    regions: Regions = []
    time = 0.0
    for gap, length in draw(st.lists(st.tuples(st.floats(0, 4), st.floats(0, 20)), max_size=8)):
        regions.append((time + gap, time + gap + length))
        time += gap + length
    return max(time + draw(st.floats(-2, 2)), 0.0), regions


def in_samples(regions: Regions, length: int) -> list[tuple[int, int]]:
    return [(min(round(a * SAMPLING_RATE), length), min(round(b * SAMPLING_RATE), length)) for a, b in regions]


def with_dip(seconds: float, begin: float, end: float, depth: float) -> NDArray[np.float32]:
    """Probabilities of 1, lower by ``depth`` from ``begin`` to ``end``."""
    probabilities = np.ones(int(seconds / FRAME_S), np.float32)
    probabilities[round(begin / FRAME_S) : round(end / FRAME_S)] -= depth
    return probabilities


@settings(max_examples=60, deadline=None)
@given(recordings(), st.sampled_from([1.0, 1.1, 7.3, 15.0, 29.99, 30.0]), st.integers(0, 3))
def test_every_sample_of_every_region_is_in_one_window(
    recording: tuple[float, Regions], max_duration_s: float, seed: int
) -> None:
    seconds, regions = recording
    samples = numbered(seconds)
    probabilities = np.random.default_rng(seed).random(len(samples) // 512 + 1).astype(np.float32)
    windows = cut_windows(
        samples, regions, max_duration_s=max_duration_s, probabilities=probabilities if seed else None
    )

    held = positions(windows)
    assert np.all(np.diff(held) > 0)  # in order, and none twice
    wanted = np.zeros(len(samples), bool)
    for start, end in in_samples(regions, len(samples)):
        wanted[start:end] = True
    assert np.all(np.isin(np.flatnonzero(wanted), held, assume_unique=True))
    # What is held beyond the regions is the pauses between them that are short.
    extra = held[~wanted[held]]
    runs = np.split(extra, np.flatnonzero(np.diff(extra) > 1) + 1)
    assert max(len(run) for run in runs) <= KEPT_PAUSE_S * SAMPLING_RATE
    for window in windows:
        assert 1 <= len(window.samples) <= max_duration_s * SAMPLING_RATE


def check_pieces(window: Window) -> None:
    """The pieces say where the samples of a numbered recording come from."""
    offset = 0
    for piece in window.pieces:
        assert round(piece.offset * SAMPLING_RATE) == offset
        begin, end = round(piece.start * SAMPLING_RATE), round(piece.end * SAMPLING_RATE)
        assert window.samples[offset : offset + end - begin].tolist() == list(range(begin, end))
        offset += end - begin
    assert offset == len(window.samples)


@settings(max_examples=60, deadline=None)
@given(recordings(), st.sampled_from([1.0, 9.7, 30.0]))
def test_pieces_say_where_the_samples_come_from(recording: tuple[float, Regions], max_duration_s: float) -> None:
    seconds, regions = recording
    for window in cut_windows(numbered(seconds), regions, max_duration_s=max_duration_s, channel=1):
        assert window.channel == 1
        assert window.start == window.pieces[0].start
        assert window.end == window.pieces[-1].end
        check_pieces(window)
        for earlier, later in pairwise(window.pieces):
            assert later.start - earlier.end > KEPT_PAUSE_S


@settings(max_examples=60, deadline=None)
@given(recordings(), st.lists(st.floats(-1, 31), min_size=2, max_size=20))
def test_stretches_of_a_window_lie_in_one_piece_and_in_order(
    recording: tuple[float, Regions], times: list[float]
) -> None:
    seconds, regions = recording
    for window in cut_windows(numbered(seconds), regions, max_duration_s=30.0):
        borders = [piece.offset for piece in window.pieces] + [window.duration]
        placed = [window.place(begin, end) for begin, end in pairwise(sorted([*times, *borders]))]
        assert [start for start, _ in placed] == sorted(start for start, _ in placed)
        for start, end in placed:
            assert any(piece.start <= start <= end <= piece.end for piece in window.pieces)


def test_a_word_across_a_removed_silence_lies_where_most_of_it_is() -> None:
    window = Window(numbered(5.0), (Piece(10.0, 12.0, 0.0), Piece(20.0, 23.0, 2.0)))
    assert window.place(1.5, 2.1) == (11.5, 12.0)
    assert window.place(1.9, 2.5) == (20.0, 20.5)
    assert window.place(1.5, 2.0) == (11.5, 12.0)
    assert window.place(2.0, 2.5) == (20.0, 20.5)
    assert window.place(1.0, 1.0) == (11.0, 11.0)
    assert window.place(-1.0, 0.5) == (10.0, 10.5)
    assert window.place(4.5, 99.0) == (22.5, 23.0)


@settings(max_examples=60, deadline=None)
@given(recordings())
def test_halves_join_to_the_window(recording: tuple[float, Regions]) -> None:
    seconds, regions = recording
    for window in cut_windows(numbered(seconds), regions, max_duration_s=30.0):
        if len(window.samples) < 2:
            continue
        left, right = halve(window)
        assert np.concatenate([left.samples, right.samples]).tolist() == window.samples.tolist()
        for half in (left, right):
            assert len(half.samples) > 0
            for piece in half.pieces:
                begin, end = round(piece.start * SAMPLING_RATE), round(piece.end * SAMPLING_RATE)
                offset = round(piece.offset * SAMPLING_RATE)
                assert half.samples[offset : offset + end - begin].tolist() == list(range(begin, end))


@pytest.mark.parametrize("depth", [1.0, 0.5, 0.08, 0.01])
@pytest.mark.parametrize("dip", [(22.5, 22.8), (25.0, 25.3), (29.0, 29.3)])
def test_a_long_region_is_cut_where_speech_is_least_likely(dip: tuple[float, float], depth: float) -> None:
    first, second = cut_windows(
        numbered(40), [(0.0, 40.0)], max_duration_s=30.0, probabilities=with_dip(40, *dip, depth)
    )
    assert dip[0] <= first.end <= dip[1]
    assert second.start == first.end


def test_of_two_dips_the_longer_pause_is_cut() -> None:
    probabilities = np.minimum(with_dip(40, 24.0, 24.2, 1.0), with_dip(40, 27.0, 27.6, 1.0))
    first, _ = cut_windows(numbered(40), [(0.0, 40.0)], max_duration_s=30.0, probabilities=probabilities)
    assert 27.0 < first.end < 27.6


def test_a_dip_is_found_in_a_region_that_starts_late() -> None:
    windows = cut_windows(
        numbered(100), [(50.0, 95.0)], max_duration_s=30.0, probabilities=with_dip(100, 74.0, 74.4, 0.6)
    )
    assert windows[0].start == 50.0
    assert 74.0 < windows[0].end < 74.4


def test_without_probabilities_the_quiet_place_is_cut() -> None:
    samples = np.random.default_rng(0).normal(0, 0.1, 40 * SAMPLING_RATE).astype(np.float32)
    samples[26 * SAMPLING_RATE : round(26.3 * SAMPLING_RATE)] *= 0.05
    first, second = cut_windows(samples, [(0.0, 40.0)], max_duration_s=30.0)
    assert 26.0 < first.end < 26.3
    assert second.end == 40.0


def test_a_region_that_does_not_fit_starts_the_next_window() -> None:
    windows = cut_windows(numbered(40), [(0.0, 25.0), (28.0, 38.0)], max_duration_s=30.0)
    assert [(window.start, window.end) for window in windows] == [(0.0, 25.0), (28.0, 38.0)]


def test_a_region_is_cut_where_too_much_of_the_window_would_stay_empty() -> None:
    windows = cut_windows(
        numbered(40),
        [(0.0, 10.0), (13.0, 38.0)],
        max_duration_s=30.0,
        probabilities=with_dip(40, 30.0, 30.4, 1.0),
    )
    assert [piece.start for piece in windows[0].pieces] == [0.0, 13.0]
    assert 30.0 < windows[0].end < 30.4
    assert windows[1].start == windows[0].end


def test_short_pauses_stay_and_long_ones_go() -> None:
    (window,) = cut_windows(numbered(20), [(1.0, 3.0), (4.0, 6.0), (9.0, 12.0)], max_duration_s=30.0)
    assert window.pieces == (Piece(1.0, 6.0, 0.0), Piece(9.0, 12.0, 5.0))
    assert window.duration == 8.0


@settings(max_examples=40, deadline=None)
@given(recordings(), st.sampled_from([16.0, 22.5, 30.0]))
def test_all_windows_but_the_last_are_nearly_full(recording: tuple[float, Regions], max_duration_s: float) -> None:
    seconds, regions = recording
    for window in cut_windows(numbered(seconds), regions, max_duration_s=max_duration_s)[:-1]:
        assert window.duration >= max_duration_s - CUT_SEARCH_S


def test_many_short_regions_fill_windows_to_the_last_sample_but_no_further() -> None:
    # Each region is rounded to whole samples on its own; the sum of the rounding must not make a window too long.
    regions = [(2.0 * i, 2.0 * i + 0.10004) for i in range(400)]
    windows = cut_windows(numbered(800), regions, max_duration_s=30.0)
    assert max(len(window.samples) for window in windows) <= 30 * SAMPLING_RATE
    assert sum(len(window.pieces) for window in windows) >= 400


def test_ten_thousand_regions_of_three_hours() -> None:
    regions = [(1.08 * i, 1.08 * i + 0.04) for i in range(10_000)]
    samples = np.zeros(10_800 * SAMPLING_RATE, np.float32)
    windows = cut_windows(samples, regions, max_duration_s=30.0, probabilities=np.ones(337_500, np.float32))
    assert sum(len(window.pieces) for window in windows) >= 10_000
    assert len(windows) == pytest.approx(10_000 * 0.04 / 30, abs=1)


@pytest.mark.parametrize(
    "regions",
    [[], [(1.0, 1.0)], [(3.0, 3.00001)], [(5.0, 6.0)], [(7.0, 9.0), (9.0, 9.0)]],
    ids=["none", "of no length", "shorter than a sample", "at the very end", "past the end"],
)
def test_regions_without_samples_give_no_window(regions: Regions) -> None:
    assert cut_windows(numbered(5), regions, max_duration_s=30.0) == []
    assert cut_windows(numbered(0), regions, max_duration_s=30.0) == []


def test_a_region_that_ends_past_the_recording_ends_with_it() -> None:
    (window,) = cut_windows(numbered(5), [(4.0, 7.0)], max_duration_s=30.0)
    assert (window.start, window.end, window.duration) == (4.0, 5.0, 1.0)


def test_probabilities_may_be_fewer_than_frames() -> None:
    windows = cut_windows(numbered(40), [(0.0, 40.0)], max_duration_s=30.0, probabilities=np.zeros(0, np.float32))
    assert [(window.start, window.end) for window in windows] == [(0.0, 30.0), (30.0, 40.0)]


def test_pauses_are_noted_where_they_lie_in_the_window() -> None:
    probabilities = with_dip(20.0, 3.2, 3.52, 0.9) * with_dip(20.0, 12.8, 13.44, 0.9)
    probabilities *= with_dip(20.0, 5.12, 5.216, 0.9)  # too short
    probabilities *= with_dip(20.0, 1.6, 2.24, 0.9) * with_dip(20.0, 6.4, 9.6, 0.9)  # at the ends of speech
    probabilities *= with_dip(20.0, 10.24, 11.2, 0.5)  # not silent enough
    regions = [(1.92, 6.4), (9.6, 16.0)]
    (window,) = cut_windows(numbered(20.0), regions, max_duration_s=30.0, probabilities=probabilities)
    assert window.pauses == (pytest.approx((1.28, 1.6)), pytest.approx((7.68, 8.32)))


def test_without_probabilities_no_pauses_are_noted() -> None:
    (window,) = cut_windows(np.zeros(16_000, np.float32), [(0.0, 1.0)], max_duration_s=30.0)
    assert window.pauses == ()


@settings(max_examples=60, deadline=None)
@given(recordings(), st.sampled_from([1.0, 9.7, 30.0]), st.integers(0, 3))
def test_pauses_are_silent_and_inside_one_piece(
    recording: tuple[float, Regions], max_duration_s: float, seed: int
) -> None:
    seconds, regions = recording
    samples = numbered(seconds)
    blocks = np.random.default_rng(seed).random(len(samples) // 2560 + 1).astype(np.float32)
    probabilities = np.repeat(blocks, 5)
    for window in cut_windows(samples, regions, max_duration_s=max_duration_s, probabilities=probabilities):
        for start, end in window.pauses:
            assert end - start >= PAUSE_S
            held = window.samples[round(start * SAMPLING_RATE) : round(end * SAMPLING_RATE)].astype(np.int64)
            assert np.all(np.diff(held) == 1)
            assert np.all(probabilities[held // 512] < SILENCE)
            around = window.samples[round(start * SAMPLING_RATE) - 1], window.samples[round(end * SAMPLING_RATE)]
            assert (around[0], around[1]) == (held[0] - 1, held[-1] + 1)


@settings(max_examples=60, deadline=None)
@given(recordings(), st.lists(st.floats(0, 30), min_size=2, max_size=8, unique=True))
def test_what_is_selected_from_a_window_knows_where_it_comes_from(
    recording: tuple[float, Regions], times: list[float]
) -> None:
    seconds, regions = recording
    probabilities = np.random.default_rng(0).random(round(seconds * 40) + 1).repeat(6).astype(np.float32)
    for window in cut_windows(numbered(seconds), regions, max_duration_s=30.0, probabilities=probabilities):
        places = [min(round(time * SAMPLING_RATE), len(window.samples)) for time in sorted(times)]
        spans = [(first, last) for first, last in list(pairwise(places))[::2] if first < last]
        if not spans:
            continue
        selected = select(window, spans)
        check_pieces(selected)
        assert selected.samples.tolist() == [x for first, last in spans for x in window.samples[first:last].tolist()]
        for start, end in selected.pauses:
            held = selected.samples[round(start * SAMPLING_RATE) : round(end * SAMPLING_RATE)].astype(np.int64)
            assert np.all(np.diff(held) == 1)
            assert np.all(probabilities[held // 512] < SILENCE)


def test_spans_that_touch_stay_one_piece() -> None:
    window = Window(numbered(3.0), (Piece(0.0, 3.0, 0.0),), 1, ((0.4, 0.6), (1.9, 2.1)))
    selected = select(window, [(0, SAMPLING_RATE), (SAMPLING_RATE, 2 * SAMPLING_RATE)])
    assert selected.pieces == (Piece(0.0, 2.0, 0.0),)
    assert selected.pauses == ((0.4, 0.6),)
    assert selected.channel == 1
