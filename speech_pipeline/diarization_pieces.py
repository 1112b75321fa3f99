"""Pieces: stretches of one speaker's clear speech, each of which is embedded once.

The segmentation model looks at windows that overlap, and names its speakers anew in each. Embedding every speaker of
every window hears the same audio many times. Here the speakers of neighbouring windows are linked into tracks where
they speak at the same time, the clear speech of each track is cut into pieces, and every speaker of every window is
described by the pieces heard in it.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment
from scipy.sparse import csr_array

LEAST_AGREEMENT = 0.7
"""Speakers of two windows are one when they share this part of the frames in which either speaks.

A missed link only makes pieces shorter; a wrong one mixes two voices.
"""


@dataclass(frozen=True, slots=True)
class Pieces:
    """What is embedded, and how the speakers of the windows are made of it.

    Attributes:
        frames: for each piece its frames on the grid of the whole recording, ascending.
        weights: [windows * speakers, pieces], how many frames of each piece are heard from each speaker of each
            window; rows of speakers who do not speak are empty.
    """

    frames: tuple[NDArray[np.int64], ...]
    weights: csr_array

    def mixed(self, embeddings: NDArray[np.float64]) -> NDArray[np.float64]:
        """Embeddings of the speakers of the windows.

        Args:
            embeddings: [pieces, dimension]; rows of pieces that could not be embedded are NaN.

        Returns:
            [windows * speakers, dimension], means of the pieces weighted by their frames; NaN where there are none.
        """
        known = np.logical_not(np.isnan(embeddings).any(axis=1))
        weights = self.weights * known.astype(float)[None, :]
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.asarray((weights @ np.nan_to_num(embeddings)) / weights.sum(axis=1)[:, None])


def cut_pieces(activity: NDArray[np.bool_], starts: NDArray[np.int64], *, length: float, longest_span: int) -> Pieces:
    """Cut the clear speech of a recording into pieces.

    Args:
        activity: [windows, frames, speakers], who speaks in each window.
        starts: [windows], ascending, the frame of the recording at which each window starts.
        length: frames of speech in a piece, about; a track with less is one piece.
        longest_span: frames from the first to the last of a piece, pauses included, at most.
    """
    tracks = _linked(activity, starts)
    owners = _owners(activity, starts, tracks)
    frames: list[NDArray[np.int64]] = []
    pieces_of_track: dict[int, list[int]] = {}
    for track, spoken in _frames_by_owner(owners):
        for part in np.array_split(spoken, max(1, round(spoken.size / length))):
            for piece in _within_span(part, longest_span):
                pieces_of_track.setdefault(track, []).append(len(frames))
                frames.append(piece)
    return _weighted(activity, starts, tracks, owners.size, frames, pieces_of_track)


def _linked(activity: NDArray[np.bool_], starts: NDArray[np.int64]) -> NDArray[np.int64]:
    """Number the tracks: [windows, speakers], -1 for those who do not speak."""
    windows, length, speakers = activity.shape
    tracks = np.full((windows, speakers), -1)
    count = 0
    for window in range(windows):
        current = activity[window]
        if window:
            shift = starts[window] - starts[window - 1]
            before = activity[window - 1, shift:].astype(np.float32)
            after = current[: length - shift].astype(np.float32)
            both = before.T @ after
            either = before.sum(axis=0)[:, None] + after.sum(axis=0) - both
            agreement = both / np.maximum(either, 1)
            for left, right in zip(*linear_sum_assignment(agreement, maximize=True), strict=True):
                if agreement[left, right] >= LEAST_AGREEMENT:
                    tracks[window, right] = tracks[window - 1, left]
        for speaker in np.flatnonzero(current.any(axis=0) & (tracks[window] < 0)):
            tracks[window, speaker] = count
            count += 1
    return tracks


def _owners(activity: NDArray[np.bool_], starts: NDArray[np.int64], tracks: NDArray[np.int64]) -> NDArray[np.int64]:
    """The track that alone speaks in each frame, or -1, by the window whose middle is nearest to the frame."""
    length = activity.shape[1]
    middles = starts + length // 2
    owners = np.full(starts[-1] + length, -1)
    edges = np.concatenate(([0], (middles[1:] + middles[:-1]) // 2, [owners.size]))
    for window, start in enumerate(starts):
        heard = activity[window, edges[window] - start : edges[window + 1] - start]
        clear = heard.sum(axis=1) == 1
        owners[edges[window] : edges[window + 1]][clear] = tracks[window, heard[clear].argmax(axis=1)]
    return owners


def _frames_by_owner(owners: NDArray[np.int64]) -> list[tuple[int, NDArray[np.int64]]]:
    spoken = np.flatnonzero(owners >= 0)
    if not spoken.size:
        return []
    ordered = spoken[np.argsort(owners[spoken], kind="stable")]
    groups = np.split(ordered, np.flatnonzero(np.diff(owners[ordered])) + 1)
    return [(int(owners[group[0]]), group) for group in groups]


def _within_span(frames: NDArray[np.int64], longest: int) -> list[NDArray[np.int64]]:
    """Cut at the longest pause until no part is longer than ``longest``."""
    if frames[-1] - frames[0] < longest:
        return [frames]
    pauses = np.diff(frames)
    cut = int(pauses.argmax()) + 1 if pauses.max() > 1 else frames.size // 2
    return _within_span(frames[:cut], longest) + _within_span(frames[cut:], longest)


def _weighted(
    activity: NDArray[np.bool_],
    starts: NDArray[np.int64],
    tracks: NDArray[np.int64],
    total: int,
    frames: list[NDArray[np.int64]],
    pieces_of_track: dict[int, list[int]],
) -> Pieces:
    """Count the frames of each piece in each window; whoever has no clear speech is given the best there is."""
    windows, _, speakers = activity.shape
    piece_of_frame = np.full(total, -1)
    for piece, spoken in enumerate(frames):
        piece_of_frame[spoken] = piece
    rows: list[int] = []
    columns: list[int] = []
    counts: list[int] = []
    for window, speaker in zip(*np.nonzero(tracks >= 0), strict=True):
        spoken = starts[window] + np.flatnonzero(activity[window, :, speaker])
        heard = piece_of_frame[spoken]
        pieces, shares = np.unique(heard[heard >= 0], return_counts=True)
        if not pieces.size:
            of_track = pieces_of_track.setdefault(int(tracks[window, speaker]), [])
            if not of_track:  # Somebody who only ever speaks while others do: take it as it is.
                of_track.append(len(frames))
                frames.append(spoken)
            distances = [abs(frames[piece].mean() - spoken.mean()) for piece in of_track]
            pieces, shares = np.array([of_track[int(np.argmin(distances))]]), np.array([spoken.size])
        rows += [int(window) * speakers + int(speaker)] * pieces.size
        columns += pieces.tolist()
        counts += shares.tolist()
    weights = csr_array((np.array(counts, float), (rows, columns)), shape=(windows * speakers, len(frames)))
    return Pieces(tuple(frames), weights)
