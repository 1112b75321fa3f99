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
    """

    lean_loop: bool = False
    audio_dtype: torch.dtype | None = None


PLAIN = Acceleration()
"""The loops of transformers."""
