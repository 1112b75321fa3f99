"""Floats rounded to 8-bit integers."""

import torch
from torch import Tensor

LARGEST = 127.0


def round_to_int8(values: Tensor, axis: int = -1) -> tuple[Tensor, Tensor]:
    """Round to int8, with one scale for all that lies along an axis.

    Args:
        values: float32.
        axis: along which values share a scale.

    Returns:
        int8 of the same shape, and scales that give the values back, float32, in which the axis has length 1.
    """
    scale = values.abs().amax(dim=axis, keepdim=True).clamp_min_(1e-12).mul_(1 / LARGEST)
    return (values / scale).round_().to(torch.int8), scale
