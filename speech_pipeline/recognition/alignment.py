"""When each word was spoken: cross-attention of the alignment heads, and dynamic time warping over it.

The method is that of openai/whisper's word times (https://github.com/openai/whisper, ``timing.py``), made from what the
decoder looked for when it wrote the text, or from a pass over finished text where that was not kept. Decoding is the
same whether times are wanted or not.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import librosa
import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from transformers import WhisperForConditionalGeneration
from transformers.models.whisper.modeling_whisper import WhisperAttention

from speech_pipeline.recognition.greedy import Draft
from speech_pipeline.recognition.median_filter import median_filter

FRAME_S = 0.02
"""Seconds of audio one encoder position stands for."""

_STEPS = np.array([[1, 1], [0, 1], [1, 0]])


@dataclass(frozen=True, slots=True)
class AttentionMap:
    """Where the decoder looked when it wrote one text.

    Attributes:
        strength: float32 [tokens, frames], attention of each token, the end token included, as a mean over the heads.
        contrast: float32 [tokens, frames], how much a token looks at a frame more than the other tokens do.
    """

    strength: NDArray[np.float32]
    contrast: NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Reading:
    """What the decoder says about one text it was made to read.

    Attributes:
        log_probabilities: float32 [tokens], natural log-probability of each token and of the end token.
        attention: where it looked.
    """

    log_probabilities: NDArray[np.float32]
    attention: AttentionMap


def alignment_heads(model: WhisperForConditionalGeneration) -> list[tuple[int, int]]:
    """(layer, head) of the heads that follow the audio; all of the decoder's later half where a model names none."""
    heads = getattr(model.generation_config, "alignment_heads", None)
    if heads:
        return [(int(layer), int(head)) for layer, head in heads]
    layers, count = model.config.decoder_layers, model.config.decoder_attention_heads
    return [(layer, head) for layer in range(layers // 2, layers) for head in range(count)]


def read_texts(
    model: WhisperForConditionalGeneration,
    encoder_states: Tensor,
    prompts: Tensor,
    texts: Sequence[Sequence[int]],
    frames: Sequence[int],
) -> list[Reading]:
    """Run the decoder once over prompts followed by texts.

    Args:
        model: the model that wrote the texts.
        encoder_states: [rows, 1500, width], in the model's dtype.
        prompts: int64 [rows, prompt tokens].
        texts: token ids of each row, each ending in the end token.
        frames: how many encoder positions of each row hold audio; the rest is padding.
    """
    longest = max(len(text) for text in texts)
    padded = torch.tensor([[*text, *[text[-1]] * (longest - len(text))] for text in texts], device=prompts.device)
    inputs = torch.cat([prompts, padded[:, :-1]], dim=1)
    first = prompts.shape[1] - 1
    decoder = model.get_decoder()
    heads = alignment_heads(model)
    with _captured_queries(decoder, {layer for layer, _ in heads}) as queries:
        hidden = decoder(input_ids=inputs, encoder_hidden_states=encoder_states, use_cache=False).last_hidden_state
    readings = []
    # Row by row, since logits and attention of a whole batch take gigabytes.
    for row, text in enumerate(texts):
        positions = slice(first, first + len(text))
        logits = model.proj_out(hidden[row, positions]).float()
        chosen = logits.gather(1, padded[row, : len(text), None]).squeeze(1)
        weights = torch.cat(
            [
                _attention(
                    decoder.layers[layer].encoder_attn,
                    [head for of, head in heads if of == layer],
                    queries[layer][row, positions],
                    encoder_states[row, : max(frames[row], 1)],
                )
                for layer in sorted(queries)
            ]
        )
        readings.append(Reading((chosen - logits.logsumexp(dim=1)).cpu().numpy(), _attention_map(weights)))
    return readings


def read_draft(draft: Draft, keys: Mapping[int, Tensor], frames: int) -> Reading:
    """The same of a text whose queries were kept when it was written.

    Args:
        draft: with the queries of the alignment heads, and with the end token.
        keys: of the layers of those heads, float32 [heads, frames, head width].
        frames: how many encoder positions hold audio.
    """
    weights = [
        torch.softmax(draft.queries[layer] @ keys[layer][:, : max(frames, 1)].transpose(1, 2), dim=-1)
        for layer in sorted(keys)
    ]
    return Reading(draft.log_probabilities.numpy(), _attention_map(torch.cat(weights)))


def align(attention: AttentionMap, words: Sequence[range]) -> list[tuple[float, float]]:
    """Start and end of each word, in seconds from the start of the window.

    Dynamic time warping gives each token its stretch of frames, in which attention reaches a word some time after the
    word before it has ended. A word starts where its attention first reaches half of its peak, so that the silence
    before it is not part of it.

    Args:
        attention: of a text that ends in the end token.
        words: positions of each word's tokens in the text, in order.

    Returns:
        A start and an end a word.
    """
    borders = _token_borders(attention.contrast)
    spans = []
    for word in words:
        first = int(borders[word.start])
        last = max(int(borders[word.stop]), first + 1)
        profile = attention.strength[word.start : word.stop, first:last].max(axis=0)
        rise = int(np.argmax(profile >= profile.max() / 2))
        spans.append(((first + rise) * FRAME_S, last * FRAME_S))
    return spans


def warm_up() -> None:
    """Compile the filter and the time warping, which takes seconds, before a request waits for it."""
    _token_borders(median_filter(np.eye(2, dtype=np.float32)))


def _attention(module: WhisperAttention, heads: list[int], queries: Tensor, encoder_states: Tensor) -> Tensor:
    """Cross-attention of some heads of a layer: float32 [heads, tokens, frames], each row a distribution."""
    width = module.head_dim
    query = module.q_proj(queries).unflatten(-1, (-1, width))[:, heads].transpose(0, 1)
    key = module.k_proj(encoder_states).unflatten(-1, (-1, width))[:, heads].transpose(0, 1)
    return torch.softmax((query @ key.transpose(1, 2)).float() * width**-0.5, dim=-1)


def _attention_map(weights: Tensor) -> AttentionMap:
    """Means over the heads, as they are, and relative to the other tokens and smoothed over time."""
    strength = weights.mean(dim=0)
    deviation = weights.std(dim=1, keepdim=True, correction=0).clamp_min(1e-9)
    relative = ((weights - weights.mean(dim=1, keepdim=True)) / deviation).cpu().numpy()
    smooth = median_filter(relative.reshape(-1, relative.shape[-1])).reshape(relative.shape)
    return AttentionMap(strength.cpu().numpy(), smooth.mean(axis=0))


def _token_borders(contrast: NDArray[np.float32]) -> NDArray[np.int64]:
    """The frame each token begins at, by dynamic time warping; never decreasing."""
    _, path = librosa.sequence.dtw(C=-contrast, step_sizes_sigma=_STEPS, backtrack=True)
    path = path[::-1]
    return path[np.searchsorted(path[:, 0], np.arange(contrast.shape[0])), 1]


@contextmanager
def _captured_queries(decoder: nn.Module, layers: set[int]) -> Iterator[dict[int, Tensor]]:
    """Collect what goes into the cross-attention of some layers, whichever attention implementation is in use."""
    captured: dict[int, Tensor] = {}
    handles = []
    for layer in layers:

        def keep(_module: nn.Module, args: tuple, kwargs: dict, layer: int = layer) -> None:
            captured[layer] = kwargs["hidden_states"] if "hidden_states" in kwargs else args[0]

        module = decoder.get_submodule(f"layers.{layer}.encoder_attn")
        handles.append(module.register_forward_pre_hook(keep, with_kwargs=True))
    try:
        yield captured
    finally:
        for handle in handles:
            handle.remove()
