"""What the decoder attends to in the text so far: keys and values of every layer."""

from abc import ABC, abstractmethod
from itertools import chain

import torch
from torch import Tensor, nn

_ROOM = 64
"""Positions there is room for at first, where room grows; doubled when they are used up."""


class TextKeysValues(ABC):
    """Self-attention keys and values of the rows of a batch, each in a slot."""

    @abstractmethod
    def embeddings(self, weight: Tensor, count: int) -> Tensor:
        """The rows of ``weight``, [positions, width], for the next ``count`` positions."""

    @abstractmethod
    def attend(self, layer: int, queries: Tensor, keys: Tensor, values: Tensor, scale: float) -> Tensor:
        """Add positions, and let each see itself and those before it.

        Args:
            layer: of the decoder.
            queries: [rows, heads, positions, head width], as ``keys`` and ``values``; of the first slots.
            keys: of the new positions.
            values: of the new positions.
            scale: of the products of queries and keys.

        Returns:
            [rows, heads, positions, head width].
        """

    @abstractmethod
    def advance(self, count: int) -> None:
        """Count positions that were added in every layer as done."""

    @abstractmethod
    def overwrite(self, slot: int, source: int) -> None:
        """Make a slot a copy of another."""

    @abstractmethod
    def keep(self, rows: int) -> None:
        """Forget all slots but the first ``rows``."""


class GrowingTextKeysValues(TextKeysValues):
    """With room that grows: a step reads no more than the text has."""

    def __init__(self, layers: int) -> None:
        self._length = 0
        self._stores: list[tuple[Tensor, Tensor] | None] = [None] * layers

    def embeddings(self, weight: Tensor, count: int) -> Tensor:
        return weight[self._length : self._length + count]

    def attend(self, layer: int, queries: Tensor, keys: Tensor, values: Tensor, scale: float) -> Tensor:
        rows, _, count, _ = keys.shape
        end = self._length + count
        store = self._stores[layer]
        if store is None or end > store[0].shape[2]:
            store = self._stores[layer] = (self._grown(store, 0, keys, end), self._grown(store, 1, values, end))
        for kept, fresh in zip(store, (keys, values), strict=True):
            kept[:rows, :, self._length : end] = fresh
        seen_keys, seen_values = (kept[:rows, :, :end] for kept in store)
        return nn.functional.scaled_dot_product_attention(
            queries, seen_keys, seen_values, is_causal=count > 1, scale=scale
        )

    def advance(self, count: int) -> None:
        self._length += count

    def overwrite(self, slot: int, source: int) -> None:
        for tensor in chain.from_iterable(store or () for store in self._stores):
            tensor[slot, :, : self._length] = tensor[source, :, : self._length]

    def keep(self, rows: int) -> None:
        self._stores = [None if store is None else (store[0][:rows], store[1][:rows]) for store in self._stores]

    def _grown(self, store: tuple[Tensor, Tensor] | None, part: int, fresh: Tensor, end: int) -> Tensor:
        rows, heads, _, width = fresh.shape
        room = _ROOM
        while room < end:
            room *= 2
        grown = fresh.new_empty(rows, heads, room, width)
        if store is not None:
            grown[:, :, : self._length] = store[part][:, :, : self._length]
        return grown


class StaticTextKeysValues(TextKeysValues):
    """With room for the longest text, in tensors that stay where they are: a step is the same work at every position.

    Attributes:
        position: int64 [1], the next position, on the device of the keys.
    """

    def __init__(self, layers: int, like: Tensor, capacity: int) -> None:
        """Make room.

        Args:
            layers: of the decoder.
            like: [slots, heads, 0, head width], of the dtype and on the device of the keys.
            capacity: most positions.
        """
        slots, heads, _, width = like.shape
        # Zeros, since what has not been written yet is multiplied before it is masked.
        self._stores = [
            (like.new_zeros(slots, heads, capacity, width), like.new_zeros(slots, heads, capacity, width))
            for _ in range(layers)
        ]
        self._places = torch.arange(capacity, device=like.device)
        self.position = torch.zeros(1, dtype=torch.long, device=like.device)

    def clear(self) -> None:
        """Begin a text."""
        self.position.zero_()

    def embeddings(self, weight: Tensor, count: int) -> Tensor:
        return weight[self._next(count)]

    def attend(self, layer: int, queries: Tensor, keys: Tensor, values: Tensor, scale: float) -> Tensor:
        rows, _, count, _ = keys.shape
        places = self._next(count)
        all_keys, all_values = (kept[:rows] for kept in self._stores[layer])
        all_keys.index_copy_(2, places, keys)
        all_values.index_copy_(2, places, values)
        mask = self._places <= places[:, None]
        return nn.functional.scaled_dot_product_attention(queries, all_keys, all_values, attn_mask=mask, scale=scale)

    def advance(self, count: int) -> None:
        self.position += count

    def overwrite(self, slot: int, source: int) -> None:
        for tensor in chain.from_iterable(self._stores):
            tensor[slot] = tensor[source]

    def keep(self, rows: int) -> None:
        """Slots are not given back."""

    def _next(self, count: int) -> Tensor:
        return self.position + self._places[:count]
