"""Whisper in CTranslate2's format turned into a folder for transformers."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import save_file

from speech_pipeline.conversion.ctranslate2 import CTranslate2Model, read_model
from speech_pipeline.conversion.whisper_tokenizer import language_ids, token_ids, tokenizer_files
from speech_pipeline.errors import ModelUnavailable

ENGLISH_ONLY_VOCABULARY = 51864
"""Size of the vocabulary of the ``.en`` models; every multilingual Whisper has more."""


def write_whisper_folder(model: Path, configuration: Path, tokenizer: Path, destination: Path) -> None:
    """Convert once; the folder then loads like the hub's own with ``from_pretrained``.

    Args:
        model: CTranslate2 ``model.bin`` in float16 or float32; the precision is kept.
        configuration: the ``config.json`` beside it (``suppress_ids``, ``suppress_ids_begin``, ``alignment_heads``).
        tokenizer: Whisper's ``tokenizer.json``.
        destination: folder to write into; created when missing.

    Raises:
        ModelUnavailable: a file is damaged, or the model is not Whisper or is quantised.
    """
    binary = read_model(model)
    if binary.specification != "WhisperSpec":
        raise ModelUnavailable("The CTranslate2 model must be Whisper.")
    decoding, vocabulary = _read_json(configuration), _read_json(tokenizer)
    try:
        weights = dict(_weights(binary))
        config = _dimensions(binary, weights) | _special_ids(token_ids(vocabulary))
        size = config["vocab_size"]
        files = tokenizer_files(vocabulary, size) | {
            "config.json": json.dumps(config, indent=2),
            "generation_config.json": json.dumps(_generation_config(size, decoding, vocabulary), indent=2),
            "preprocessor_config.json": json.dumps(_feature_extractor(config["num_mel_bins"]), indent=2),
        }
    except (KeyError, IndexError, ValueError, TypeError, AttributeError) as error:
        raise ModelUnavailable("The CTranslate2 model lacks a part that Whisper has; it is damaged.") from error
    if len(weights) != 11 + 15 * config["encoder_layers"] + 24 * config["decoder_layers"]:
        raise ModelUnavailable("The CTranslate2 model has not the tensors that Whisper has; it is damaged.")
    destination.mkdir(parents=True, exist_ok=True)
    try:
        save_file(weights, destination / "model.safetensors", metadata={"format": "pt"})
    except SafetensorError as error:
        raise ModelUnavailable("The converted weights could not be written; is the disk full?") from error
    for name, content in files.items():
        (destination / name).write_text(content, encoding="utf-8")


def _weights(binary: CTranslate2Model) -> Iterator[tuple[str, np.ndarray]]:
    """Tensors under their names in transformers. The output projection is tied to the embedding and left out."""
    for name, tensor in binary.tensors.items():
        if tensor.ndim == 0 or name.endswith(("alignment_heads", "alignment_layer")):
            continue
        if tensor.dtype not in (np.float16, np.float32):
            raise ModelUnavailable("The CTranslate2 model is quantised; one in float16 or float32 is needed.")
        yield from _rename(name, tensor)


def _rename(name: str, tensor: np.ndarray) -> Iterator[tuple[str, np.ndarray]]:
    """One tensor, or the parts of a fused one."""
    *path, module, parameter = name.split("/")
    parameter = {"gamma": "weight", "beta": "bias", "encodings": "weight"}.get(parameter, parameter)
    prefix = ".".join(["model", *(re.sub(r"^layer_(\d+)$", r"layers.\1", part) for part in path)])
    if path[-1] in ("self_attention", "attention"):
        attention = prefix.replace(".self_attention", ".self_attn").replace(".attention", ".encoder_attn")
        if module == "layer_norm":
            yield f"{attention}_layer_norm.{parameter}", tensor
            return
        parts = ATTENTION_PARTS[path[-1], module]
        for part, rows in zip(parts, np.split(tensor, len(parts)), strict=True):
            # Whisper has no bias on keys. One would add the same to every score of a query, which softmax ignores.
            if (part, parameter) != ("k_proj", "bias"):
                yield f"{attention}.{part}.{parameter}", np.ascontiguousarray(rows)
    elif path[-1] == "ffn":
        part = {"layer_norm": "final_layer_norm", "linear_0": "fc1", "linear_1": "fc2"}[module]
        yield f"{prefix.removesuffix('.ffn')}.{part}.{parameter}", tensor
    else:
        part = {"position_encodings": "embed_positions", "embeddings": "embed_tokens"}.get(module, module)
        yield f"{prefix}.{part}.{parameter}", tensor


ATTENTION_PARTS = {
    ("self_attention", "linear_0"): ("q_proj", "k_proj", "v_proj"),
    ("self_attention", "linear_1"): ("out_proj",),
    ("attention", "linear_0"): ("q_proj",),
    ("attention", "linear_1"): ("k_proj", "v_proj"),
    ("attention", "linear_2"): ("out_proj",),
}
"""What the rows of a (fused) linear layer of an attention block hold, in order."""


def _dimensions(binary: CTranslate2Model, weights: dict[str, np.ndarray]) -> dict[str, Any]:
    """The part of ``config.json`` that follows from the shapes."""
    vocabulary, width = weights["model.decoder.embed_tokens.weight"].shape

    def of(side: str) -> dict[str, int]:
        layers = {name.split(".")[3] for name in weights if name.startswith(f"model.{side}.layers.")}
        return {
            f"{side}_layers": len(layers),
            f"{side}_attention_heads": int(binary.tensors[f"{side}/num_heads"]),
            f"{side}_ffn_dim": weights[f"model.{side}.layers.0.fc1.weight"].shape[0],
        }

    dtype = weights["model.decoder.embed_tokens.weight"].dtype.name
    return {
        "architectures": ["WhisperForConditionalGeneration"],
        "model_type": "whisper",
        "is_encoder_decoder": True,
        "activation_function": "gelu",
        "scale_embedding": False,
        "tie_word_embeddings": True,
        "torch_dtype": dtype,
        "vocab_size": vocabulary,
        "d_model": width,
        **of("encoder"),
        **of("decoder"),
        "num_hidden_layers": of("encoder")["encoder_layers"],
        "num_mel_bins": weights["model.encoder.conv1.weight"].shape[1],
        "max_source_positions": weights["model.encoder.embed_positions.weight"].shape[0],
        "max_target_positions": weights["model.decoder.embed_positions.weight"].shape[0],
    }


def _special_ids(tokens: dict[str, int]) -> dict[str, int]:
    end = tokens["<|endoftext|>"]
    return {
        "bos_token_id": end,
        "eos_token_id": end,
        "pad_token_id": end,
        "decoder_start_token_id": tokens["<|startoftranscript|>"],
    }


def _generation_config(size: int, decoding: dict[str, Any], vocabulary: dict[str, Any]) -> dict[str, Any]:
    """Everything ``generate`` needs to know: which tokens to suppress, languages, tasks, heads for word times."""
    tokens = token_ids(vocabulary)
    config = _special_ids(tokens) | {
        "alignment_heads": decoding["alignment_heads"],
        "suppress_tokens": decoding["suppress_ids"],
        "begin_suppress_tokens": decoding["suppress_ids_begin"],
        "is_multilingual": size > ENGLISH_ONLY_VOCABULARY,
        "max_initial_timestamp_index": 50,
        "max_length": 448,
        "no_timestamps_token_id": tokens["<|notimestamps|>"],
        "prev_sot_token_id": tokens["<|startofprev|>"],
        "return_timestamps": False,
    }
    if config["is_multilingual"]:
        config["lang_to_id"] = language_ids(tokens)
        config["task_to_id"] = {task: tokens[f"<|{task}|>"] for task in ("transcribe", "translate")}
    return config


def _feature_extractor(mel_bins: int) -> dict[str, Any]:
    """Whisper's front end: log-mel spectrograms of 30 s windows at 16 kHz, one frame every 10 ms."""
    return {
        "feature_extractor_type": "WhisperFeatureExtractor",
        "processor_class": "WhisperProcessor",
        "feature_size": mel_bins,
        "sampling_rate": 16_000,
        "chunk_length": 30,
        "hop_length": 160,
        "n_fft": 400,
        "n_samples": 480_000,
        "nb_max_frames": 3_000,
        "padding_side": "right",
        "padding_value": 0.0,
        "return_attention_mask": False,
    }


def _read_json(path: Path) -> dict[str, Any]:
    try:
        content = json.loads(path.read_bytes())
    except ValueError:
        content = None
    if not isinstance(content, dict):
        raise ModelUnavailable("A JSON file of the CTranslate2 model is damaged.")
    return content
