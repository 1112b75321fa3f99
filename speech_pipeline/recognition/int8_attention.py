"""Attention of a query over keys and values in 8-bit integers, compiled.

A step of the decoder reads all keys and values of the audio for a single query, so that its time is that of reading
them from memory. A byte an element is half of what bfloat16 takes.
"""

import threading

import numba
import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

BLOCK = 8
"""Elements of a head that are taken at once; the width of a head must be a multiple of it, as in every real Whisper."""

# The threads of numba's plainest layer serve one caller at a time.
_ONE_AT_A_TIME = threading.Lock()


def attend(queries: Tensor, keys: Tensor, values: Tensor) -> Tensor:
    """Softmax of queries times keys, times values.

    Args:
        queries: float32 [pairs, width], the scales of the keys multiplied in; the width is a multiple of ``BLOCK``.
        keys: int8 [pairs, width, frames].
        values: int8 [pairs, frames, width].

    Returns:
        float32 [pairs, width], the scales of the values still to be multiplied in.
    """
    mixed = torch.empty_like(queries)
    queries, keys, values = queries.contiguous(), keys.contiguous(), values.contiguous()
    with _ONE_AT_A_TIME:
        threads = torch.get_num_threads()
        most = numba.config.NUMBA_NUM_THREADS  # type: ignore[attr-defined]  # its names are made at import
        numba.set_num_threads(min(threads, most))
        # Where numba starts its threads, it changes how many OpenMP gives to torch.
        if torch.get_num_threads() != threads:
            torch.set_num_threads(threads)
        _attend(queries.numpy(), keys.numpy(), values.numpy(), mixed.numpy())
    return mixed


# Without a cache on disk: the folder of a deployed package may not be writable. It is compiled at the first call.
@numba.njit(parallel=True, fastmath=True, error_model="numpy")
def _attend(
    queries: NDArray[np.float32], keys: NDArray[np.int8], values: NDArray[np.int8], mixed: NDArray[np.float32]
) -> None:
    for pair in numba.prange(queries.shape[0]):
        weights = np.zeros(keys.shape[2], np.float32)
        _score(queries[pair], keys[pair], weights)
        total = _exponentiate(weights)
        _mix(weights, values[pair], mixed[pair])
        for place in range(mixed.shape[1]):
            mixed[pair, place] /= total


# Blocks are written out, since the compiler keeps them in registers then. Without np.float32 products are doubles.
@numba.njit(fastmath=True, error_model="numpy")
def _score(query: NDArray[np.float32], keys: NDArray[np.int8], weights: NDArray[np.float32]) -> None:
    """Add the products of a query and the keys, [width, frames], to weights."""
    for d in range(0, query.size, BLOCK):
        a, b, c, e = query[d], query[d + 1], query[d + 2], query[d + 3]
        f, g, h, i = query[d + 4], query[d + 5], query[d + 6], query[d + 7]
        for t in range(weights.size):
            weights[t] += (
                a * np.float32(keys[d, t])
                + b * np.float32(keys[d + 1, t])
                + c * np.float32(keys[d + 2, t])
                + e * np.float32(keys[d + 3, t])
                + f * np.float32(keys[d + 4, t])
                + g * np.float32(keys[d + 5, t])
                + h * np.float32(keys[d + 6, t])
                + i * np.float32(keys[d + 7, t])
            )


@numba.njit(fastmath=True, error_model="numpy")
def _exponentiate(scores: NDArray[np.float32]) -> np.float32:
    """Replace scores by exp(score - highest); returns their sum.

    2**x is a polynomial for the fraction of x, whose exponent then grows by the whole part: exp of the C library is a
    call for each value, which keeps the loop from being vectorised. The relative error is below 1e-6.
    """
    highest = scores[0]
    for t in range(scores.size):
        highest = max(highest, scores[t])
    whole = np.empty(scores.size, np.int32)
    for t in range(scores.size):
        power = max((scores[t] - highest) * np.float32(1.4426950408889634), np.float32(-120.0))
        floor = np.floor(power)
        x = (power - floor) * np.float32(0.6931471805599453)
        whole[t] = np.int32(floor)
        # Taylor's series of exp on [0, ln 2].
        y = np.float32(1 / 720) + x * (np.float32(1 / 5040) + x * np.float32(1 / 40320))
        y = np.float32(1 / 6) + x * (np.float32(1 / 24) + x * (np.float32(1 / 120) + x * y))
        scores[t] = np.float32(1) + x * (np.float32(1) + x * (np.float32(1 / 2) + x * y))
    bits = scores.view(np.int32)
    for t in range(scores.size):
        bits[t] += whole[t] << 23
    total = np.float32(0)
    for t in range(scores.size):
        total += scores[t]
    return total


@numba.njit(fastmath=True, error_model="numpy")
def _mix(weights: NDArray[np.float32], values: NDArray[np.int8], mixed: NDArray[np.float32]) -> None:
    """The weighted sum of values, [frames, width]."""
    mixed[:] = 0
    whole = weights.size - weights.size % 4
    for t in range(0, whole, 4):
        a, b, c, e = weights[t], weights[t + 1], weights[t + 2], weights[t + 3]
        for d in range(mixed.size):
            mixed[d] += (
                a * np.float32(values[t, d])
                + b * np.float32(values[t + 1, d])
                + c * np.float32(values[t + 2, d])
                + e * np.float32(values[t + 3, d])
            )
    for t in range(whole, weights.size):
        for d in range(mixed.size):
            mixed[d] += weights[t] * np.float32(values[t, d])
