"""Whisper models from the hub or a folder, checked against each other, made into the recognition stage."""

import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import torch
import transformers
from huggingface_hub.errors import GatedRepoError, HFValidationError, LocalEntryNotFoundError, RepositoryNotFoundError
from torch import nn
from transformers import (
    AutoConfig,
    WhisperFeatureExtractor,
    WhisperForConditionalGeneration,
    WhisperTokenizerFast,
)

from speech_pipeline.errors import InvalidSettings, ModelUnavailable, OutOfMemory, SpeechError
from speech_pipeline.recognition.alignment import warm_up
from speech_pipeline.recognition.assistant import Assistant
from speech_pipeline.recognition.whisper import WhisperRecognizer

_HUB_ID = re.compile(r"[\w.-]{1,96}(/[\w.-]{1,96})?")


def load_recognizer(
    model: str, assistant: str | None, *, token: str | None, device: torch.device, dtype: torch.dtype
) -> WhisperRecognizer:
    """Load a Whisper model, and an assistant for speculative decoding when one is named.

    Args:
        model: hub id or folder, in the format of ``transformers``.
        assistant: the same, of a smaller Whisper model with the same vocabulary.
        token: hub token for gated and private repositories.
        device: where the networks run.
        dtype: precision of the weights.

    Raises:
        InvalidSettings: a model is not a Whisper model.
        ModelUnavailable: a model is missing, gated, damaged or cannot be reached.
        ModelMismatch: the assistant does not fit the model.
        OutOfMemory: the networks do not fit on the device.
    """
    # transformers warns at every call of generate about options that are set on purpose.
    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    main = _load(model, "ASR_MODEL", token, device, dtype)
    with _explained_errors(model, "ASR_MODEL"):
        tokenizer = WhisperTokenizerFast.from_pretrained(model, token=token)
        # transformers 5 makes up a tokenizer without words where its files are missing.
        if len(tokenizer) < 0.9 * main.config.vocab_size:
            raise ValueError("the tokenizer has fewer tokens than the model")
        feature_extractor = WhisperFeatureExtractor.from_pretrained(model, token=token)
    helper = None
    if assistant is not None:
        helper = Assistant.fit(_load(assistant, "ASSISTANT_MODEL", token, device, dtype), main)
    warm_up()
    return WhisperRecognizer(main, tokenizer, feature_extractor, helper)


def resolve_dtype(name: str, device: torch.device) -> torch.dtype:
    """The precision to load in; ``auto`` takes what the device is fastest in.

    On a CPU float16 is several times slower than float32, and whether bfloat16 is faster depends on the processor, so
    that it is measured.
    """
    if name != "auto":
        return {"float32": torch.float32, "float16": torch.float16, "bfloat16": torch.bfloat16}[name]
    if device.type == "cuda":
        return torch.bfloat16 if torch.cuda.is_bf16_supported(including_emulation=False) else torch.float16
    if device.type == "cpu" and _matmul_seconds(torch.bfloat16) < 0.8 * _matmul_seconds(torch.float32):
        return torch.bfloat16
    return torch.float32


def _load(
    model: str, setting: str, token: str | None, device: torch.device, dtype: torch.dtype
) -> WhisperForConditionalGeneration:
    with _explained_errors(model, setting):
        config = AutoConfig.from_pretrained(model, token=token)
        if config.model_type != "whisper":
            raise InvalidSettings(f"{setting} must be a Whisper model; the one given is of type {config.model_type}.")
        loaded = WhisperForConditionalGeneration.from_pretrained(model, token=token, dtype=dtype)
        nn.Module.to(loaded, device)
        return loaded.eval()


def _matmul_seconds(dtype: torch.dtype) -> float:
    """Shortest of a few products of the shape that dominates the encoder."""
    layer = nn.Linear(512, 2048, dtype=dtype)
    inputs = torch.zeros(1500, 512, dtype=dtype)
    seconds = []
    with torch.inference_mode():
        for _ in range(5):
            start = time.perf_counter()
            layer(inputs)
            seconds.append(time.perf_counter() - start)
    return min(seconds)


@contextmanager
def _explained_errors(model: str, setting: str) -> Iterator[None]:
    """What goes wrong while loading, as a sentence that names the setting, and the model where it is no path."""
    try:
        yield
    except SpeechError:
        raise
    # The libraries raise errors of all kinds over damaged files, Exception itself among them.
    except Exception as error:
        raise _explained(error, model, setting) from error


def _explained(error: Exception, model: str, setting: str) -> SpeechError:
    name = setting if Path(model).is_absolute() else f"{setting} ({model[:100]})"
    if _is_due_to(error, GatedRepoError):
        return ModelUnavailable(
            f"{name} is gated: accept its conditions on its page on the hub, and set HF_TOKEN to a token of the "
            "account that did."
        )
    if _is_due_to(error, RepositoryNotFoundError, HFValidationError):
        return ModelUnavailable(f"{name} was not found: check the name, and set HF_TOKEN if the repository is private.")
    if isinstance(error, (torch.OutOfMemoryError, MemoryError)):
        return OutOfMemory(f"{name} does not fit in memory; use a smaller model or a larger machine.")
    if _is_folder(model):
        return ModelUnavailable(
            f"{name} could not be loaded: the folder must hold config.json, model.safetensors, a tokenizer and "
            "preprocessor_config.json, all undamaged."
        )
    if _is_due_to(error, LocalEntryNotFoundError, ConnectionError):
        return ModelUnavailable(f"{name} is not on this machine and the hub cannot be reached.")
    return ModelUnavailable(
        f"{name} could not be loaded: it is not on this machine and the hub cannot be reached, or its files are not a "
        "Whisper model's."
    )


def _is_due_to(error: BaseException | None, *kinds: type[BaseException]) -> bool:
    """Whether an error of one of the kinds is in the chain of causes; transformers turns hub errors into OSError."""
    while error is not None and not isinstance(error, kinds):
        error = error.__cause__ or error.__context__
    return error is not None


def _is_folder(model: str) -> bool:
    try:
        return Path(model).is_dir()
    except OSError:  # longer than a file name may be
        return False
