import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from speech_pipeline.diarization_pieces import Pieces, cut_pieces

FRAMES, STEP = 100, 25
LENGTH, SPAN = 30, 90


def windows_of(truth: NDArray[np.bool_], seed: int = 0) -> tuple[NDArray[np.bool_], NDArray[np.int64]]:
    """Overlapping windows of ``truth`` [frames, speakers], each with its speakers in an order of its own."""
    chance = np.random.default_rng(seed)
    starts = np.arange(0, len(truth) - FRAMES + 1, STEP)
    windows = [truth[start : start + FRAMES, chance.permutation(truth.shape[1])] for start in starts]
    return np.stack(windows), starts


def cut(truth: NDArray[np.bool_], seed: int = 0) -> Pieces:
    return cut_pieces(*windows_of(truth, seed), length=LENGTH, longest_span=SPAN)


def talk(*turns: tuple[int, int, int], frames: int = 300, speakers: int = 3) -> NDArray[np.bool_]:
    truth = np.zeros((frames, speakers), bool)
    for speaker, start, end in turns:
        truth[start:end, speaker] = True
    return truth


recordings = st.lists(
    st.tuples(st.integers(0, 2), st.integers(0, 290), st.integers(1, 90)).map(lambda t: (t[0], t[1], t[1] + t[2])),
    max_size=12,
).map(lambda turns: talk(*turns))


@given(recordings, st.integers(0, 9))
@settings(deadline=None)
def test_pieces_are_the_clear_speech_cut_once_each_of_one_speaker(truth: NDArray[np.bool_], seed: int) -> None:
    pieces = cut(truth, seed)
    clear = truth.sum(axis=1) == 1
    kept = [frames for frames in pieces.frames if clear[frames].all()]
    assert sorted(np.concatenate([*kept, np.empty(0, int)]).tolist()) == np.flatnonzero(clear).tolist()
    for frames in kept:
        assert len(set(truth[frames].argmax(axis=1))) == 1
        assert (np.diff(frames) > 0).all()
        assert frames[-1] - frames[0] < SPAN
        assert frames.size <= 1.5 * LENGTH


@given(recordings, st.integers(0, 9))
@settings(deadline=None)
def test_every_speaker_of_every_window_is_made_of_what_is_heard_of_him(truth: NDArray[np.bool_], seed: int) -> None:
    activity, starts = windows_of(truth, seed)
    pieces = cut(truth, seed)
    weights = pieces.weights.toarray().reshape(len(starts), truth.shape[1], -1)
    clear = truth.sum(axis=1) == 1
    for window, start in enumerate(starts):
        for speaker, spoken in enumerate(activity[window].T):
            alone = spoken & clear[start : start + FRAMES]
            heard = weights[window, speaker]
            assert heard.any() == spoken.any()
            if alone.any():
                assert heard.sum() == alone.sum()
                for piece in np.flatnonzero(heard):
                    assert heard[piece] == np.isin(start + np.flatnonzero(alone), pieces.frames[piece]).sum()


def test_a_speaker_keeps_his_piece_through_a_pause() -> None:
    pieces = cut(talk((0, 20, 30), (1, 30, 60), (0, 60, 75)))
    assert sorted(frames.size for frames in pieces.frames) == [25, 30]


def test_who_only_speaks_while_others_do_is_heard_in_the_overlap() -> None:
    pieces = cut(talk((0, 0, 90), (1, 30, 50)))
    assert any(frames.tolist() == list(range(30, 50)) for frames in pieces.frames)


def test_silence_has_no_pieces() -> None:
    pieces = cut(talk())
    assert pieces.frames == ()
    assert np.isnan(pieces.mixed(np.empty((0, 4)))).all()


def test_embeddings_are_mixed_by_length_and_unknown_ones_left_out() -> None:
    activity, starts = windows_of(talk((0, 0, 30), (0, 60, 80), (1, 85, 95)))
    pieces = cut_pieces(activity, starts, length=25, longest_span=SPAN)
    own = [index for index, frames in enumerate(pieces.frames) if frames[0] < 85]
    (other,) = set(range(len(pieces.frames))) - set(own)
    embeddings = np.zeros((len(pieces.frames), 2))
    embeddings[own] = [[1.0, 0.0], [0.0, 1.0]]
    embeddings[other] = np.nan
    mixed = pieces.mixed(embeddings)
    assert mixed.shape == (activity.shape[0] * 3, 2)
    speaker, silent = (int(np.flatnonzero(activity[0].sum(axis=0) == count)[0]) for count in (50, 0))
    assert mixed[speaker] == pytest.approx([0.5, 0.5])
    assert np.isnan(mixed[silent]).all()
    assert np.isnan(mixed[int(np.flatnonzero(activity[0].sum(axis=0) == 10)[0])]).all()
