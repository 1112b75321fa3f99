"""Samples given as lists or numpy arrays, brought to float32 with full scale 1."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from speech_pipeline.errors import InvalidPayload

_NUMBERS = (int, float, np.integer, np.floating)


def as_frames(values: Sequence[Any] | NDArray[Any]) -> NDArray[Any]:
    """Turn samples into frames, without copying an array.

    Whole numbers of no particular width (a JSON list, an int64 array) are 16-bit PCM as soon as one lies beyond
    [-1, 1]. All others keep their type, whose full scale :func:`to_float` knows.

    Args:
        values: [n], [channels, n] or [n, channels]; the longer axis is time.

    Returns:
        [n, channels] of an integer type of at most 32 bits, or of a float type; n may be 0.

    Raises:
        InvalidPayload: not numbers, of uneven lengths, of more than two dimensions, or whole numbers beyond 16 bits.
    """
    array = values if isinstance(values, np.ndarray) else _array(values)
    if array.dtype.kind not in "iuf":
        raise InvalidPayload("The samples must be real numbers.")
    if array.ndim not in (1, 2):
        raise InvalidPayload("The samples must be a list of numbers, or one such list for each channel.")
    if array.ndim == 1:
        array = array[:, np.newaxis]
    elif array.shape[0] < array.shape[1]:
        array = array.T
    if array.dtype.kind in "iu" and array.dtype.itemsize == 8:
        array = _of_unknown_width(array)
    return array


def to_float(array: NDArray[Any]) -> NDArray[np.float32]:
    """Scale samples by the full scale of their type: int16 by 1/32768, unsigned types around their middle.

    Floats keep their values, infinities and NaN included. The shape stays.
    """
    if array.dtype.kind == "f":
        with np.errstate(over="ignore"):
            return array.astype(np.float32, copy=False)
    half_range = 2.0 ** (8 * array.dtype.itemsize - 1)
    if array.dtype.kind == "u":
        return ((array.astype(np.float64) - half_range) / half_range).astype(np.float32)
    return array.astype(np.float32) * np.float32(1 / half_range)


def _array(values: Sequence[Any]) -> NDArray[Any]:
    """A list, or a list of lists, of numbers. Text that spells a number is no number."""
    rows = values if values and all(isinstance(row, (list, tuple)) for row in values) else (values,)
    kinds = set().union(*(map(type, row) for row in rows))
    if any(kind is bool or not issubclass(kind, _NUMBERS) for kind in kinds):
        raise InvalidPayload("The samples must be numbers: one list, or one list of equal length for each channel.")
    if len({len(row) for row in rows}) > 1:
        raise InvalidPayload("The channels must have equally many samples.")
    whole = bool(kinds) and all(issubclass(kind, (int, np.integer)) for kind in kinds)
    try:
        return np.array(values, dtype=np.int64 if whole else np.float64)
    except OverflowError:
        raise InvalidPayload("The samples hold a number that is too large.") from None


def _of_unknown_width(array: NDArray[Any]) -> NDArray[Any]:
    """Whole numbers: -1, 0 and 1 alone are full scale, all others 16-bit PCM."""
    lowest, highest = (int(array.min()), int(array.max())) if array.size else (0, 0)
    if lowest < -(2**15) or highest > 2**15 - 1:
        raise InvalidPayload("Samples that are whole numbers must be 16-bit PCM, from -32768 to 32767.")
    return array.astype(np.float32 if lowest >= -1 and highest <= 1 else np.int16)
