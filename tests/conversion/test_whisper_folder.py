"""Whisper from CTranslate2's format: a small random model there and back, and what is no such model."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from ctranslate2_file import model_file
from tokenizers.pre_tokenizers import ByteLevel
from transformers import (
    AutoProcessor,
    GenerationConfig,
    WhisperConfig,
    WhisperForConditionalGeneration,
    WhisperProcessor,
    WhisperTokenizer,
    WhisperTokenizerFast,
)

from speech_pipeline.conversion.whisper_folder import write_whisper_folder
from speech_pipeline.errors import ModelUnavailable

SPECIAL = ("<|endoftext|>", "<|startoftranscript|>", "<|en|>", "<|de|>", "<|translate|>", "<|transcribe|>")
SPECIAL += ("<|startoflm|>", "<|startofprev|>", "<|nocaptions|>", "<|notimestamps|>")
VOCABULARY_SIZE = 256 + len(SPECIAL) + 1501
DECODING = {"suppress_ids": [1, 2], "suppress_ids_begin": [3], "alignment_heads": [[0, 0], [1, 1]]}
LAYERS = 2

Convert = Callable[..., Path]


def small_model() -> WhisperForConditionalGeneration:
    torch.manual_seed(0)
    config = WhisperConfig(
        vocab_size=VOCABULARY_SIZE,
        d_model=8,
        encoder_layers=LAYERS,
        decoder_layers=LAYERS,
        encoder_attention_heads=2,
        decoder_attention_heads=4,
        encoder_ffn_dim=12,
        decoder_ffn_dim=20,
        pad_token_id=256,
        bos_token_id=256,
        eos_token_id=256,
        decoder_start_token_id=257,
        begin_suppress_tokens=None,
    )
    model = WhisperForConditionalGeneration(config)
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter)
    return model.half()


def ctranslate2_tensors(model: WhisperForConditionalGeneration) -> dict[str, np.ndarray]:
    """The model's weights as CTranslate2's converter lays them out."""
    state = {name: tensor.numpy() for name, tensor in model.model.state_dict().items()}
    tensors: dict[str, np.ndarray] = {
        "decoder/embeddings/weight": state["decoder.embed_tokens.weight"],
        "encoder/num_heads": np.array(model.config.encoder_attention_heads, np.int16),
        "decoder/num_heads": np.array(model.config.decoder_attention_heads, np.int16),
        "decoder/pre_norm": np.array(1, np.int8),
    }

    def norm(target: str, source: str) -> None:
        tensors[f"{target}/gamma"], tensors[f"{target}/beta"] = state[f"{source}.weight"], state[f"{source}.bias"]

    def linear(target: str, *sources: str) -> None:
        weights = [state[f"{source}.weight"] for source in sources]
        biases = [
            state.get(f"{source}.bias", np.zeros(len(w), w.dtype)) for source, w in zip(sources, weights, strict=True)
        ]
        tensors[f"{target}/weight"], tensors[f"{target}/bias"] = np.concatenate(weights), np.concatenate(biases)

    for conv in ("conv1", "conv2"):
        linear(f"encoder/{conv}", f"encoder.{conv}")
    for side in ("encoder", "decoder"):
        tensors[f"{side}/position_encodings/encodings"] = state[f"{side}.embed_positions.weight"]
        norm(f"{side}/layer_norm", f"{side}.layer_norm")
        for number in range(LAYERS):
            target, source = f"{side}/layer_{number}", f"{side}.layers.{number}"
            norm(f"{target}/self_attention/layer_norm", f"{source}.self_attn_layer_norm")
            projections = [f"{source}.self_attn.{part}_proj" for part in "qkv"]
            linear(f"{target}/self_attention/linear_0", *projections)
            linear(f"{target}/self_attention/linear_1", f"{source}.self_attn.out_proj")
            if side == "decoder":
                norm(f"{target}/attention/layer_norm", f"{source}.encoder_attn_layer_norm")
                query, key, value = (f"{source}.encoder_attn.{part}_proj" for part in "qkv")
                linear(f"{target}/attention/linear_0", query)
                linear(f"{target}/attention/linear_1", key, value)
                linear(f"{target}/attention/linear_2", f"{source}.encoder_attn.out_proj")
            norm(f"{target}/ffn/layer_norm", f"{source}.final_layer_norm")
            linear(f"{target}/ffn/linear_0", f"{source}.fc1")
            linear(f"{target}/ffn/linear_1", f"{source}.fc2")
    return tensors


def tokenizer_json() -> dict[str, Any]:
    """A tokenizer of single bytes with Whisper's special tokens."""
    alphabet = {letter: number for number, letter in enumerate(sorted(ByteLevel.alphabet()))}
    flags = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True}
    return {
        "version": "1.0",
        "added_tokens": [{"id": 256 + n, "content": token, **flags} for n, token in enumerate(SPECIAL)],
        "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True},
        "decoder": {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True},
        "model": {"type": "BPE", "vocab": alphabet | {"<|endoftext|>": 256}, "merges": []},
    }


