"""Settings to a reply stage: a language model from the hub, a folder or a URL, and a voice."""

import torch
import transformers
from torch import nn
from transformers import AutoModelForCausalLM, AutoTokenizer

from config import ModelSettings
from speech_pipeline.errors import InvalidSettings
from speech_pipeline.model_errors import explained_errors
from speech_pipeline.reply.language_model import LanguageModel
from speech_pipeline.reply.openai_server import OpenAIServer
from speech_pipeline.reply.reply_stage import ReplyStage
from speech_pipeline.reply.transformers_model import TransformersLanguageModel
from speech_pipeline.voices.loading import load_voice

_FILES = "config.json, model.safetensors and a tokenizer"


def load_reply_stage(
    settings: ModelSettings, language_model: str | None, *, token: str | None, device: torch.device
) -> ReplyStage:
    """Load the language model and the voice that are set.

    Args:
        settings: what is loaded.
        language_model: hub id or folder of ``lm_model``; None where there is none, or a server has it.
        token: hub token for gated and private repositories.
        device: where networks run.

    Raises:
        InvalidSettings: a setting is wrong.
        ModelUnavailable: a model or a package is missing, gated, damaged or cannot be reached.
        OutOfMemory: a network does not fit on the device.
    """
    model = None
    if settings.lm_base_url is not None:
        key = settings.lm_api_key.get_secret_value() if settings.lm_api_key else None
        model = connect_language_model(settings.lm_base_url, settings.lm_model, key)
    elif language_model is not None:
        model = load_language_model(language_model, token=token, device=device, dtype=settings.dtype)
    voice = None
    if settings.tts_model is not None:
        voice = load_voice(settings.tts_model, settings.tts_fallback, token=token, device=device)
    return ReplyStage(model, voice)


def load_language_model(model: str, *, token: str | None, device: torch.device, dtype: str) -> LanguageModel:
    """Load a chat model, or any model that goes on with a text, to run here.

    Args:
        model: hub id or folder, in the format of ``transformers``.
        token: hub token for gated and private repositories.
        device: where the network runs.
        dtype: ``float32``, ``float16``, ``bfloat16``, or ``auto``: as it is stored, but float32 on a CPU in place of
            float16, which CPUs are slow in.

    Raises:
        ModelUnavailable: the model is missing, gated, damaged, of another kind or cannot be reached.
        OutOfMemory: the network does not fit on the device.
    """
    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    with explained_errors(model, "LM_MODEL", kind="a language model that transformers knows", files=_FILES):
        tokenizer = AutoTokenizer.from_pretrained(model, token=token)
        network = AutoModelForCausalLM.from_pretrained(model, token=token, dtype=dtype)
        if dtype == "auto" and device.type == "cpu" and network.dtype == torch.float16:
            network = network.float()
        # transformers 5 makes up a tokenizer without words where its files are missing.
        if len(tokenizer) < 0.5 * network.config.get_text_config().vocab_size:
            raise ValueError("the tokenizer has fewer tokens than the model")
        nn.Module.to(network, device)
        return TransformersLanguageModel(network.eval(), tokenizer)


def connect_language_model(base_url: str, model: str | None, api_key: str | None) -> LanguageModel:
    """A language model behind an OpenAI-compatible server; it is first spoken to when there is something to answer.

    Raises:
        InvalidSettings: the URL is none, or the name of the model is missing.
    """
    if not base_url.lower().startswith(("http://", "https://")):
        raise InvalidSettings("LM_BASE_URL must be a URL such as https://example.com/v1.")
    if model is None:
        raise InvalidSettings("LM_BASE_URL needs LM_MODEL: the name of the model at that server.")
    return OpenAIServer(base_url, model, api_key)
