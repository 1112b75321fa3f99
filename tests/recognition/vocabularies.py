"""Vocabularies of the starter models, without their weights."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

from transformers import AutoConfig, AutoTokenizer, GenerationConfig, PreTrainedTokenizerBase

from speech_pipeline.recognition.vocabulary import Vocabulary


def tokenizer_of(folder: Path) -> PreTrainedTokenizerBase:
    """The tokenizer in a model folder."""
    return AutoTokenizer.from_pretrained(folder)


def vocabulary_of(folder: Path) -> Vocabulary:
    """The vocabulary of the model in a folder; of the model itself only the configurations are read."""
    model = SimpleNamespace(
        config=AutoConfig.from_pretrained(folder), generation_config=GenerationConfig.from_pretrained(folder)
    )
    return Vocabulary(tokenizer_of(folder), cast(Any, model))
