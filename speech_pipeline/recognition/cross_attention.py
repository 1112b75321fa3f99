"""What the decoder attends to: the audio as keys and values of every layer, computed once for a batch."""

from collections.abc import Sequence

import torch
from torch import Tensor, nn


class AudioKeysValues:
    """Cross-attention keys and values of a batch.

    They serve language detection, every attempt at the text, and word times. Rows can be moved to the front, where
    the decoder works on those whose text goes on; ``order`` says which row of the batch each slot holds.
    """

    def __init__(self, decoder: nn.Module, states: Tensor, dtype: torch.dtype) -> None:
        """Project the encoder's output.

        Args:
            decoder: Whisper's decoder.
            states: [rows, frames, width], in the decoder's dtype.
            dtype: to keep keys and values in.
        """
        self.order = list(range(len(states)))
        self._keys: list[Tensor] = []
        self._values: list[Tensor] = []
        for layer in decoder.get_submodule("layers").children():
            attention = layer.get_submodule("encoder_attn")
            for name, kept in (("k_proj", self._keys), ("v_proj", self._values)):
                project = attention.get_submodule(name)
                # Row by row: only the converted copy of a row stays.
                rows = [
                    project(row).unflatten(-1, (attention.num_heads, -1)).transpose(0, 1).to(dtype) for row in states
                ]
                kept.append(torch.stack(rows))

    def attend(self, layer: int, queries: Tensor, rows: int) -> Tensor:
        """Attention of the first ``rows`` slots.

        Args:
            layer: of the decoder.
            queries: [rows, heads, tokens, head width], already scaled.
            rows: how many slots, from the first.

        Returns:
            [rows, heads, tokens, head width], in the dtype of ``queries``.
        """
        keys, values = self._keys[layer][:rows], self._values[layer][:rows]
        if queries.is_cuda:
            mixed = nn.functional.scaled_dot_product_attention(queries.to(keys.dtype), keys, values, scale=1.0)
            return mixed.to(queries.dtype)
        # On a CPU one query has nothing to gain from fused attention, which is slower than two products.
        weights = torch.softmax(queries.to(keys.dtype) @ keys.transpose(2, 3), dim=-1, dtype=torch.float32)
        return (weights.to(values.dtype) @ values).to(queries.dtype)

    def keys(self, layer: int, row: int, heads: Sequence[int]) -> Tensor:
        """float32 [heads, frames, head width] of a row of the batch."""
        return self._keys[layer][self.order.index(row), list(heads)].float()

    def swap(self, first: int, second: int) -> None:
        """Exchange two slots."""
        for tensor in (*self._keys, *self._values):
            kept = tensor[first].clone()
            tensor[first] = tensor[second]
            tensor[second] = kept
        self.order[first], self.order[second] = self.order[second], self.order[first]

    def to_front(self, rows: Sequence[int]) -> None:
        """Move rows of the batch to the first slots, in their order."""
        for slot, row in enumerate(rows):
            if self.order[slot] != row:
                self.swap(slot, self.order.index(row))
