"""The same weights in other formats."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from transformers import WhisperConfig, WhisperForConditionalGeneration

from speech_pipeline.errors import ModelUnavailable
from speech_pipeline.evaluation.bench.systems import Options
from speech_pipeline.evaluation.bench.weights import convert, openai_name, to_openai


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("model.encoder.conv1.weight", "encoder.conv1.weight"),
        ("model.encoder.embed_positions.weight", "encoder.positional_embedding"),
        ("model.encoder.layer_norm.bias", "encoder.ln_post.bias"),
        ("model.encoder.layers.3.self_attn_layer_norm.bias", "encoder.blocks.3.attn_ln.bias"),
        ("model.encoder.layers.3.final_layer_norm.weight", "encoder.blocks.3.mlp_ln.weight"),
        ("model.decoder.embed_tokens.weight", "decoder.token_embedding.weight"),
        ("model.decoder.layer_norm.weight", "decoder.ln.weight"),
        ("model.decoder.layers.11.self_attn.q_proj.weight", "decoder.blocks.11.attn.query.weight"),
        ("model.decoder.layers.1.encoder_attn.out_proj.bias", "decoder.blocks.1.cross_attn.out.bias"),
        ("model.decoder.layers.1.encoder_attn_layer_norm.bias", "decoder.blocks.1.cross_attn_ln.bias"),
        ("model.decoder.layers.1.fc2.weight", "decoder.blocks.1.mlp.2.weight"),
    ],
)
def test_names_of_openai_whisper(name: str, expected: str) -> None:
    assert openai_name(name) == expected


@pytest.fixture
def tiny(tmp_path: Path) -> Path:
    """A Whisper model with random weights, the smallest that both libraries take."""
    torch.manual_seed(0)
    config = WhisperConfig(
        vocab_size=51865,
        d_model=16,
        encoder_layers=1,
        decoder_layers=2,
        encoder_attention_heads=2,
        decoder_attention_heads=2,
        encoder_ffn_dim=64,
        decoder_ffn_dim=64,
    )
    folder = tmp_path / "tiny"
    WhisperForConditionalGeneration(config).save_pretrained(folder)
    return folder


def test_openai_whisper_computes_the_same_from_the_converted_weights(tiny: Path, tmp_path: Path) -> None:
    whisper = pytest.importorskip("whisper", reason="openai-whisper is not installed")
    to_openai(tiny, tmp_path / "cache" / "openai.pt")
    converted = whisper.load_model(str(tmp_path / "cache" / "openai.pt"), device="cpu")
    original = WhisperForConditionalGeneration.from_pretrained(tiny).eval()
    mel = torch.randn(1, 80, 3000)
    tokens = torch.tensor([[50258, 50259, 50359, 50363]])
    with torch.inference_mode():
        expected = original(mel, decoder_input_ids=tokens).logits
        found = converted(mel, tokens)
    np.testing.assert_allclose(found, expected, atol=1e-4)


def test_the_checkpoint_has_dimensions_and_all_weights(tiny: Path, tmp_path: Path) -> None:
    to_openai(tiny, tmp_path / "openai.pt")
    checkpoint = torch.load(tmp_path / "openai.pt", weights_only=True)
    assert checkpoint["dims"]["n_audio_state"] == checkpoint["dims"]["n_text_state"] == 16
    assert checkpoint["dims"]["n_text_layer"] == 2
    # Per block: 3 norms or 2, projections with biases but for the keys, and two linear layers.
    assert len(checkpoint["model_state_dict"]) == 1 * 15 + 2 * 24 + 4 + 1 + 2 + 1 + 1 + 2


def test_a_folder_without_weights_is_refused(tmp_path: Path) -> None:
    options = Options(str(tmp_path), "en", 1)
    with pytest.raises(ModelUnavailable, match=r"model\.safetensors"):
        convert(options, tmp_path / "cache", ())
    with pytest.raises(ModelUnavailable):
        convert(replace(options, whisper="openai/whisper-base"), tmp_path / "cache", ())


def test_each_format_is_written_once_and_only_for_its_system(tiny: Path, tmp_path: Path) -> None:
    options = Options(str(tiny), "en", 1)
    assert convert(options, tmp_path / "cache", {None, "senko"}) == options
    assert not (tmp_path / "cache").exists()
    converted = convert(options, tmp_path / "cache", {"openai-whisper"})
    assert converted.ctranslate2 == ""
    written = Path(converted.openai).stat()
    assert convert(options, tmp_path / "cache", {"openai-whisper"}) == converted
    assert Path(converted.openai).stat().st_mtime_ns == written.st_mtime_ns
