"""Settings to a pipeline that is ready to work: which models, where they run, how precise they are."""

import json
import logging
from dataclasses import dataclass
from pathlib import Path

import torch

from config import NO_MODEL, STARTER, ModelSettings
from speech_pipeline import starter
from speech_pipeline.audio.voice_activity import VoiceActivityDetector
from speech_pipeline.diarization_loading import load_diarizer
from speech_pipeline.errors import InvalidSettings
from speech_pipeline.pipeline import SpeechPipeline
from speech_pipeline.progress import Progress, no_progress
from speech_pipeline.recognition.loading import load_recognizer
from speech_pipeline.recognition.precision import resolve_precision

logger = logging.getLogger(__name__)

DEFAULT_ASR_MODEL = "openai/whisper-large-v3-turbo"
"""What a deployment transcribes with when nothing is set and no weights are mounted. It does not translate."""

ASSISTANT_FOLDER = "assistant"
DIARIZATION_FOLDER = "diarization"
"""Folders of a repository with weights of its own, whose top level holds the Whisper model."""


@dataclass(frozen=True, slots=True)
class Sources:
    """Where each model is loaded from: a hub id or a folder, None for no such model."""

    asr: str | None
    assistant: str | None
    diarization: str | None
    chat: str | None = None


def load_pipeline(
    settings: ModelSettings, repository: Path | None = None, progress: Progress = no_progress
) -> SpeechPipeline:
    """Load every model the settings name, and check each against its partner.

    Args:
        settings: what is loaded.
        repository: folder of the deployed repository, whose weights are used where a model is not set.
        progress: told how far each model is.

    Raises:
        InvalidSettings: a setting is wrong, or names a model of another kind.
        ModelUnavailable: a model is missing, gated, damaged or cannot be reached.
        ModelMismatch: the assistant does not fit the main model.
    """
    device = resolve_device(settings.device)
    sources = resolve_sources(settings, repository, progress)
    token = settings.hf_token.get_secret_value() if settings.hf_token else None
    progress("loading", 0.0)
    recognizer = None
    if sources.asr is not None:
        precision = resolve_precision(settings.dtype, device)
        # It may have been measured, and decides speed and, by a little, the text.
        logger.info("The recogniser runs on %s in %s.", device, precision)
        recognizer = load_recognizer(
            sources.asr,
            sources.assistant,
            token=token,
            device=device,
            precision=precision,
            lean_loop=settings.lean_decoding,
            cuda_graphs=settings.cuda_graphs,
        )
    progress("loading", 0.6)
    diarizer = None
    if sources.diarization is not None:
        diarizer = load_diarizer(sources.diarization, token=token, device=device, fast=settings.fast_diarization)
    voice_activity = VoiceActivityDetector()
    progress("loading", 0.7)
    reply_stage = None
    if settings.lm_model or settings.lm_base_url or settings.tts_model:
        from speech_pipeline.reply.loading import load_reply_stage  # a deployment without it does without its libraries

        reply_stage = load_reply_stage(settings, sources.chat, token=token, device=device)
    progress("loading", 1.0)
    return SpeechPipeline(
        recognizer,
        voice_activity,
        diarizer,
        reply_stage,
        max_audio_bytes=settings.max_audio_bytes,
        max_audio_duration_s=settings.max_audio_duration_s,
        # On a CPU either stage keeps all cores busy.
        overlap_stages=device.type == "cuda" if settings.overlap_stages == "auto" else settings.overlap_stages,
    )


def resolve_sources(
    settings: ModelSettings, repository: Path | None = None, progress: Progress = no_progress
) -> Sources:
    """Decide where each model comes from: the environment, the repository, the default; starter models are fetched."""
    repository = repository if repository is not None and repository.is_dir() else None
    named = {
        "asr": settings.asr_model or _mounted_whisper(repository) or DEFAULT_ASR_MODEL,
        "assistant": settings.assistant_model or _mounted_whisper(repository and repository / ASSISTANT_FOLDER),
        "diarization": settings.diarization_model or _mounted_diarization(repository),
        "chat": settings.lm_model if settings.lm_base_url is None else None,
    }
    named = {role: None if model and model.lower() == NO_MODEL else model for role, model in named.items()}
    wanted = {starter.ROLES[role] for role, model in named.items() if model and model.lower() == STARTER}
    if wanted:
        starter.install(settings.starter_dir, kinds=sorted(wanted), progress=progress)
    paths = {
        role: str(starter.path_of(settings.starter_dir, starter.ROLES[role]))
        if model and model.lower() == STARTER
        else model
        for role, model in named.items()
    }
    return Sources(
        asr=paths["asr"],
        assistant=paths["assistant"],
        diarization=paths["diarization"],
        chat=paths["chat"],
    )


def resolve_device(name: str) -> torch.device:
    """The device of a name; ``auto`` takes CUDA, then Apple's MPS, then the CPU.

    Raises:
        InvalidSettings: there is no such device on this machine.
    """
    if name == "auto":
        if torch.cuda.is_available():
            return torch.device("cuda")
        return torch.device("mps" if torch.backends.mps.is_available() else "cpu")
    try:
        device = torch.device(name)
    except RuntimeError:
        raise InvalidSettings("DEVICE must be auto, cpu, mps, cuda, or one GPU such as cuda:0.") from None
    if device.type == "cuda" and (device.index or 0) >= torch.cuda.device_count():
        raise InvalidSettings(f"DEVICE is {name}, but this machine has {torch.cuda.device_count()} CUDA devices.")
    if device.type == "mps" and not torch.backends.mps.is_available():
        raise InvalidSettings("DEVICE is mps, which this machine does not have.")
    return device


def _mounted_whisper(folder: Path | None) -> str | None:
    """The folder, where it holds a Whisper model."""
    if folder is None or not (folder / "config.json").is_file():
        return None
    try:
        config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    except ValueError:
        raise InvalidSettings("The config.json of the mounted model is not valid JSON.") from None
    return str(folder) if isinstance(config, dict) and config.get("model_type") == "whisper" else None


def _mounted_diarization(repository: Path | None) -> str | None:
    folder = repository / DIARIZATION_FOLDER if repository is not None else None
    return str(folder) if folder is not None and (folder / "config.yaml").is_file() else None
