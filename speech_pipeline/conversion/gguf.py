"""A chat language model in a GGUF file turned into a folder for transformers."""

import struct
from pathlib import Path

from speech_pipeline.errors import ModelUnavailable

END_OF_TURN = "<|im_end|>"
"""Ends a message in the ChatML prompt format, which Qwen's chat models use."""

END_OF_TEXT = "<|endoftext|>"


def write_chat_folder(model: Path, destination: Path) -> None:
    """Undo the quantisation and save bfloat16 weights, the tokenizer and its chat template.

    Args:
        model: GGUF file of a Qwen2 or Qwen2.5 chat model.
        destination: folder to write into; created when missing.

    Raises:
        ModelUnavailable: the package ``gguf`` is not installed, or the file is damaged or holds another kind of model.
    """
    import torch
    import transformers
    from transformers import AutoModelForCausalLM, AutoTokenizer, GenerationConfig

    options = {"gguf_file": model.name, "dtype": torch.bfloat16}
    if hasattr(transformers, "GgufConfig"):  # transformers 5 keeps weights packed unless told otherwise; 4 never does
        options["quantization_config"] = transformers.GgufConfig(dequantize=True)
    try:
        tokenizer = AutoTokenizer.from_pretrained(model.parent, gguf_file=model.name)
        network = AutoModelForCausalLM.from_pretrained(model.parent, **options)
    except ImportError as error:
        raise ModelUnavailable("Converting the chat model needs the package gguf, which is not installed.") from error
    except (ValueError, TypeError, LookupError, AttributeError, OSError, RuntimeError, struct.error) as error:
        raise ModelUnavailable("The GGUF file is damaged or holds a kind of model that cannot be read.") from error
    if tokenizer.chat_template is None or not {END_OF_TURN, END_OF_TEXT} <= tokenizer.get_vocab().keys():
        raise ModelUnavailable("The GGUF file must hold a chat model with a ChatML template.")
    # The file may name the end of a text, which chat models do not write; an answer ends with the end of its turn.
    tokenizer.eos_token, tokenizer.pad_token = END_OF_TURN, END_OF_TEXT
    network.generation_config = GenerationConfig(
        eos_token_id=[tokenizer.eos_token_id, tokenizer.pad_token_id], pad_token_id=tokenizer.pad_token_id
    )
    network.save_pretrained(destination)
    tokenizer.save_pretrained(destination)
