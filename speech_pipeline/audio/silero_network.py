"""The network of Silero VAD over many frames at once.

As the package runs it, each frame of 32 ms goes through convolutions so short that the calls take longer than the
arithmetic. All of them are linear over one frame, so that each is one matrix, and a recording is a few products of
large matrices, followed by a recurrence.
"""

import importlib.util
from collections.abc import Callable
from functools import partial
from pathlib import Path

import torch
from torch import Tensor, nn
from torch.nn.functional import conv1d, pad

from speech_pipeline.errors import ModelUnavailable

FRAME_SAMPLES = 512
"""Samples of one frame at 16 kHz."""

CONTEXT_SAMPLES = 64
"""Samples of the frame before that a frame is seen with."""

_BLOCK_FRAMES = 512
_WIDTH = 128

State = tuple[Tensor, Tensor]
"""What the recurrence remembers, float32 [1, 1, 128] each."""


class SileroNetwork:
    """Silero VAD (MIT licence) with the weights of the ``silero-vad`` package, at 16 kHz."""

    def __init__(self) -> None:
        """Load the weights.

        Raises:
            ModelUnavailable: the package is not installed, or holds another network.
        """
        try:
            weights = _weights()
            self._spectrum, _ = _matrix(partial(_stft, basis=weights["stft.forward_basis_buffer"]), 1, 576)
            self._layers = [
                _matrix(
                    partial(
                        conv1d,
                        weight=weights[f"encoder.{number}.reparam_conv.weight"],
                        bias=weights[f"encoder.{number}.reparam_conv.bias"],
                        stride=stride,
                        padding=1,
                    ),
                    channels,
                    length,
                )
                for number, (channels, length, stride) in enumerate(((129, 4, 1), (128, 4, 2), (64, 2, 2), (64, 1, 1)))
            ]
            self._recurrence = nn.LSTM(_WIDTH, _WIDTH).requires_grad_(False)
            for name in ("weight_ih", "weight_hh", "bias_ih", "bias_hh"):
                getattr(self._recurrence, f"{name}_l0").copy_(weights[f"decoder.rnn.{name}"])
            self._output, self._bias = weights["decoder.decoder.2.weight"].flatten(), weights["decoder.decoder.2.bias"]
        except (KeyError, RuntimeError) as error:
            raise ModelUnavailable(
                "The installed silero-vad holds a network of another shape; install the version in requirements.txt."
            ) from error

    @torch.inference_mode()
    def speech(self, frames: Tensor, state: State | None = None) -> tuple[Tensor, State]:
        """The probability of speech in each frame.

        Args:
            frames: float32 [frames, 576], each with the 64 samples before it; at least one.
            state: what is remembered of the frames before; None at the start of a recording.

        Returns:
            float32 [frames], and what is remembered of these frames.
        """
        features = []
        # In blocks that stay in the processor's cache.
        for block in frames.split(_BLOCK_FRAMES):
            real, imaginary = (block @ self._spectrum).view(-1, 258, 4).split(129, dim=1)
            hidden = torch.hypot(real, imaginary).flatten(1)
            for matrix, bias in self._layers:
                hidden = torch.addmm(bias, hidden, matrix).relu_()
            features.append(hidden)
        outputs, state = self._recurrence(torch.cat(features)[:, None], state)
        return torch.sigmoid(outputs[:, 0].relu() @ self._output + self._bias), state


def _stft(frames: Tensor, basis: Tensor) -> Tensor:
    """Real and imaginary parts, [frames, 258, 4], of frames [frames, 1, 576]."""
    return conv1d(pad(frames, (0, CONTEXT_SAMPLES), mode="reflect"), basis, stride=128)


def _matrix(operation: Callable[[Tensor], Tensor], channels: int, length: int) -> tuple[Tensor, Tensor]:
    """An affine operation on [rows, channels, length] as a matrix [inputs, outputs] and what it adds, [outputs]."""
    bias = operation(torch.zeros(1, channels, length)).flatten()
    return operation(torch.eye(channels * length).view(-1, channels, length)).flatten(1) - bias, bias


def _weights() -> dict[str, Tensor]:
    """Those of the network for 16 kHz, read without importing ``silero_vad``, which sets torch to one thread."""
    spec = importlib.util.find_spec("silero_vad")
    if spec is None or not spec.submodule_search_locations:
        raise ModelUnavailable("Voice activity detection needs the package silero-vad; install requirements.txt.")
    file = Path(spec.submodule_search_locations[0]) / "data" / "silero_vad.jit"
    prefix = "_model."
    weights = torch.jit.load(file, map_location="cpu").state_dict()
    return {name.removeprefix(prefix): tensor for name, tensor in weights.items() if name.startswith(prefix)}
