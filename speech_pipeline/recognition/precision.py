"""How precise each part of Whisper is, chosen by measuring the machine once."""

import time
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import nn

from speech_pipeline.recognition.int8_attention import attend
from speech_pipeline.recognition.int8_linear import Int8Linear, multiplies_exactly

_WORTH_IT = 0.8
"""What is less precise must take at most this part of the time to be chosen."""


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
    frames, rows = torch.zeros(1_500, 512), torch.zeros(16, 512)
    layer = nn.Linear(512, 2_048)
    half_layer = nn.Linear(512, 2_048, dtype=torch.bfloat16)
    half_frames = frames.bfloat16()
    integers = Int8Linear(layer)
    whole = _seconds(lambda: layer(frames))
    half = _seconds(lambda: half_layer(half_frames))
    whole_step = _seconds(lambda: layer(rows))
    exact = multiplies_exactly()
    int8_encoder = exact and _seconds(lambda: integers(frames)) < _WORTH_IT * min(half, whole)
    return Precision(
        encoder=torch.bfloat16 if half < _WORTH_IT * whole and not int8_encoder else torch.float32,
        decoder=torch.float32,
        int8_encoder=int8_encoder,
        int8_decoder=exact and _seconds(lambda: integers(rows)) < _WORTH_IT * whole_step,
        audio=_fastest_audio(),
    )


def _fastest_audio() -> torch.dtype:
    """In which format a batch's keys and values of one layer are read fastest."""
    queries, keys, values = torch.zeros(16, 8, 1, 64), torch.zeros(16, 8, 64, 1_500), torch.zeros(16, 8, 1_500, 64)

    def in_floats(dtype: torch.dtype) -> Callable[[], object]:
        some, more, most = queries.to(dtype), keys.to(dtype), values.to(dtype)
        return lambda: torch.softmax(some @ more, dim=-1) @ most

    whole, half = _seconds(in_floats(torch.float32)), _seconds(in_floats(torch.bfloat16))
    query, *bytes_ = queries.view(-1, 64), keys.to(torch.int8).flatten(0, 1), values.to(torch.int8).flatten(0, 1)
    if _seconds(lambda: attend(query, *bytes_)) < _WORTH_IT * min(whole, half):
        return torch.int8
    return torch.bfloat16 if half < _WORTH_IT * whole else torch.float32


def _seconds(work: Callable[[], object]) -> float:
    """Shortest of a few runs."""
    seconds = []
    for _ in range(7):
        start = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - start)
    return min(seconds)
