import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from transformers import WhisperConfig
from transformers.models.whisper.modeling_whisper import WhisperDecoder

from speech_pipeline.recognition.cross_attention import AudioKeysValues, audio_keys_values

ROWS, FRAMES, WIDTH, HEADS = 5, 11, 32, 4

EXACT = {torch.float32: 1e-5, torch.int8: 0.03}
"""How far each format may be off."""


def small_decoder() -> WhisperDecoder:
    torch.manual_seed(0)
    config = WhisperConfig(
        vocab_size=20,
        d_model=WIDTH,
        decoder_layers=2,
        decoder_attention_heads=HEADS,
        decoder_ffn_dim=32,
        pad_token_id=0,
    )
    return WhisperDecoder(config).eval()


def audio_of(
    decoder: WhisperDecoder, dtype: torch.dtype = torch.float32, frames: int = FRAMES
) -> tuple[torch.Tensor, AudioKeysValues]:
    states = torch.randn(ROWS, frames, decoder.config.d_model, generator=torch.Generator().manual_seed(1))
    return states, audio_keys_values(decoder, states, dtype)


@pytest.mark.parametrize("dtype", EXACT)
@settings(max_examples=25, deadline=None)
@given(moves=st.lists(st.lists(st.sampled_from(range(ROWS)), unique=True, min_size=1), max_size=4))
@torch.inference_mode()
def test_rows_are_found_wherever_they_were_moved(dtype: torch.dtype, moves: list[list[int]]) -> None:
    decoder = small_decoder()
    states, audio = audio_of(decoder, dtype)
    for rows in moves:
        audio.to_front(rows)
        assert audio.order[: len(rows)] == rows
    for row in range(ROWS):
        for layer in range(2):
            projected = decoder.layers[layer].encoder_attn.k_proj(states[row])
            expected = projected.view(FRAMES, HEADS, -1).transpose(0, 1)
            assert torch.allclose(audio.keys(layer, row, [3, 1]), expected[[3, 1]], atol=EXACT[dtype])


@pytest.mark.parametrize("tokens", [1, 3, 40])
@pytest.mark.parametrize("frames", [FRAMES, 1_500])
@pytest.mark.parametrize("dtype", EXACT)
@torch.inference_mode()
def test_attends_as_the_layer_itself_does(dtype: torch.dtype, frames: int, tokens: int) -> None:
    decoder = small_decoder()
    states, audio = audio_of(decoder, dtype, frames)
    audio.to_front([3, 0])
    attention = decoder.layers[1].encoder_attn
    hidden = torch.randn(2, tokens, WIDTH, generator=torch.Generator().manual_seed(2)) * 5
    expected = attention(hidden, key_value_states=states[[3, 0]])[0]
    queries = attention.q_proj(hidden).view(2, tokens, HEADS, -1).transpose(1, 2) * attention.scaling
    found = attention.out_proj(audio.attend(1, queries, 2).transpose(1, 2).flatten(2))
    assert torch.allclose(found, expected, atol=EXACT[dtype])


@torch.inference_mode()
def test_a_row_does_not_depend_on_the_others_in_8_bits() -> None:
    decoder = small_decoder()
    states, together = audio_of(decoder, torch.int8)
    queries = torch.randn(ROWS, HEADS, 1, WIDTH // HEADS, generator=torch.Generator().manual_seed(2))
    mixed = together.attend(0, queries, ROWS)
    for row in range(ROWS):
        alone = audio_keys_values(decoder, states[row, None], torch.int8).attend(0, queries[row, None], 1)
        assert torch.equal(alone[0], mixed[row])


@torch.inference_mode()
def test_heads_of_an_odd_width_are_kept_in_floats() -> None:
    torch.manual_seed(0)
    config = WhisperConfig(d_model=24, decoder_layers=1, decoder_attention_heads=2, decoder_ffn_dim=8)
    decoder = WhisperDecoder(config).eval()
    _, audio = audio_of(decoder, torch.int8)
    queries = torch.randn(ROWS, 2, 1, 12)
    _, expected = audio_of(decoder, torch.float32)
    assert torch.equal(audio.attend(0, queries, ROWS), expected.attend(0, queries, ROWS))
