"""How precise each part of Whisper is, chosen by measuring the machine once."""

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import torch
from torch import nn

from speech_pipeline.recognition.int8_attention import attend
from speech_pipeline.recognition.int8_linear import Int8Linear, multiplies_exactly

_WORTH_IT = 0.8
"""What is less precise must take at most this part of the time to be chosen."""

_TRIALS = 6
"""Runs of each candidate."""

_DECODER_LAYERS = 16


@dataclass(frozen=True, slots=True)
class Precision:
    """Number formats.

    Attributes:
        encoder: of the encoder's weights and of what it computes.
        decoder: of the decoder's weights and of what it computes, where those are not int8.
        int8_encoder: whether the linear layers of the encoder are int8.
        int8_decoder: whether those of the decoder are.
        audio: of the keys and values of the audio, which the decoder reads again for every token.
    """

    encoder: torch.dtype
    decoder: torch.dtype
    int8_encoder: bool = False
    int8_decoder: bool = False
    audio: torch.dtype | None = None


def resolve_precision(name: str, device: torch.device) -> Precision:
    """The precision a setting asks for.

    Args:
        name: ``float32``, ``float16`` or ``bfloat16`` for everything; ``auto`` for what the device is fastest in,
            which on a CPU is found by measuring and may be a mixture with 8-bit integers.
        device: where the networks run.
    """
    if name != "auto":
        dtype = {"float32": torch.float32, "float16": torch.float16, "bfloat16": torch.bfloat16}[name]
        return Precision(encoder=dtype, decoder=dtype)
    if device.type == "cuda":
        dtype = torch.bfloat16 if torch.cuda.is_bf16_supported(including_emulation=False) else torch.float16
        return Precision(encoder=dtype, decoder=dtype)
    if device.type == "cpu":
        return _measured()
    return Precision(encoder=torch.float32, decoder=torch.float32)


@torch.inference_mode()
def _measured() -> Precision:
    """The fastest for the shapes of Whisper base: a window in the encoder, a step of a batch in the decoder."""
    layers: dict[str, nn.Module] = {"whole": nn.Linear(512, 2_048)}
    layers["half"] = nn.Linear(512, 2_048, dtype=torch.bfloat16)
    steps: dict[str, list[nn.Module]] = {"whole": [nn.Linear(512, 2_048) for _ in range(_DECODER_LAYERS)]}
    if multiplies_exactly():
        layers["int8"] = Int8Linear(nn.Linear(512, 2_048))
        steps["int8"] = [Int8Linear(nn.Linear(512, 2_048)) for _ in range(_DECODER_LAYERS)]
    encoder = _fastest({name: _encoder_layer(layer) for name, layer in layers.items()})
    decoder = _fastest({name: partial(_step, each) for name, each in steps.items()})
    return Precision(
        encoder=torch.bfloat16 if encoder == "half" else torch.float32,
        decoder=torch.float32,
        int8_encoder=encoder == "int8",
        int8_decoder=decoder == "int8",
        audio={"whole": torch.float32, "half": torch.bfloat16, "int8": torch.int8}[_fastest(_readings_of_audio())],
    )


def _encoder_layer(linear: nn.Module) -> Callable[[], object]:
    """What takes about as long as a layer of the encoder: three such products, and attention in the same format."""
    frames = torch.zeros(1_500, 512, dtype=next((weight.dtype for weight in linear.parameters()), torch.float32))

    def work() -> None:
        for _ in range(3):
            outputs = linear(frames)
        heads = outputs[:, :512].reshape(1, 8, 1_500, 64)
        nn.functional.scaled_dot_product_attention(heads, heads, heads)

    return work


def _step(layers: Sequence[nn.Module]) -> None:
    """A step of a batch through layers whose weights are too many to stay near the processor."""
    rows = torch.zeros(16, 512)
    for layer in layers:
        layer(rows)


def _readings_of_audio() -> dict[str, Callable[[], object]]:
    """A batch's attention to the audio in one layer, from keys and values in each format."""
    queries, keys, values = torch.zeros(16, 8, 1, 64), torch.zeros(16, 8, 64, 1_500), torch.zeros(16, 8, 1_500, 64)

    def in_floats(dtype: torch.dtype) -> Callable[[], object]:
        some, more, most = queries.to(dtype), keys.to(dtype), values.to(dtype)
        return lambda: torch.softmax(some @ more, dim=-1) @ most

    query, *integers = queries.view(-1, 64), keys.to(torch.int8).flatten(0, 1), values.to(torch.int8).flatten(0, 1)
    return {
        "whole": in_floats(torch.float32),
        "half": in_floats(torch.bfloat16),
        "int8": lambda: attend(query, *integers),
    }


def _fastest(candidates: Mapping[str, Callable[[], object]]) -> str:
    """The first, unless others, tried in turn, take clearly less time in their shortest run."""
    seconds = dict.fromkeys(candidates, math.inf)
    for _ in range(_TRIALS):
        for name, work in candidates.items():
            start = time.perf_counter()
            work()
            seconds[name] = min(seconds[name], time.perf_counter() - start)
    first = next(iter(seconds))
    return min(seconds, key=lambda name: seconds[name] * (1 if name == first else 1 / _WORTH_IT))
