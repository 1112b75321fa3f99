"""What ``TTS_MODEL`` and ``TTS_FALLBACK`` name, made into a voice."""

import re
from pathlib import Path

import torch

from config import STARTER
from speech_pipeline.errors import InvalidSettings
from speech_pipeline.languages import language_code
from speech_pipeline.voices.combined import VoicePerLanguage, VoiceWithFallback, unsupported
from speech_pipeline.voices.engine import Engine
from speech_pipeline.voices.engine_voice import EngineVoice
from speech_pipeline.voices.voice import Voice

HIBARI, ESPEAK, KOKORO = "hibari", "espeak", "kokoro"
"""Names of engines that need no model to be named; ``starter`` is another name of the first."""

_PER_LANGUAGE = re.compile(r"\s*([A-Za-z]+(?:[-_][A-Za-z]+)*)\s*=\s*(\S.*?)\s*")


def load_voice(model: str, fallback: str | None = None, *, token: str | None, device: torch.device) -> Voice:
    """Load the voice that a setting names, and check that it speaks.

    Args:
        model: ``starter`` (hibari), ``espeak``, ``kokoro``, or the hub id or folder of a VITS or Kokoro model; or one
            of these for each language, as ``en=starter,fr=facebook/mms-tts-fra``.
        fallback: the same, for the languages the first one does not speak.
        token: hub token for gated and private repositories.
        device: where networks of torch run.

    Raises:
        InvalidSettings: the setting names no voice, or one that does not speak the language it is given.
        ModelUnavailable: a model or a package is missing, gated, damaged or cannot be reached.
        OutOfMemory: a network does not fit on the device.
    """
    voice = _load(model, "TTS_MODEL", token, device)
    return voice if fallback is None else VoiceWithFallback(voice, _load(fallback, "TTS_FALLBACK", token, device))


def _load(value: str, setting: str, token: str | None, device: torch.device) -> Voice:
    """Args: the value of the setting, and its name for messages."""
    entries = [_PER_LANGUAGE.fullmatch(entry) for entry in value.split(",")]
    if not any(entries):
        return EngineVoice(_engine(value.strip(), None, setting, token, device))
    by_language: dict[str, Voice] = {}
    engines: dict[str, Voice] = {}
    for entry in entries:
        if entry is None:
            raise InvalidSettings(
                f"{setting} must name one voice, or one for each language as in en=starter,fr=facebook/mms-tts-fra."
            )
        language, model = _code(entry[1], setting), entry[2]
        if model not in engines:
            engines[model] = EngineVoice(_engine(model, language, setting, token, device))
        if language not in engines[model].voices:
            raise InvalidSettings(f"In {setting}: {unsupported(model, language, list(engines[model].voices)).message}")
        by_language[language] = engines[model]
    return VoicePerLanguage(by_language)


def _engine(model: str, language: str | None, setting: str, token: str | None, device: torch.device) -> Engine:
    # Each engine imports libraries that the others do without.
    model = _without_tilde(model, setting)
    name = model.lower()
    if name in (STARTER, HIBARI):
        from speech_pipeline.voices.hibari import HibariEngine

        return HibariEngine()
    if name == ESPEAK:
        from speech_pipeline.voices.espeak import EspeakEngine

        return EspeakEngine()
    from speech_pipeline.voices.kokoro import is_kokoro_folder, load_kokoro

    if name == KOKORO or "kokoro" in name.rpartition("/")[2] or is_kokoro_folder(model):
        return load_kokoro(KOKORO if name == KOKORO else model, token=token, setting=setting)
    from speech_pipeline.voices.vits import load_vits

    return load_vits(model, language, token=token, device=device, setting=setting)


def _without_tilde(model: str, setting: str) -> str:
    """``~`` as the shell takes it."""
    try:
        return str(Path(model).expanduser()) if model.startswith("~") else model
    except RuntimeError:
        raise InvalidSettings(f"{setting} must name a folder; the user after ~ is unknown.") from None


def _code(language: str, setting: str) -> str:
    try:
        return language_code(language)
    except ValueError as error:
        raise InvalidSettings(f"A language in {setting} {error}.") from None
