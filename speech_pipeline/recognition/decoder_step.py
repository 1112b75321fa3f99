"""Whisper's decoder for the next tokens of a batch, on keys and values that are kept."""

from collections.abc import Container

import torch
from torch import Tensor, nn
from transformers import WhisperForConditionalGeneration

from speech_pipeline.recognition.cross_attention import AudioKeysValues, audio_keys_values
from speech_pipeline.recognition.int8_linear import project
from speech_pipeline.recognition.text_keys_values import (
    GrowingTextKeysValues,
    StaticTextKeysValues,
    TextKeysValues,
)


class DecoderStep:
    """The decoder of a Whisper model. It holds no state between calls."""

    def __init__(self, model: WhisperForConditionalGeneration) -> None:
        self._output: nn.Module = model.proj_out
        self._decoder = model.get_decoder()
        self._layers = list(self._decoder.layers)
        self.positions = int(model.config.max_target_positions)
        self.frames = int(model.config.max_source_positions)

    def new_text(self) -> TextKeysValues:
        """Room for a text that grows with it."""
        return GrowingTextKeysValues(len(self._layers))

    def new_static_text(self, slots: int) -> StaticTextKeysValues:
        """Room for the longest text of as many rows."""
        attention, weight = self._layers[0].self_attn, self._decoder.layer_norm.weight
        like = weight.new_empty(slots, attention.num_heads, 0, attention.head_dim)
        return StaticTextKeysValues(len(self._layers), like, self.positions)

    def silent_audio(self, dtype: torch.dtype | None) -> AudioKeysValues:
        """Keys and values of one row of nothing, kept in a dtype, or else in the decoder's."""
        weight = self._decoder.layer_norm.weight
        return audio_keys_values(self._decoder, weight.new_zeros(1, self.frames, len(weight)), dtype or weight.dtype)

    def __call__(
        self, tokens: Tensor, audio: AudioKeysValues, text: TextKeysValues, watched: Container[int] = ()
    ) -> tuple[Tensor, dict[int, Tensor]]:
        """What may follow.

        Args:
            tokens: int64 [rows, tokens], the next ones of each row.
            audio: of the rows, in its first slots.
            text: of the rows, in its first slots; the tokens are added.
            watched: layers whose queries are given back.

        Returns:
            float32 [rows, vocabulary]: logits after the last token. By layer, [rows, heads, tokens, head width]: what
            the heads of the watched layers looked for in the audio, scaled.
        """
        rows, count = tokens.shape
        seen: dict[int, Tensor] = {}
        hidden = self._decoder.embed_tokens(tokens) + text.embeddings(self._decoder.embed_positions.weight, count)
        for number, layer in enumerate(self._layers):
            own = layer.self_attn
            normed = layer.self_attn_layer_norm(hidden)
            queries, keys, values = (
                _heads(states, own.num_heads) for states in project((own.q_proj, own.k_proj, own.v_proj), normed)
            )
            hidden = hidden + own.out_proj(_joined(text.attend(number, queries, keys, values, own.scaling)))
            cross = layer.encoder_attn
            queries = _heads(cross.q_proj(layer.encoder_attn_layer_norm(hidden)), cross.num_heads) * cross.scaling
            if number in watched:
                seen[number] = queries
            hidden = hidden + cross.out_proj(_joined(audio.attend(number, queries, rows)))
            inner = layer.activation_fn(layer.fc1(layer.final_layer_norm(hidden)))
            hidden = hidden + layer.fc2(inner)
        text.advance(count)
        return self._output(self._decoder.layer_norm(hidden[:, -1])).float(), seen


def _heads(states: Tensor, count: int) -> Tensor:
    """[rows, tokens, width] to [rows, heads, tokens, head width]."""
    return states.unflatten(-1, (count, -1)).transpose(1, 2)


def _joined(states: Tensor) -> Tensor:
    """[rows, heads, tokens, head width] to [rows, tokens, width]."""
    return states.transpose(1, 2).flatten(2)
