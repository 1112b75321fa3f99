"""The weights of one Whisper model in the formats of the other systems, converted when first needed."""

import hashlib
import json
import multiprocessing
import re
from collections.abc import Callable, Collection, Mapping
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import replace
from pathlib import Path
from typing import Any

from speech_pipeline.errors import ModelUnavailable
from speech_pipeline.evaluation.bench.systems import Options

WEIGHTS = "model.safetensors"


def convert(options: Options, cache: Path, packages: Collection[str | None]) -> Options:
    """Write the Whisper weights in the formats of other systems into a cache folder, unless they are there.

    Conversion happens in a process of its own, so that its memory is gone before anything is measured.

    Args:
        options: ``whisper`` is a folder with ``model.safetensors``.
        cache: folder that keeps what was converted.
        packages: the systems that are to be measured.

    Returns:
        The options with what was converted; a format whose converter is not installed stays empty.

    Raises:
        ModelUnavailable: there are no weights in the folder, or converting them failed.
    """
    whisper = Path(options.whisper)
    file = whisper / WEIGHTS
    if not file.is_file():
        raise ModelUnavailable(f"The benchmark needs a folder with a Whisper model in one {WEIGHTS}.")
    status = file.stat()
    key = hashlib.sha256(f"{file.resolve()} {status.st_size} {status.st_mtime_ns}".encode()).hexdigest()[:16]
    folder = cache / key
    formats: Mapping[str, tuple[Callable[[Path, Path], None], Path]] = {
        "faster-whisper": (to_ctranslate2, folder / "ctranslate2"),
        "openai-whisper": (to_openai, folder / "openai.pt"),
    }
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        for package, (function, target) in formats.items():
            if package not in packages or target.exists():
                continue
            try:
                pool.submit(function, whisper, target).result()
            except ImportError:  # the peer is not installed, and will be reported as skipped
                continue
            except (OSError, ValueError, RuntimeError, KeyError, BrokenProcessPool) as error:
                raise ModelUnavailable("The Whisper model could not be converted for the other systems.") from error
    ctranslate2, openai = (str(target) if target.exists() else "" for _, target in formats.values())
    return replace(options, ctranslate2=ctranslate2, openai=openai)


def to_ctranslate2(whisper: Path, target: Path) -> None:
    """Write a folder for CTranslate2 in half precision, as those on the Hub are; it computes in what it is told to."""
    from ctranslate2.converters import TransformersConverter

    kept = [name for name in ("tokenizer.json", "preprocessor_config.json") if (whisper / name).is_file()]
    unfinished = target.with_name(f"{target.name}.unfinished")
    TransformersConverter(str(whisper), copy_files=kept).convert(str(unfinished), quantization="float16", force=True)
    unfinished.rename(target)


def to_openai(whisper: Path, target: Path) -> None:
    """Write a checkpoint of openai-whisper: the dimensions and the weights under its names."""
    import torch
    from safetensors.torch import load_file

    config = json.loads((whisper / "config.json").read_text(encoding="utf-8"))
    tensors = load_file(whisper / WEIGHTS)
    state = {openai_name(name): tensor for name, tensor in tensors.items() if not name.startswith("proj_out")}
    target.parent.mkdir(parents=True, exist_ok=True)
    unfinished = target.with_name(f"{target.name}.unfinished")
    torch.save({"dims": _dimensions(config), "model_state_dict": state}, unfinished)
    unfinished.rename(target)


def openai_name(name: str) -> str:
    """openai-whisper's name of a weight of transformers' Whisper."""
    name = name.removeprefix("model.")
    for pattern, replacement in _NAMES:
        name = re.sub(pattern, replacement, name)
    return name


_NAMES = (
    (r"embed_positions\.weight$", "positional_embedding"),
    (r"embed_tokens\.", "token_embedding."),
    (r"^encoder\.layer_norm\.", "encoder.ln_post."),
    (r"^decoder\.layer_norm\.", "decoder.ln."),
    (r"\.layers\.", ".blocks."),
    (r"\.self_attn_layer_norm\.", ".attn_ln."),
    (r"\.encoder_attn_layer_norm\.", ".cross_attn_ln."),
    (r"\.final_layer_norm\.", ".mlp_ln."),
    (r"\.self_attn\.", ".attn."),
    (r"\.encoder_attn\.", ".cross_attn."),
    (r"\.q_proj\.", ".query."),
    (r"\.k_proj\.", ".key."),
    (r"\.v_proj\.", ".value."),
    (r"\.out_proj\.", ".out."),
    (r"\.fc1\.", ".mlp.0."),
    (r"\.fc2\.", ".mlp.2."),
)


def _dimensions(config: dict[str, Any]) -> dict[str, int]:
    return {
        "n_mels": config["num_mel_bins"],
        "n_audio_ctx": config["max_source_positions"],
        "n_audio_state": config["d_model"],
        "n_audio_head": config["encoder_attention_heads"],
        "n_audio_layer": config["encoder_layers"],
        "n_vocab": config["vocab_size"],
        "n_text_ctx": config["max_target_positions"],
        "n_text_state": config["d_model"],
        "n_text_head": config["decoder_attention_heads"],
        "n_text_layer": config["decoder_layers"],
    }
