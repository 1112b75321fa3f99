"""Whisper's tokenizer in all the files that the releases of transformers look for."""

import json
import re
from typing import Any

from speech_pipeline.errors import ModelUnavailable

TIMESTAMP_STEP_S = 0.02
"""Whisper's clock: one timestamp token every 0.02 s from ``<|0.00|>`` to ``<|30.00|>``."""

TIMESTAMP = re.compile(r"<\|\d+\.\d\d\|>")

END = "<|endoftext|>"
LAST_SPECIAL = "<|notimestamps|>"
"""The timestamps follow it."""

LANGUAGES_LIE_BETWEEN = ("<|startoftranscript|>", "<|translate|>")


def token_ids(vocabulary: dict[str, Any]) -> dict[str, int]:
    """Ids of the special tokens of a ``tokenizer.json``, in order of id."""
    added = sorted(vocabulary["added_tokens"], key=lambda token: int(token["id"]))
    return {token["content"]: token["id"] for token in added}


def language_ids(tokens: dict[str, int]) -> dict[str, int]:
    """``<|en|>`` and the like to their ids."""
    first, last = (tokens[token] for token in LANGUAGES_LIE_BETWEEN)
    return {token: number for token, number in tokens.items() if first < number < last}


def tokenizer_files(vocabulary: dict[str, Any], size: int) -> dict[str, str]:
    """Content of ``tokenizer.json``, ``tokenizer_config.json``, ``vocab.json`` and ``merges.txt``, by file name.

    Args:
        vocabulary: content of a ``tokenizer.json`` with or without timestamp tokens; they are added when missing, so
            that the tokenizer has as many tokens as the model.
        size: number of tokens of the model.

    Raises:
        ModelUnavailable: the tokenizer is not Whisper's, or is not the one of a model of this size.
    """
    special = {text: number for text, number in token_ids(vocabulary).items() if not TIMESTAMP.fullmatch(text)}
    first = special[LAST_SPECIAL] + 1
    timestamps = [_timestamp(number, step) for step, number in enumerate(range(first, size))]
    if len(special) + len(vocabulary["model"]["vocab"]) - 1 != first or timestamps[-1]["content"] != "<|30.00|>":
        raise ModelUnavailable("The tokenizer does not fit the Whisper model.")
    added = [token for token in vocabulary["added_tokens"] if token["content"] in special] + timestamps
    merges = [merge if isinstance(merge, str) else " ".join(merge) for merge in vocabulary["model"]["merges"]]
    config = {
        "tokenizer_class": "WhisperTokenizer",
        "processor_class": "WhisperProcessor",
        "added_tokens_decoder": {str(token["id"]): _without_id(token) for token in added},
        "additional_special_tokens": list(special),
        "add_prefix_space": False,
        "bos_token": END,
        "eos_token": END,
        "pad_token": END,
        "unk_token": END,
        "clean_up_tokenization_spaces": False,
        "errors": "replace",
        "model_max_length": 1024,
        "return_attention_mask": False,
    }
    return {
        "tokenizer.json": json.dumps(vocabulary | {"added_tokens": added}, ensure_ascii=False),
        "tokenizer_config.json": json.dumps(config, ensure_ascii=False),
        "vocab.json": json.dumps(vocabulary["model"]["vocab"], ensure_ascii=False),
        "merges.txt": "\n".join(["#version: 0.2", *merges, ""]),
    }


def _timestamp(number: int, step: int) -> dict[str, Any]:
    """A timestamp is an added token that is not special: decoding without special tokens keeps it."""
    flags = dict.fromkeys(("single_word", "lstrip", "rstrip", "normalized", "special"), False)
    return {"id": number, "content": f"<|{step * TIMESTAMP_STEP_S:.2f}|>", **flags}


def _without_id(token: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in token.items() if name != "id"}
