"""The first layer of pyannote's segmentation network, computed once for the windows that overlap.

The layer, a bank of band-pass filters of 251 samples, is a third of the network's work on a CPU, and its windows share
most of their audio. Each window is normalised before it is filtered; as the filters are linear, what they make of the
normalised window follows from what they make of the recording.
"""

import functools
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional


def share_filters(model: Any) -> None:
    """Make a segmentation network filter overlapping windows together; networks of other kinds are left as they are.

    Windows are seen to overlap when they are views of one recording; copies, as on a GPU, are computed as before.
    The result is the same but for rounding.
    """
    from pyannote.audio.models.blocks.sincnet import SincNet

    sincnet = getattr(model, "sincnet", None)
    if isinstance(sincnet, SincNet):
        layers: Any = sincnet
        layers.forward = functools.partial(_forward, layers)


def _forward(sincnet: Any, windows: Tensor) -> Tensor:
    """What ``SincNet.forward`` computes.

    Args:
        sincnet: the layers.
        windows: float32 [windows, 1, samples].
    """
    hop = windows.stride(0)
    if len(windows) == 1 or windows.stride(2) != 1 or not 0 < hop < windows.shape[2] or hop % sincnet.stride:
        return torch.as_tensor(type(sincnet).forward(sincnet, windows))
    outputs = functional.max_pool1d(_filtered(sincnet, windows, hop).abs_(), 3)
    outputs = functional.leaky_relu(sincnet.norm1d[0](outputs))
    for convolution, pool, norm in zip(sincnet.conv1d[1:], sincnet.pool1d[1:], sincnet.norm1d[1:], strict=True):
        outputs = functional.leaky_relu(norm(pool(convolution(outputs))))
    return outputs


def _filtered(sincnet: Any, windows: Tensor, hop: int) -> Tensor:
    """The filters' answer to each normalised window: [windows, filters, frames]."""
    count, _, length = windows.shape
    recording = windows.as_strided((1, 1, (count - 1) * hop + length), (0, 0, 1))
    norm, bank = sincnet.wav_norm1d, sincnet.conv1d[0]
    filters = bank.get_filters()
    answer = functional.conv1d(recording, filters, stride=sincnet.stride)[0]
    frames = (length - filters.shape[2]) // sincnet.stride + 1
    answers = answer.unfold(1, frames, hop // sincnet.stride).transpose(0, 1)
    variance, mean = torch.var_mean(windows, dim=2, correction=0)
    scale = norm.weight / torch.sqrt(variance + norm.eps)
    offset = (norm.bias - mean * scale) * filters.sum(dim=(1, 2))
    return torch.addcmul(offset[:, :, None], answers, scale[:, :, None])
