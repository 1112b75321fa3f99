import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from transformers import WhisperConfig
from transformers.models.whisper.modeling_whisper import WhisperDecoder

from speech_pipeline.recognition.cross_attention import AudioKeysValues

ROWS, FRAMES = 5, 11


def small_decoder() -> WhisperDecoder:
    torch.manual_seed(0)
    config = WhisperConfig(
        vocab_size=20, d_model=16, decoder_layers=2, decoder_attention_heads=4, decoder_ffn_dim=32, pad_token_id=0
    )
    return WhisperDecoder(config).eval()


def audio_of(decoder: WhisperDecoder) -> tuple[torch.Tensor, AudioKeysValues]:
    states = torch.randn(ROWS, FRAMES, 16, generator=torch.Generator().manual_seed(1))
    return states, AudioKeysValues(decoder, states, torch.float32)


@settings(max_examples=25, deadline=None)
@given(st.lists(st.lists(st.sampled_from(range(ROWS)), unique=True, min_size=1), max_size=4))
@torch.inference_mode()
def test_rows_are_found_wherever_they_were_moved(moves: list[list[int]]) -> None:
    decoder = small_decoder()
    states, audio = audio_of(decoder)
    for rows in moves:
        audio.to_front(rows)
        assert audio.order[: len(rows)] == rows
    for row in range(ROWS):
        for layer in range(2):
            expected = decoder.layers[layer].encoder_attn.k_proj(states[row]).view(FRAMES, 4, 4).transpose(0, 1)
            assert torch.allclose(audio.keys(layer, row, [3, 1]), expected[[3, 1]], atol=1e-6)


@torch.inference_mode()
def test_attends_as_the_layer_itself_does() -> None:
    decoder = small_decoder()
    states, audio = audio_of(decoder)
    audio.to_front([3, 0])
    attention = decoder.layers[1].encoder_attn
    hidden = torch.randn(2, 3, 16, generator=torch.Generator().manual_seed(2))
    expected = attention(hidden, key_value_states=states[[3, 0]])[0]
    queries = attention.q_proj(hidden).view(2, 3, 4, 4).transpose(1, 2) * attention.scaling
    found = attention.out_proj(audio.attend(1, queries, 2).transpose(1, 2).flatten(2))
    assert torch.allclose(found, expected, atol=1e-5)
