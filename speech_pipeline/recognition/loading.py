"""Whisper models from the hub or a folder, checked against each other, made into the recognition stage."""

import re
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
from speech_pipeline.recognition.acceleration import GRAPH_ROWS, Acceleration
from speech_pipeline.recognition.alignment import warm_up
from speech_pipeline.recognition.assistant import Assistant
from speech_pipeline.recognition.int8_linear import Int8OutputLayer, to_int8
from speech_pipeline.recognition.precision import Precision
from speech_pipeline.recognition.whisper import WhisperRecognizer

_HUB_ID = re.compile(r"[\w.-]{1,96}(/[\w.-]{1,96})?")


def load_recognizer(
    model: str,
    assistant: str | None,
    *,
    token: str | None,
    device: torch.device,
    precision: Precision,
    lean_loop: bool = True,
    cuda_graphs: bool = False,
) -> WhisperRecognizer:
    """Load a Whisper model, and an assistant for speculative decoding when one is named.

    Args:
        model: hub id or folder, in the format of ``transformers``.
        assistant: the same, of a smaller Whisper model with the same vocabulary.
        token: hub token for gated and private repositories.
        device: where the networks run.
        precision: of the parts of the model; an assistant has that of the decoder, without integers.
        lean_loop: see :class:`.acceleration.Acceleration`.
        cuda_graphs: on a GPU the steps of that loop are replayed as graphs, which are made here.

    Raises:
        InvalidSettings: a model is not a Whisper model.
        ModelUnavailable: a model is missing, gated, damaged or cannot be reached.
        ModelMismatch: the assistant does not fit the model.
        OutOfMemory: the networks do not fit on the device.
    """
    # transformers warns at every call of generate about options that are set on purpose.
    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    main = _load(model, "ASR_MODEL", token, device, precision.decoder)
    with _explained_errors(model, "ASR_MODEL"):
        tokenizer = WhisperTokenizerFast.from_pretrained(model, token=token)
        # transformers 5 makes up a tokenizer without words where its files are missing.
        if len(tokenizer) < 0.9 * main.config.vocab_size:
            raise ValueError("the tokenizer has fewer tokens than the model")
        feature_extractor = WhisperFeatureExtractor.from_pretrained(model, token=token)
    helper = None
    if assistant is not None:
        helper = Assistant.fit(_load(assistant, "ASSISTANT_MODEL", token, device, precision.decoder), main)
    with _explained_errors(model, "ASR_MODEL"):
        _convert(main, precision)
        acceleration = Acceleration(
            lean_loop, precision.audio, static_rows=GRAPH_ROWS if cuda_graphs and device.type == "cuda" else ()
        )
        recognizer = WhisperRecognizer(main, tokenizer, feature_extractor, helper, acceleration)
    warm_up()
    return recognizer


def _convert(model: WhisperForConditionalGeneration, precision: Precision) -> None:
    """Give each part of a model, loaded in the decoder's precision, its own."""
    nn.Module.to(model.get_encoder(), precision.encoder)
    if precision.int8_encoder:
        to_int8(model.get_encoder())
    if precision.int8_decoder:
        to_int8(model.get_decoder())
        setattr(model, "proj_out", Int8OutputLayer(model.proj_out))  # noqa: B010 - declared as nn.Linear


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