@pytest.fixture
def convert(tmp_path: Path) -> Convert:
    """Write the three files of a CTranslate2 model and convert them."""

    def run(
        tensors: dict[str, np.ndarray],
        decoding: Any = DECODING,
        vocabulary: Any = None,
        specification: str = "WhisperSpec",
        cut: int | None = None,
    ) -> Path:
        model, config, tokenizer = tmp_path / "model.bin", tmp_path / "config.json", tmp_path / "tokenizer.json"
        model.write_bytes(model_file(tensors, specification=specification)[:cut])
        config.write_text(json.dumps(decoding))
        tokenizer.write_text(json.dumps(tokenizer_json() if vocabulary is None else vocabulary))
        write_whisper_folder(model, config, tokenizer, tmp_path / "folder")
        return tmp_path / "folder"

    return run


def test_every_weight_survives(convert: Convert) -> None:
    original = small_model()
    folder = convert(ctranslate2_tensors(original))
    converted, report = WhisperForConditionalGeneration.from_pretrained(
        folder, dtype=torch.float16, output_loading_info=True
    )
    assert not any(report[kind] for kind in ("missing_keys", "unexpected_keys", "mismatched_keys"))
    assert converted.proj_out.weight is converted.model.decoder.embed_tokens.weight
    state = converted.state_dict()
    for name, tensor in original.state_dict().items():
        torch.testing.assert_close(state[name], tensor, rtol=0, atol=0)
    for name in ("d_model", "encoder_layers", "decoder_layers", "encoder_ffn_dim", "decoder_ffn_dim", "num_mel_bins"):
        assert getattr(converted.config, name) == getattr(original.config, name)
    for name in ("encoder_attention_heads", "decoder_attention_heads", "vocab_size", "decoder_start_token_id"):
        assert getattr(converted.config, name) == getattr(original.config, name)


def test_the_generation_config_is_that_of_the_model(convert: Convert) -> None:
    config = GenerationConfig.from_pretrained(convert(ctranslate2_tensors(small_model())))
    assert config.suppress_tokens == [1, 2]
    assert config.begin_suppress_tokens == [3]
    assert config.alignment_heads == [[0, 0], [1, 1]]
    assert config.no_timestamps_token_id == 265
    assert config.prev_sot_token_id == 263
    assert config.decoder_start_token_id == 257
    assert config.eos_token_id == config.pad_token_id == 256
    assert config.max_initial_timestamp_index == 50
    assert config.max_length == 448
    assert config.is_multilingual is False


@pytest.mark.parametrize(
    "load",
    [
        WhisperTokenizer.from_pretrained,
        WhisperTokenizerFast.from_pretrained,
        lambda folder: WhisperProcessor.from_pretrained(folder).tokenizer,
        lambda folder: AutoProcessor.from_pretrained(folder).tokenizer,
    ],
)
def test_the_tokenizer_has_a_token_for_every_output(convert: Convert, load: Callable[[Path], Any]) -> None:
    tokenizer = load(convert(ctranslate2_tensors(small_model())))
    assert len(tokenizer) == VOCABULARY_SIZE
    assert tokenizer.convert_ids_to_tokens(VOCABULARY_SIZE - 1) == "<|30.00|>"
    assert tokenizer.convert_tokens_to_ids("<|0.00|>") == 266
    numbers = tokenizer(" Grüße!", add_special_tokens=False).input_ids
    assert tokenizer.decode([257, *numbers, 256], skip_special_tokens=True) == " Grüße!"


def test_a_quantised_model_is_refused(convert: Convert) -> None:
    tensors = ctranslate2_tensors(small_model())
    tensors["encoder/layer_0/ffn/linear_0/weight"] = np.zeros((12, 8), np.int8)
    with pytest.raises(ModelUnavailable, match="quantised"):
        convert(tensors)


def test_another_architecture_is_refused(convert: Convert) -> None:
    with pytest.raises(ModelUnavailable, match="Whisper"):
        convert({}, specification="TransformerSpec")


@pytest.mark.parametrize(
    "missing",
    [
        "encoder/num_heads",
        "decoder/embeddings/weight",
        "encoder/conv2/bias",
        "decoder/layer_1/attention/linear_1/weight",
    ],
)
def test_a_model_that_lacks_a_tensor_is_refused(convert: Convert, missing: str) -> None:
    tensors = ctranslate2_tensors(small_model())
    del tensors[missing]
    with pytest.raises(ModelUnavailable, match="damaged"):
        convert(tensors)


def test_a_truncated_model_is_refused(convert: Convert) -> None:
    with pytest.raises(ModelUnavailable, match="cut off"):
        convert(ctranslate2_tensors(small_model()), cut=-100)


@pytest.mark.parametrize("decoding", [{}, [], "text", {"suppress_ids": []}])
def test_an_incomplete_configuration_is_refused(convert: Convert, decoding: Any) -> None:
    with pytest.raises(ModelUnavailable):
        convert(ctranslate2_tensors(small_model()), decoding=decoding)


@pytest.mark.parametrize(
    "change",
    [
        lambda v: {},
        lambda v: v | {"added_tokens": v["added_tokens"][:-1]},
        lambda v: v | {"added_tokens": []},
        lambda v: v | {"model": {"type": "BPE", "vocab": {"a": 0}, "merges": []}},
    ],
)
def test_another_tokenizer_is_refused(convert: Convert, change: Callable[[dict[str, Any]], Any]) -> None:
    with pytest.raises(ModelUnavailable):
        convert(ctranslate2_tensors(small_model()), vocabulary=change(tokenizer_json()))
