"""Kokoro: 82 million parameters, natural in several languages, quick on a CPU; through the package ``kokoro-onnx``."""

import importlib.util
import logging
import tempfile
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from speech_pipeline.errors import InvalidSettings, ModelUnavailable
from speech_pipeline.model_errors import explained_errors, is_folder
from speech_pipeline.voices.voice import Speech

HUB_REPOSITORY = "onnx-community/Kokoro-82M-v1.0-ONNX"
"""What the name ``kokoro`` stands for."""

_HUB_FILES = ("onnx/model.onnx", "voices/*.bin")
_FILES = "a model as *.onnx or onnx/*.onnx, and voices as voices*.npz, voices*.bin or voices/*.bin"

_ESPEAK_LANGUAGES = {
    "a": "en-us", "b": "en-gb", "e": "es", "f": "fr-fr", "h": "hi", "i": "it", "p": "pt-br",
}  # fmt: skip
"""What eSpeak NG calls the languages it gives the phonemes of, by the first letter of the voices' names."""

_LANGUAGES = {"a": "en", "b": "en", "e": "es", "f": "fr", "h": "hi", "i": "it", "j": "ja", "p": "pt", "z": "zh"}
"""The language of a voice, by the first letter of its name."""

_JAPANESE_PACKAGES = ("misaki", "fugashi", "unidic_lite", "jaconv", "mojimoji")
_CHINESE_PACKAGES = ("misaki", "jieba", "pypinyin", "cn2an", "ordered_set")

Style = NDArray[np.float32]
"""A voice: float32 [lengths, 1, 256], one vector for each number of phonemes."""


class KokoroEngine:
    """Speaks with Kokoro. Japanese and Chinese need packages of their own, and are left out where these are missing."""

    name = "kokoro"
    longest_text = 300

    def __init__(self, model: Any, styles: Mapping[str, Style]) -> None:
        """Take over a loaded model.

        Args:
            model: a ``kokoro_onnx.Kokoro``.
            styles: voices by name.
        """
        self._model = model
        self._styles = dict(styles)
        phonemes: dict[str, Callable[[str], str]] = {
            letter: lambda text, language=language: str(model.tokenizer.phonemize(text, language))  # type: ignore[misc]
            for letter, language in _ESPEAK_LANGUAGES.items()
        }
        if all(map(importlib.util.find_spec, _JAPANESE_PACKAGES)):
            phonemes["j"] = _japanese_phonemes()
        if all(map(importlib.util.find_spec, _CHINESE_PACKAGES)):
            phonemes["z"] = _chinese_phonemes()
        self._phonemes = phonemes
        self._lock = threading.Lock()  # what turns text into phonemes reads one text at a time
        voices: dict[str, tuple[str, ...]] = {}
        for name in sorted(styles, key=lambda name: (name != "af_heart", name)):
            if name[0] in phonemes:
                voices[_LANGUAGES[name[0]]] = (*voices.get(_LANGUAGES[name[0]], ()), name)
        self.voices = MappingProxyType(voices)

    def sampling_rate(self, language: str) -> int:
        """Samples a second."""
        return 24_000

    def speak(self, text: str, language: str, voice: str, speed: float) -> Speech:
        """Speak a short text."""
        with self._lock:
            phonemes = self._phonemes[voice[0]](text)
        if not self._model.tokenizer.known(phonemes).strip(" .,!?;:"):
            return Speech(np.zeros(0, np.float32), self.sampling_rate(language))
        samples, sampling_rate = self._model.create(phonemes, self._styles[voice], speed=speed, is_phonemes=True)
        return Speech(samples, sampling_rate)


def load_kokoro(model: str, *, token: str | None, setting: str = "TTS_MODEL") -> KokoroEngine:
    """Load Kokoro.

    Args:
        model: ``kokoro``, a hub id, or a folder with a model (``*.onnx`` or ``onnx/*.onnx``) and the voices, all in one
            file of numpy (``voices*.npz``, ``voices*.bin``) or each in a file of bare float32 (``voices/NAME.bin``).
        token: hub token for private repositories.
        setting: the environment variable that names the model.

    Raises:
        InvalidSettings: the folder holds something else.
        ModelUnavailable: the package or the model is missing, damaged or cannot be reached.
        OutOfMemory: the model does not fit in memory.
    """
    if importlib.util.find_spec("kokoro_onnx") is None:
        raise ModelUnavailable("The Kokoro voice needs the package kokoro-onnx: pip install kokoro-onnx.")
    from kokoro_onnx import Kokoro

    logging.getLogger("phonemizer").propagate = False  # it warns of every text whose words run together when spoken
    with (
        explained_errors(model, setting, kind="a Kokoro model", files=_FILES),
        tempfile.TemporaryDirectory() as scratch,
    ):
        folder = Path(model) if is_folder(model) else _download(model, token)
        networks = _networks(folder)
        styles = _read_styles(folder)
        if not networks or not styles:
            raise InvalidSettings(f"A folder of Kokoro that {setting} names must hold {_FILES}.")
        archive = Path(scratch) / "voices.npz"  # the package takes voices in no other way
        np.savez(archive, style=next(iter(styles.values())))
        return KokoroEngine(Kokoro(str(networks[0]), str(archive)), styles)


def is_kokoro_folder(model: str) -> bool:
    """Whether a name is a folder with Kokoro's files in it."""
    return is_folder(model) and bool(_networks(Path(model))) and any(Path(model).glob("voices*"))


def _download(model: str, token: str | None) -> Path:
    from huggingface_hub import snapshot_download

    repository = HUB_REPOSITORY if model == "kokoro" else model
    return Path(snapshot_download(repository, allow_patterns=list(_HUB_FILES), token=token))


def _networks(folder: Path) -> list[Path]:
    return [*sorted(folder.glob("*.onnx")), *sorted(folder.glob("onnx/*.onnx"))]


def _read_styles(folder: Path) -> dict[str, Style]:
    for archive in (*folder.glob("voices*.npz"), *folder.glob("voices*.bin")):
        with np.load(archive) as styles:
            return {name: np.asarray(styles[name], np.float32) for name in styles.files}
    return {
        path.stem: np.fromfile(path, np.float32).reshape(-1, 1, 256) for path in sorted(folder.glob("voices/*.bin"))
    }


def _japanese_phonemes() -> Callable[[str], str]:
    from misaki.cutlet import Cutlet

    convert = Cutlet()
    return lambda text: str(convert(text)[0])


def _chinese_phonemes() -> Callable[[str], str]:
    from misaki.zh import ZHG2P

    convert = ZHG2P()
    return lambda text: str(convert(text)[0])
