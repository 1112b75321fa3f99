"""Whisper's encoder as one function that can be compiled, all of its length known ahead."""

from collections.abc import Callable
from typing import cast

import torch
from torch import Tensor, nn
from torch._dynamo.exc import BackendCompilerFailed, ShortenTraceback

from speech_pipeline.errors import InvalidSettings


def compiled_encoder(encoder: nn.Module, mel_bins: int) -> Callable[[Tensor], Tensor]:
    """:func:`encode` compiled for windows of 30 s, which takes about half a minute.

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
        return encode(encoder, features)

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


def encode(encoder: nn.Module, features: Tensor) -> Tensor:
    """Log-mel features to what the decoder attends to.

    Args:
        encoder: Whisper's encoder.
        features: [rows, mel bins, 3000] in the encoder's dtype.

    Returns:
        [rows, 1500, width], in the encoder's dtype.
    """
    part = encoder.get_submodule
    gelu = nn.functional.gelu
    hidden = gelu(part("conv2")(gelu(part("conv1")(features)))).transpose(1, 2)
    hidden = hidden + encoder.get_parameter("embed_positions.weight")
    for layer in part("layers").children():
        attention = layer.get_submodule("self_attn")
        activate = cast("Callable[[Tensor], Tensor]", layer.activation_fn)
        normed = layer.get_submodule("self_attn_layer_norm")(hidden)
        queries, keys, values = (
            attention.get_submodule(name)(normed).unflatten(-1, (attention.num_heads, -1)).transpose(1, 2)
            for name in ("q_proj", "k_proj", "v_proj")
        )
        mixed = nn.functional.scaled_dot_product_attention(queries, keys, values)
        hidden = hidden + attention.get_submodule("out_proj")(mixed.transpose(1, 2).flatten(2))
        inner = activate(layer.get_submodule("fc1")(layer.get_submodule("final_layer_norm")(hidden)))
        hidden = hidden + layer.get_submodule("fc2")(inner)
        if hidden.dtype == torch.float16:
            # The sums of the largest models leave the range of float16.
            limit = torch.finfo(torch.float16).max - 1000
            hidden = hidden.clamp(-limit, limit)
    return part("layer_norm")(hidden)
