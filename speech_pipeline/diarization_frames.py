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


def activations(
    segmentation: NDArray[np.float32], clusters: NDArray[np.int64], starts: NDArray[np.int64], total: int
) -> NDArray[np.float32]:
    """How much each cluster speaks in each frame of the recording, summed over the windows.

    Args:
        segmentation: float32 [windows, frames, speakers], how much each speaker of a window speaks.
        clusters: [windows, speakers], the cluster of each, -2 for those who do not speak.
        starts: [windows], the frame of the recording at which each window starts.
        total: frames of the recording.

    Returns:
        float32 [total, clusters].
    """
    summed = np.zeros((total, max(1, int(clusters.max()) + 1)), np.float32)
    for window, of_window, start in zip(segmentation, clusters, starts, strict=True):
        heard = summed[start : start + len(window)]
        for cluster in set(of_window.tolist()) - {-2}:
            heard[:, cluster] += window[: len(heard), of_window == cluster].max(axis=1)
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
