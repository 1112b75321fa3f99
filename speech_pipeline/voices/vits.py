"""VITS and MMS: a network of ``transformers`` that speaks one language; the hub has them for more than a thousand."""

import importlib.util
import logging
import threading
from collections.abc import Callable
from types import MappingProxyType
from typing import Any

import torch
import transformers
from torch.overrides import TorchFunctionMode
from transformers import PretrainedConfig, VitsModel, VitsTokenizer
from transformers.utils.import_utils import is_phonemizer_available, is_uroman_available

from speech_pipeline.errors import InvalidSettings, ModelUnavailable, OutOfMemory
from speech_pipeline.languages import language_code
from speech_pipeline.memory import is_out_of_memory, release_cached_memory
from speech_pipeline.model_errors import explained_errors
from speech_pipeline.voices.voice import Speech

_SEED = 0
_FILES = "config.json, model.safetensors, vocab.json and tokenizer_config.json"


class VitsEngine:
    """Speaks with one network. Its speakers are the voices, named by their numbers."""

    name = "vits"
    longest_text = 300

    def __init__(self, network: VitsModel, tokenizer: VitsTokenizer, language: str) -> None:
        """Take over a loaded network.

        Args:
            network: in evaluation mode, on its device.
            tokenizer: of the network.
            language: code of the language it speaks.

        Raises:
            ModelUnavailable: the package is missing that turns text into the symbols of the network.
        """
        self._network = network
        self._tokenizer = tokenizer
        self._romanize = _romanizer() if tokenizer.is_uroman else None
        if tokenizer.phonemize:
            _find_phonemes()
        # The pace is an attribute of the network, and the library of phonemes takes one text at a time.
        self._lock = threading.Lock()
        speakers = network.config.num_speakers
        self.voices = MappingProxyType({language: tuple(map(str, range(speakers))) if speakers > 1 else ("default",)})

    def sampling_rate(self, language: str) -> int:
        """Samples a second."""
        return int(self._network.config.sampling_rate)

    def speak(self, text: str, language: str, voice: str, speed: float) -> Speech:
        """Speak a short text. What the network has no symbol for is left out, with a warning."""
        with self._lock:
            if self._romanize is not None:
                text = self._romanize(text)
            unknown = self._unknown_characters(text)
            samples = torch.zeros(0)
            if self._tokenizer.prepare_for_tokenization(text)[0].strip():
                samples = self._run(self._tokenizer(text, return_tensors="pt"), voice, speed)
        warnings = (f"The voice left out characters it does not know: {unknown[:40]}",) if unknown else ()
        return Speech(samples.float().cpu().numpy(), self.sampling_rate(language), warnings)

    def _unknown_characters(self, text: str) -> str:
        """Letters and digits without a symbol."""
        if self._tokenizer.phonemize:
            return ""
        known = self._tokenizer.encoder
        characters = dict.fromkeys(self._tokenizer.normalize_text(text))
        return "".join(character for character in characters if character.isalnum() and character not in known)

    def _run(self, symbols: Any, voice: str, speed: float) -> torch.Tensor:
        network = self._network
        speaker = int(voice) if voice.isdigit() else None
        try:
            with torch.inference_mode(), _SeededNoise(network.device):
                network.speaking_rate = network.config.speaking_rate * speed
                waveform: torch.Tensor = network(**symbols.to(network.device), speaker_id=speaker).waveform
        except RuntimeError as error:
            if not is_out_of_memory(error):
                raise
            release_cached_memory()
            raise OutOfMemory("A piece of the text does not fit in memory when it is spoken.") from error
        return waveform[0]


def load_vits(
    model: str, language: str | None = None, *, token: str | None, device: torch.device, setting: str = "TTS_MODEL"
) -> VitsEngine:
    """Load a VITS model.

    Args:
        model: hub id or folder.
        language: code of the language it speaks; None: the one its tokenizer states.
        token: hub token for gated and private repositories.
        device: where the network runs.
        setting: the environment variable that names the model.

    Raises:
        InvalidSettings: the model is of another kind, or its language is not known.
        ModelUnavailable: the model, or a package it needs, is missing, gated, damaged or cannot be reached.
        OutOfMemory: the network does not fit on the device.
    """
    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    with explained_errors(model, setting, kind="a VITS model", files=_FILES):
        # AutoConfig would guess the type of a folder without a configuration from its name.
        kind = PretrainedConfig.get_config_dict(model, token=token)[0]["model_type"]
        if kind != "vits":
            raise InvalidSettings(f"{setting} must be a VITS model; the one given is of type {str(kind)[:40]}.")
        tokenizer = VitsTokenizer.from_pretrained(model, token=token)
        network = VitsModel.from_pretrained(model, token=token, dtype=torch.float32)
        torch.nn.Module.to(network, device)
        return VitsEngine(network.eval(), tokenizer, language or _language_of(tokenizer, setting))


class _SeededNoise(TorchFunctionMode):
    """Makes the networks of this thread draw the same noise every time, without touching the seed of the others."""

    def __init__(self, device: torch.device) -> None:
        super().__init__()
        self._generator = torch.Generator(device).manual_seed(_SEED)

    def __torch_function__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if function is torch.randn:
            return function(*args, **{"device": self._generator.device, **kwargs, "generator": self._generator})
        if function is torch.randn_like:
            like = args[0]
            return torch.randn(like.shape, generator=self._generator, dtype=like.dtype, device=like.device)
        return function(*args, **kwargs)


def _language_of(tokenizer: VitsTokenizer, setting: str) -> str:
    if tokenizer.language is None and tokenizer.phonemize:
        return "en"  # transformers turns text into English phonemes only
    try:
        return language_code(tokenizer.language or "")
    except ValueError:
        raise InvalidSettings(
            f"The model does not say which language its voice speaks; say it in {setting}, such as "
            "fr=facebook/mms-tts-fra."
        ) from None


def _romanizer() -> Callable[[str], str]:
    if not is_uroman_available():
        raise ModelUnavailable("This VITS voice needs the package uroman: pip install uroman.")
    import uroman

    romanizer = uroman.Uroman()
    return lambda text: str(romanizer.romanize_string(text))


def _find_phonemes() -> None:
    """Let the package phonemizer use the eSpeak NG library of espeakng-loader, where no other one is installed."""
    if not is_phonemizer_available():
        raise ModelUnavailable("This VITS voice needs the package phonemizer: pip install phonemizer espeakng-loader.")
    from phonemizer.backend import EspeakBackend

    logging.getLogger("phonemizer").propagate = False  # it warns of every text whose words run together when spoken
    if EspeakBackend.is_available():
        return
    if importlib.util.find_spec("espeakng_loader") is None:
        raise ModelUnavailable("This VITS voice needs the package espeakng-loader: pip install espeakng-loader.")
    import espeakng_loader
    from phonemizer.backend.espeak.wrapper import EspeakWrapper

    EspeakWrapper.set_library(espeakng_loader.get_library_path())
    EspeakWrapper.set_data_path(espeakng_loader.get_data_path())
