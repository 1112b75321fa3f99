"""Floats rounded to 8-bit integers."""

import torch
from torch import Tensor

LARGEST = 127.0

ZERO = 128
"""What 0 is as uint8."""


def round_to_int8(values: Tensor, axis: int = -1) -> tuple[Tensor, Tensor]:
    """Round to int8, with one scale for all that lies along an axis.

    Args:
        values: float32.
        axis: along which values share a scale.

    Returns:
        int8 of the same shape, and scales that give the values back, float32, in which the axis has length 1.
    """
    scale = _scale(values, axis)
    return (values / scale).round_().to(torch.int8), scale


def round_to_uint8(values: Tensor) -> tuple[Tensor, Tensor]:
    """Round rows to uint8, where :data:`ZERO` stands for 0; the products of a matrix are fastest so on all processors.

    Args:
        values: float32 [rows, values].

    Returns:
        uint8 of the same shape, and scales float32 [rows, 1].
    """
    scale = _scale(values, -1)
    return (values / scale).round_().add_(ZERO).to(torch.uint8), scale


def _scale(values: Tensor, axis: int) -> Tensor:
    return values.abs().amax(dim=axis, keepdim=True).clamp_min_(1e-12).mul_(1 / LARGEST)
