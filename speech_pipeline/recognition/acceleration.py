"""What makes recognition faster than the loops of transformers."""

from dataclasses import dataclass

import torch


@dataclass(frozen=True, slots=True)
class Acceleration:
    """How the work is done.

    Attributes:
        lean_loop: greedy and sampled text comes from a loop of our own, which projects the audio once for all that
            looks at it, lets rows leave that have ended, and keeps what word times are made of.
        audio_dtype: precision of the audio's keys and values in that loop, which are most of what it reads; None keeps
            the decoder's.
        static_rows: numbers of rows, in ascending order, for which the loop works between tensors that stay where they
            are, see :mod:`.static_steps`; a smaller batch takes the next larger number, a larger one does without.
    """

    lean_loop: bool = False
    audio_dtype: torch.dtype | None = None
    static_rows: tuple[int, ...] = ()


PLAIN = Acceleration()
"""The loops of transformers."""

GRAPH_ROWS = (1, 2, 4, 8, 16, 32)
"""Numbers of rows that CUDA graphs are made for."""
