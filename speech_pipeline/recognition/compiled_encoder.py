"""Whisper's encoder, compiled."""

from collections.abc import Callable
from typing import cast

import torch
from torch import Tensor, nn
from torch._dynamo.exc import BackendCompilerFailed, ShortenTraceback

from speech_pipeline.errors import InvalidSettings


def compiled_encoder(encoder: nn.Module, mel_bins: int) -> Callable[[Tensor], Tensor]:
    """Compile the encoder for windows of 30 s, which takes about half a minute.

    Args:
        encoder: Whisper's encoder, where and in the precision it is to work.
        mel_bins: of the features.

    Returns:
        Features [rows, mel bins, 3000] to encoder output [rows, 1500, width].

    Raises:
        InvalidSettings: what compiling needs is not on this machine.
    """
    weight = next(encoder.parameters())
    # On a CPU windows come one at a time, elsewhere in batches of any size.
    in_batches = weight.device.type != "cpu"

    def work(features: Tensor) -> Tensor:
        return cast("Tensor", encoder(features).last_hidden_state)

    compiled = torch.compile(work, dynamic=in_batches)
    try:
        with torch.inference_mode():
            # One row and several are compiled apart.
            for rows in (1, 2) if in_batches else (1,):
                compiled(torch.zeros(rows, mel_bins, 3_000, dtype=weight.dtype, device=weight.device))
    except (BackendCompilerFailed, ShortenTraceback) as error:
        raise InvalidSettings(
            "COMPILE_ENCODER needs a C++ compiler, and on a GPU Triton; install them or leave it out."
        ) from error
    return compiled
