"""The median of seven neighbours along a row, compiled."""

import numba
import numpy as np
from numpy.typing import NDArray

WIDTH = 7
"""How many neighbours, the value itself among them."""


def median_filter(rows: NDArray[np.float32]) -> NDArray[np.float32]:
    """Replace each value by the median of itself and the three on either side.

    Args:
        rows: float32 [rows, values], finite; the first and the last value are repeated beyond the ends.

    Returns:
        float32 [rows, values].
    """
    padded = np.pad(rows, ((0, 0), (WIDTH // 2, WIDTH // 2)), mode="edge")
    filtered = np.empty_like(rows)
    _filter(padded, filtered)
    return filtered


# Without a cache on disk: the folder of a deployed package may not be writable. It is compiled at the first call.
# With fastmath, since a NaN never occurs and comparing for it keeps the loop from being vectorised.
@numba.njit(nogil=True, fastmath=True)
def _filter(padded: NDArray[np.float32], filtered: NDArray[np.float32]) -> None:
    """A sorting network that orders no more than the middle of seven needs (Devillard 1998, "Fast median search")."""
    for row in range(filtered.shape[0]):
        values = padded[row]
        for place in range(filtered.shape[1]):
            a, b, c, d = values[place], values[place + 1], values[place + 2], values[place + 3]
            e, f, g = values[place + 4], values[place + 5], values[place + 6]
            a, f = min(a, f), max(a, f)
            a, d = min(a, d), max(a, d)
            b, g = min(b, g), max(b, g)
            c, e = min(c, e), max(c, e)
            a, b = min(a, b), max(a, b)
            d, f = min(d, f), max(d, f)
            c, g = min(c, g), max(c, g)
            c, d = min(c, d), max(c, d)
            d, g = min(d, g), max(d, g)
            e, f = min(e, f), max(e, f)
            b, e = min(b, e), max(b, e)
            b, d = min(b, d), max(b, d)
            filtered[row, place] = min(d, e)
