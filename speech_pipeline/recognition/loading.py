"""Whisper models from the hub or a folder, checked against each other, made into the recognition stage."""

from contextlib import AbstractContextManager

import torch
import transformers
from torch import nn
from transformers import (
    AutoConfig,
    WhisperFeatureExtractor,
    WhisperForConditionalGeneration,
    WhisperTokenizerFast,
)

from speech_pipeline.errors import InvalidSettings
from speech_pipeline.model_errors import explained_errors
from speech_pipeline.recognition.acceleration import GRAPH_ROWS, Acceleration
from speech_pipeline.recognition.alignment import warm_up
from speech_pipeline.recognition.assistant import Assistant
from speech_pipeline.recognition.int8_linear import Int8OutputLayer, to_int8
from speech_pipeline.recognition.precision import Precision
from speech_pipeline.recognition.whisper import WhisperRecognizer

_FILES = "config.json, model.safetensors, a tokenizer and preprocessor_config.json"


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


def _explained_errors(model: str, setting: str) -> AbstractContextManager[None]:
    return explained_errors(model, setting, kind="a Whisper model", files=_FILES)
