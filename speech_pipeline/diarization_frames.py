"""From windows to the frames of the whole recording: who is active where, and who is heard."""

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from pyannote.core import SlidingWindow, SlidingWindowFeature


def window_starts(segmentation: "SlidingWindowFeature", grid: "SlidingWindow") -> NDArray[np.int64]:
    """The frame of the recording at which each window starts: int64 [windows]."""
    windows = segmentation.sliding_window
    middles = (windows[index].start + 0.5 * grid.duration for index in range(len(segmentation.data)))
    return np.array([grid.closest_frame(middle) for middle in middles])


def speakers_at_once(
    activity: NDArray[np.bool_], starts: NDArray[np.int64], weights: NDArray[np.float32]
) -> NDArray[np.int64]:
    """How many speak in each frame of the recording, by the weighted mean of the windows: int64 [total].

    Args:
        activity: [windows, frames, speakers], who speaks.
        starts: [windows], the frame of the recording at which each window starts.
        weights: float32 [frames], what each frame of a window counts, more than 0.
    """
    total = starts[-1] + len(weights)
    summed, weight = np.zeros(total, np.float32), np.zeros(total, np.float32)
    for window, start in zip(activity, starts, strict=True):
        summed[start : start + len(weights)] += weights * window.sum(axis=1)
        weight[start : start + len(weights)] += weights
    return np.rint(summed / np.maximum(weight, np.finfo(np.float32).tiny)).astype(np.int64)


def activations(
    segmentation: NDArray[np.float32],
    clusters: NDArray[np.int64],
    starts: NDArray[np.int64],
    weights: NDArray[np.float32],
) -> NDArray[np.float32]:
    """How much each cluster speaks in each frame of the recording, summed over the windows.

    Args:
        segmentation: float32 [windows, frames, speakers], how much each speaker of a window speaks.
        clusters: [windows, speakers], the cluster of each, -2 for those who do not speak.
        starts: [windows], the frame of the recording at which each window starts.
        weights: float32 [frames], what each frame of a window counts.

    Returns:
        float32 [total, clusters].
    """
    summed = np.zeros((starts[-1] + len(weights), max(1, int(clusters.max()) + 1)), np.float32)
    for window, of_window, start in zip(segmentation, clusters, starts, strict=True):
        for cluster in set(of_window.tolist()) - {-2}:
            heard = window[:, of_window == cluster].max(axis=1)
            summed[start : start + len(weights), cluster] += weights * heard
    return summed


def loudest(activations: NDArray[np.float32], count: NDArray[np.int64]) -> NDArray[np.float32]:
    """Mark in each frame as many clusters as speak in it, the most active first.

    Where fewer are active than were counted, fewer are marked; pyannote marks any others.

    Args:
        activations: float32 [frames, clusters].
        count: [frames], how many speak.

    Returns:
        0 and 1, float32 [frames, clusters].
    """
    order = np.argsort(-activations, axis=1, kind="stable")
    ranks = np.empty_like(order)
    np.put_along_axis(ranks, order, np.arange(activations.shape[1])[None, :], axis=1)
    return ((ranks < count[:, None]) & (activations > 0)).astype(np.float32)
