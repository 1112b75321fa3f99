"""When each token was spoken: cross-attention of the alignment heads, and dynamic time warping over it.

The method is that of openai/whisper's word times (https://github.com/openai/whisper, ``timing.py``), done in a pass of
its own over finished text, so that decoding stays the same whether times are wanted or not.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import librosa
import numpy as np
import torch
from numpy.typing import NDArray
from scipy.ndimage import median_filter
from torch import Tensor
from transformers import WhisperForConditionalGeneration

FRAME_S = 0.02
"""Seconds of audio one encoder position stands for."""

_MEDIAN_FRAMES = 7


@dataclass(frozen=True, slots=True)
class ForcedPass:
    """What the decoder says about texts it is made to read.

    Attributes:
        log_probabilities: float32 [rows, tokens], natural log-probability of each text token and of the end token.
        attention: float32 [rows, heads, tokens, frames], cross-attention of the alignment heads at the positions that
            predict those tokens; None when it was not asked for.
    """

    log_probabilities: Tensor
    attention: Tensor | None


def read_texts(
    model: WhisperForConditionalGeneration,
    encoder_states: Tensor,
    prompts: Tensor,
    texts: Tensor,
    heads: list[tuple[int, int]] | None,
) -> ForcedPass:
    """Run the decoder once over prompts followed by texts.

    Args:
        model: the model that made the texts.
        encoder_states: [rows, frames, width], in the model's dtype.
        prompts: int64 [rows, prompt tokens].
        texts: int64 [rows, text tokens], each row ending in the end token, padded on the right.
        heads: (layer, head) pairs whose cross-attention is wanted, or None for none.
    """
    decoder = model.get_decoder()
    inputs = torch.cat([prompts, texts[:, :-1]], dim=1)
    first = prompts.shape[1] - 1
    with _captured_queries(decoder, {layer for layer, _ in heads or ()}) as queries:
        hidden = decoder(input_ids=inputs, encoder_hidden_states=encoder_states, use_cache=False).last_hidden_state
    rows = []
    for row in range(len(texts)):
        logits = model.proj_out(hidden[row, first:]).float()
        chosen = logits.gather(1, texts[row].unsqueeze(1)).squeeze(1)
        rows.append(chosen - logits.logsumexp(dim=1))
    attention = None
    if heads:
        maps = []
        for layer, head in heads:
            module = decoder.layers[layer].encoder_attn
            part = slice(head * module.head_dim, (head + 1) * module.head_dim)
            query = module.q_proj(queries[layer][:, first:])[..., part] * module.head_dim**-0.5
            key = module.k_proj(encoder_states)[..., part]
            maps.append(torch.softmax((query @ key.transpose(1, 2)).float(), dim=-1))
        attention = torch.stack(maps, dim=1)
    return ForcedPass(torch.stack(rows), attention)


def align(attention: NDArray[np.float32], words: Sequence[range], frames: int) -> list[tuple[float, float]]:
    """Start and end of each word, in seconds from the start of the window.

    Dynamic time warping gives each token its stretch of frames, in which attention reaches a word some time after the
    word before it has ended. A word starts where its attention first reaches half of its peak, so that the silence
    before it is not part of it.

    Args:
        attention: float32 [heads, tokens, frames], the last token being the end token.
        words: positions of each word's tokens, in order.
        frames: how many encoder positions hold audio; the rest is padding.

    Returns:
        A start and an end a word; starts never decrease.
    """
    weights = attention[:, :, : max(frames, 1)]
    weights = weights / np.maximum(weights.sum(axis=-1, keepdims=True), 1e-9)
    strength = weights.mean(axis=0)
    borders = _token_borders(weights)
    spans = []
    for word in words:
        first = borders[word.start]
        last = max(borders[word.stop], first + 1)
        profile = strength[word.start : word.stop, first:last].max(axis=0, initial=0.0)
        rise = int(np.argmax(profile >= profile.max(initial=0.0) / 2)) if len(profile) else 0
        spans.append(((first + rise) * FRAME_S, last * FRAME_S))
    return spans


def _token_borders(weights: NDArray[np.float32]) -> NDArray[np.int64]:
    """The frame each token begins at, by dynamic time warping over [heads, tokens, frames]; never decreasing."""
    deviation = weights.std(axis=-2, keepdims=True)
    weights = (weights - weights.mean(axis=-2, keepdims=True)) / np.maximum(deviation, 1e-9)
    weights = median_filter(weights, size=(1, 1, _MEDIAN_FRAMES), mode="nearest")
    cost = -weights.mean(axis=0)
    _, path = librosa.sequence.dtw(C=cost, step_sizes_sigma=np.array([[1, 1], [0, 1], [1, 0]]), backtrack=True)
    path = path[::-1]
    return path[np.searchsorted(path[:, 0], np.arange(cost.shape[0])), 1]


@contextmanager
def _captured_queries(decoder: torch.nn.Module, layers: set[int]) -> Iterator[dict[int, Tensor]]:
    """Collect what goes into the cross-attention of some layers, whichever attention implementation is in use."""
    captured: dict[int, Tensor] = {}
    handles = []
    for layer in layers:

        def keep(_module: torch.nn.Module, args: tuple, kwargs: dict, layer: int = layer) -> None:
            captured[layer] = kwargs["hidden_states"] if "hidden_states" in kwargs else args[0]

        handles.append(decoder.layers[layer].encoder_attn.register_forward_pre_hook(keep, with_kwargs=True))
    try:
        yield captured
    finally:
        for handle in handles:
            handle.remove()
