"""CAM++, the network that turns a stretch of speech into a speaker embedding, and its export to ONNX.

Source: H. Wang et al., "CAM++: A Fast and Efficient Network for Speaker Verification Using Context-Aware Masking",
https://arxiv.org/abs/2303.00332. Names of the parameters are those of the published 3D-Speaker checkpoints.
"""

import warnings
from collections import OrderedDict
from pathlib import Path

import torch
from torch import Tensor, nn
from torch.nn import functional

MEL_BINS = 80
EMBEDDING_SIZE = 192

_GROWTH = 32
_BOTTLENECK = 128
_CONTEXT_FRAMES = 100
_BLOCKS = ((12, 1), (24, 2), (16, 2))
"""Layers and dilation of each densely connected block."""


class CAMPlusPlus(nn.Module):
    """Log-mel features [batch, frames, 80], mean-normalised over the frames, to embeddings [batch, 192]."""

    def __init__(self) -> None:
        super().__init__()
        self.head = _ConvolutionHead()
        layers: list[tuple[str, nn.Module]] = [("tdnn", _Tdnn(self.head.channels, 128))]
        channels = 128
        for number, (depth, dilation) in enumerate(_BLOCKS, start=1):
            layers.append((f"block{number}", _DenseBlock(depth, channels, dilation)))
            channels += depth * _GROWTH
            layers.append((f"transit{number}", _Transition(channels, channels // 2)))
            channels //= 2
        layers += [
            ("out_nonlinear", _activation(channels)),
            ("stats", _StatisticsPooling()),
            ("dense", _Embedding(2 * channels)),
        ]
        self.xvector = nn.Sequential(OrderedDict(layers))

    def forward(self, features: Tensor) -> Tensor:
        return self.xvector(self.head(features.transpose(1, 2)))


def export_to_onnx(network: CAMPlusPlus, destination: Path) -> None:
    """Write the network as ONNX: ``feats`` float32 [batch, frames, 80] to ``embs`` float32 [batch, 192]."""
    with warnings.catch_warnings():
        # The exporter by tracing needs no further package; torch recommends the other one with a DeprecationWarning.
        warnings.simplefilter("ignore")
        torch.onnx.export(
            network.eval(),
            (torch.zeros(1, 300, MEL_BINS),),
            str(destination),
            input_names=["feats"],
            output_names=["embs"],
            dynamic_axes={"feats": {0: "batch", 1: "frames"}, "embs": {0: "batch"}},
            opset_version=17,
            dynamo=False,
        )


class _ConvolutionHead(nn.Module):
    """Two-dimensional convolutions over frequency and time, which divide the frequency resolution by eight."""

    channels = 32 * (MEL_BINS // 8)

    def __init__(self) -> None:
        super().__init__()
        self.conv1 = _convolution(1, 32)
        self.bn1 = nn.BatchNorm2d(32)
        self.layer1 = nn.Sequential(_ResidualBlock(halve=True), _ResidualBlock(halve=False))
        self.layer2 = nn.Sequential(_ResidualBlock(halve=True), _ResidualBlock(halve=False))
        self.conv2 = _convolution(32, 32, halve=True)
        self.bn2 = nn.BatchNorm2d(32)

    def forward(self, mel: Tensor) -> Tensor:
        """[batch, 80, frames] to [batch, 320, frames]."""
        out = functional.relu(self.bn1(self.conv1(mel.unsqueeze(1))))
        out = self.layer2(self.layer1(out))
        return functional.relu(self.bn2(self.conv2(out))).flatten(1, 2)


class _ResidualBlock(nn.Module):
    def __init__(self, *, halve: bool) -> None:
        super().__init__()
        self.conv1 = _convolution(32, 32, halve=halve)
        self.bn1 = nn.BatchNorm2d(32)
        self.conv2 = _convolution(32, 32)
        self.bn2 = nn.BatchNorm2d(32)
        self.shortcut = nn.Sequential()
        if halve:
            self.shortcut = nn.Sequential(nn.Conv2d(32, 32, 1, stride=(2, 1), bias=False), nn.BatchNorm2d(32))

    def forward(self, x: Tensor) -> Tensor:
        out = functional.relu(self.bn1(self.conv1(x)))
        return functional.relu(self.bn2(self.conv2(out)) + self.shortcut(x))


class _Tdnn(nn.Module):
    """Time-delay layer that halves the frame rate."""

    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__()
        self.linear = nn.Conv1d(inputs, outputs, 5, stride=2, padding=2, bias=False)
        self.nonlinear = _activation(outputs)

    def forward(self, x: Tensor) -> Tensor:
        return self.nonlinear(self.linear(x))


class _DenseBlock(nn.ModuleDict):
    """Layers that each append 32 channels to what they are given."""

    def __init__(self, depth: int, channels: int, dilation: int) -> None:
        super().__init__({f"tdnnd{n + 1}": _DenseLayer(channels + n * _GROWTH, dilation) for n in range(depth)})

    def forward(self, x: Tensor) -> Tensor:
        for layer in self.values():
            x = torch.cat([x, layer(x)], dim=1)
        return x


class _DenseLayer(nn.Module):
    def __init__(self, inputs: int, dilation: int) -> None:
        super().__init__()
        self.nonlinear1 = _activation(inputs)
        self.linear1 = nn.Conv1d(inputs, _BOTTLENECK, 1, bias=False)
        self.nonlinear2 = _activation(_BOTTLENECK)
        self.cam_layer = _ContextAwareMasking(dilation)

    def forward(self, x: Tensor) -> Tensor:
        return self.cam_layer(self.nonlinear2(self.linear1(self.nonlinear1(x))))


class _ContextAwareMasking(nn.Module):
    """Local convolution whose channels are weighted by the mean of the whole input plus that of 100-frame segments."""

    def __init__(self, dilation: int) -> None:
        super().__init__()
        self.linear_local = nn.Conv1d(_BOTTLENECK, _GROWTH, 3, padding=dilation, dilation=dilation, bias=False)
        self.linear1 = nn.Conv1d(_BOTTLENECK, _BOTTLENECK // 2, 1)
        self.linear2 = nn.Conv1d(_BOTTLENECK // 2, _GROWTH, 1)

    def forward(self, x: Tensor) -> Tensor:
        context = x.mean(dim=-1, keepdim=True) + _segment_means(x)
        mask = torch.sigmoid(self.linear2(functional.relu(self.linear1(context))))
        return self.linear_local(x) * mask


class _Transition(nn.Module):
    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__()
        self.nonlinear = _activation(inputs)
        self.linear = nn.Conv1d(inputs, outputs, 1, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        return self.linear(self.nonlinear(x))


class _StatisticsPooling(nn.Module):
    """[batch, channels, frames] to mean and standard deviation over time, [batch, 2 * channels, 1]."""

    def forward(self, x: Tensor) -> Tensor:
        return torch.cat([x.mean(dim=-1, keepdim=True), x.std(dim=-1, keepdim=True)], dim=1)


class _Embedding(nn.Module):
    def __init__(self, inputs: int) -> None:
        super().__init__()
        self.linear = nn.Conv1d(inputs, EMBEDDING_SIZE, 1, bias=False)
        self.nonlinear = nn.Sequential(OrderedDict(batchnorm=nn.BatchNorm1d(EMBEDDING_SIZE, affine=False)))

    def forward(self, x: Tensor) -> Tensor:
        return self.nonlinear(self.linear(x)).squeeze(-1)


def _convolution(inputs: int, outputs: int, *, halve: bool = False) -> nn.Conv2d:
    """3 by 3 convolution; ``halve`` divides the frequency resolution by two and leaves time as it is."""
    return nn.Conv2d(inputs, outputs, 3, stride=(2, 1) if halve else 1, padding=1, bias=False)


def _activation(channels: int) -> nn.Sequential:
    return nn.Sequential(OrderedDict(batchnorm=nn.BatchNorm1d(channels), relu=nn.ReLU()))


def _segment_means(x: Tensor) -> Tensor:
    """Each frame replaced by the mean of its 100-frame segment; the last segment may be shorter.

    The padding has a fixed size, so that the exported graph takes any number of frames.
    """
    frames = x.shape[-1]
    padding = (0, _CONTEXT_FRAMES - 1)
    totals = functional.avg_pool1d(functional.pad(x, padding), _CONTEXT_FRAMES)
    shares = functional.avg_pool1d(functional.pad(torch.ones_like(x[:1, :1]), padding), _CONTEXT_FRAMES)
    means = totals / shares
    return means.unsqueeze(-1).expand(-1, -1, -1, _CONTEXT_FRAMES).flatten(2)[..., :frames]
