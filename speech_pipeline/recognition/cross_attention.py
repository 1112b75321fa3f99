"""What the decoder attends to: the audio as keys and values of every layer, computed once for a batch."""

import copy
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from typing import cast

import torch
from torch import Tensor, nn

from speech_pipeline.recognition.int8_attention import BLOCK, attend
from speech_pipeline.recognition.int8_linear import project
from speech_pipeline.recognition.int8_rounding import round_to_int8

_FEW_QUERIES = 4
"""Up to so many tokens the compiled attention takes less time than making floats of keys and values."""


class AudioKeysValues(ABC):
    """Cross-attention keys and values of a batch.

    They serve language detection, every attempt at the text, and word times. Rows can be moved to the front, where
    the decoder works on those whose text goes on; ``order`` says which row of the batch each slot holds.
    """

    def __init__(self, decoder: nn.Module, states: Tensor) -> None:
        """Project the encoder's output, [rows, frames, width], in the decoder's dtype."""
        self.order = list(range(len(states)))
        self._layers: list[tuple[Tensor, ...]] = []
        # Row by row: only what is kept of a row stays.
        for slot, row in enumerate(states):
            parts = [self._kept(keys, values) for keys, values in _projections(decoder, row)]
            if slot == 0:
                self._layers = [tuple(part.new_empty(len(states), *part.shape) for part in layer) for layer in parts]
            for layer, of_layer in zip(self._layers, parts, strict=True):
                for tensor, part in zip(layer, of_layer, strict=True):
                    tensor[slot] = part

    @abstractmethod
    def attend(self, layer: int, queries: Tensor, rows: int) -> Tensor:
        """Attention of the first ``rows`` slots.

        Args:
            layer: of the decoder.
            queries: [rows, heads, tokens, head width], already scaled.
            rows: how many slots, from the first.

        Returns:
            [rows, heads, tokens, head width], in the dtype of ``queries``.
        """

    @abstractmethod
    def keys(self, layer: int, row: int, heads: Sequence[int]) -> Tensor:
        """float32 [heads, frames, head width] of a row of the batch."""

    @abstractmethod
    def _kept(self, keys: Tensor, values: Tensor) -> tuple[Tensor, ...]:
        """What is kept of a row's keys and values in a layer, [heads, frames, head width]."""

    def swap(self, first: int, second: int) -> None:
        """Exchange two slots."""
        for layer in self._layers:
            for tensor in layer:
                kept = tensor[first].clone()
                tensor[first] = tensor[second]
                tensor[second] = kept
        self.order[first], self.order[second] = self.order[second], self.order[first]

    def to_front(self, rows: Sequence[int]) -> None:
        """Move rows of the batch to the first slots, in their order."""
        for slot, row in enumerate(rows):
            if self.order[slot] != row:
                self.swap(slot, self.order.index(row))


class FloatKeysValues(AudioKeysValues):
    """In a floating-point format: keys and values [rows, heads, frames, head width] a layer."""

    def __init__(self, decoder: nn.Module, states: Tensor, dtype: torch.dtype) -> None:
        self._dtype = dtype
        super().__init__(decoder, states)

    def room_for(self, rows: int) -> "FloatKeysValues":
        """Keys and values of as many rows of nothing, of the same shape, dtype and device."""
        room = copy.copy(self)
        room.order = list(range(rows))
        room._layers = [tuple(part.new_zeros(rows, *part.shape[1:]) for part in layer) for layer in self._layers]
        return room

    def move_into(self, room: "FloatKeysValues") -> None:
        """Keep what the slots hold in the first slots of ``room`` from now on."""
        for number, (layer, others) in enumerate(zip(self._layers, room._layers, strict=True)):
            places = tuple(other[: len(part)] for part, other in zip(layer, others, strict=True))
            for part, place in zip(layer, places, strict=True):
                if part.data_ptr() != place.data_ptr():
                    place.copy_(part)
            self._layers[number] = places

    def attend(self, layer: int, queries: Tensor, rows: int) -> Tensor:
        keys, values = (tensor[:rows] for tensor in self._layers[layer])
        if queries.is_cuda:
            mixed = nn.functional.scaled_dot_product_attention(queries.to(keys.dtype), keys, values, scale=1.0)
            return mixed.to(queries.dtype)
        # On a CPU one query has nothing to gain from fused attention, which is slower than two products.
        weights = torch.softmax(queries.to(keys.dtype) @ keys.transpose(2, 3), dim=-1, dtype=torch.float32)
        return (weights.to(values.dtype) @ values).to(queries.dtype)

    def keys(self, layer: int, row: int, heads: Sequence[int]) -> Tensor:
        return self._layers[layer][0][self.order.index(row), list(heads)].float()

    def _kept(self, keys: Tensor, values: Tensor) -> tuple[Tensor, ...]:
        return keys.to(self._dtype), values.to(self._dtype)


class Int8KeysValues(AudioKeysValues):
    """In 8-bit integers, on a CPU, with one scale for each channel of a head.

    A layer is keys [rows, heads, head width, frames] with scales [rows, heads, head width, 1], and values
    [rows, heads, frames, head width] with scales [rows, heads, 1, head width].
    """

    def attend(self, layer: int, queries: Tensor, rows: int) -> Tensor:
        keys, key_scales, values, value_scales = (tensor[:rows] for tensor in self._layers[layer])
        scaled = queries * key_scales.transpose(2, 3)
        if queries.shape[2] > _FEW_QUERIES:
            return (torch.softmax(scaled @ keys.float(), dim=-1) @ values.float()) * value_scales
        keys, values = keys.flatten(0, 1), values.flatten(0, 1)
        mixed = [attend(query, keys, values) for query in scaled.flatten(0, 1).unbind(1)]
        return torch.stack(mixed, dim=1).unflatten(0, (rows, -1)) * value_scales

    def keys(self, layer: int, row: int, heads: Sequence[int]) -> Tensor:
        slot = self.order.index(row)
        keys, scales, _, _ = self._layers[layer]
        return (keys[slot, list(heads)] * scales[slot, list(heads)]).transpose(1, 2)

    def _kept(self, keys: Tensor, values: Tensor) -> tuple[Tensor, ...]:
        return *round_to_int8(keys.transpose(1, 2), 2), *round_to_int8(values, 1)


def audio_keys_values(decoder: nn.Module, states: Tensor, dtype: torch.dtype) -> AudioKeysValues:
    """Project the encoder's output.

    Args:
        decoder: Whisper's decoder.
        states: [rows, frames, width], in the decoder's dtype.
        dtype: to keep keys and values in; int8 on a CPU only, and only for heads whose width :func:`attend` takes.
    """
    if dtype != torch.int8:
        return FloatKeysValues(decoder, states, dtype)
    if states.shape[-1] // _heads(decoder) % BLOCK:
        return FloatKeysValues(decoder, states, states.dtype)
    return Int8KeysValues(decoder, states)


def _projections(decoder: nn.Module, row: Tensor) -> Iterator[tuple[Tensor, Tensor]]:
    """Keys and values of each layer, [heads, frames, head width], of states [frames, width]."""
    attentions = [layer.get_submodule("encoder_attn") for layer in decoder.get_submodule("layers").children()]
    linears = [attention.get_submodule(name) for attention in attentions for name in ("k_proj", "v_proj")]
    projected = (each.unflatten(-1, (_heads(decoder), -1)).transpose(0, 1) for each in project(linears, row))
    return zip(projected, projected, strict=True)


def _heads(decoder: nn.Module) -> int:
    return cast("int", decoder.get_submodule("layers.0.encoder_attn").num_heads)
