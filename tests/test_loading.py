"""Where models come from: the environment, the mounted repository, the defaults."""

import logging
import shutil
from pathlib import Path

import pytest
import torch

from config import ModelSettings
from speech_pipeline.errors import InvalidSettings, RecognitionUnavailable, SpeechError
from speech_pipeline.loading import DEFAULT_ASR_MODEL, load_pipeline, resolve_device, resolve_sources
from tests.programs import run_program


@pytest.fixture(autouse=True)
def no_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("ASR_MODEL", "ASSISTANT_MODEL", "DIARIZATION_MODEL", "HF_TOKEN", "DEVICE", "DTYPE"):
        monkeypatch.delenv(name, raising=False)
    for name in ("LM_MODEL", "LM_BASE_URL", "LM_API_KEY", "TTS_MODEL", "TTS_FALLBACK"):
        monkeypatch.delenv(name, raising=False)


def _write(file: Path, text: str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")


def _repository_with_weights(folder: Path) -> Path:
    _write(folder / "config.json", '{"model_type": "whisper"}')
    _write(folder / "assistant" / "config.json", '{"model_type": "whisper"}')
    _write(folder / "diarization" / "config.yaml", "pipeline: {}")
    return folder


def test_defaults_without_settings_and_weights(tmp_path: Path) -> None:
    sources = resolve_sources(ModelSettings.from_environment(), tmp_path)
    assert (sources.asr, sources.assistant, sources.diarization) == (DEFAULT_ASR_MODEL, None, None)
    assert resolve_sources(ModelSettings.from_environment(), None) == sources


def test_mounted_weights_come_before_defaults(tmp_path: Path) -> None:
    repository = _repository_with_weights(tmp_path)
    sources = resolve_sources(ModelSettings.from_environment(), repository)
    assert sources.asr == str(repository)
    assert sources.assistant == str(repository / "assistant")
    assert sources.diarization == str(repository / "diarization")


def test_the_environment_comes_before_mounted_weights(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ASR_MODEL", "openai/whisper-small")
    monkeypatch.setenv("ASSISTANT_MODEL", "")
    sources = resolve_sources(ModelSettings.from_environment(), _repository_with_weights(tmp_path))
    assert sources.asr == "openai/whisper-small"
    assert sources.assistant == str(tmp_path / "assistant")


def test_none_leaves_out_what_is_mounted_or_a_default(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("ASR_MODEL", "ASSISTANT_MODEL", "DIARIZATION_MODEL"):
        monkeypatch.setenv(name, "None")
    repository = _repository_with_weights(tmp_path)
    sources = resolve_sources(ModelSettings.from_environment(), repository)
    assert (sources.asr, sources.assistant, sources.diarization) == (None, None, None)


def test_without_recognition_recordings_are_refused_before_any_work() -> None:
    from config import InferenceConfig

    pipeline = load_pipeline(ModelSettings(asr_model="none"))
    with pytest.raises(RecognitionUnavailable, match="ASR_MODEL"):
        pipeline.respond(b"this is no audio", InferenceConfig())


def test_other_models_in_the_repository_are_not_taken_for_whisper(tmp_path: Path) -> None:
    _write(tmp_path / "config.json", '{"model_type": "bert"}')
    assert resolve_sources(ModelSettings.from_environment(), tmp_path).asr == DEFAULT_ASR_MODEL
    _write(tmp_path / "config.json", "{broken")
    with pytest.raises(InvalidSettings, match=r"config\.json"):
        resolve_sources(ModelSettings.from_environment(), tmp_path)


def test_starter_names_the_starter_model_of_its_kind(starter_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("ASR_MODEL", "ASSISTANT_MODEL", "DIARIZATION_MODEL"):
        monkeypatch.setenv(name, "Starter")
    monkeypatch.setenv("STARTER_DIR", str(starter_dir))
    sources = resolve_sources(ModelSettings.from_environment())
    assert sources.asr == sources.assistant == str(starter_dir / "whisper-base")
    assert sources.diarization == str(starter_dir / "diarization")


def test_a_repository_with_weights_is_loaded_from_anywhere(
    starter_dir: Path, sample_call: Path, tmp_path: Path
) -> None:
    from config import InferenceConfig

    repository = tmp_path / "moved repository"
    shutil.copytree(starter_dir / "whisper-base", repository)
    shutil.copytree(starter_dir / "diarization", repository / "diarization")
    pipeline = load_pipeline(ModelSettings.from_environment(), repository)
    config, _ = InferenceConfig.from_request({"diarize": True})
    transcript = pipeline.transcribe(sample_call.read_bytes(), config)
    assert "jersey" in transcript.text.lower()
    assert len({turn.speaker for turn in transcript.turns}) == 2


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_the_precision_is_told(dtype: str, starter_dir: Path, caplog: pytest.LogCaptureFixture) -> None:
    settings = ModelSettings(asr_model=str(starter_dir / "whisper-tiny.en"), device="cpu", dtype=dtype)
    with caplog.at_level(logging.INFO, "speech_pipeline"):
        load_pipeline(settings)
    (message,) = [record.getMessage() for record in caplog.records if record.name == "speech_pipeline.loading"]
    assert "cpu" in message
    assert f"encoder=torch.{dtype}, decoder=torch.{dtype}" in message
    assert str(starter_dir) not in message


@pytest.mark.parametrize("name", ["gpu", "cuda:99", "cuda:x", "cpu:cpu", ""])
def test_devices_that_are_not_there_are_refused(name: str) -> None:
    with pytest.raises(InvalidSettings, match="DEVICE"):
        resolve_device(name)


def test_auto_device_exists() -> None:
    assert torch.zeros(1, device=resolve_device("auto")).item() == 0


def test_without_models_for_replies_nothing_of_them_is_imported(starter_dir: Path) -> None:
    program = """
import json, sys
from config import ModelSettings
from speech_pipeline.loading import load_pipeline
load_pipeline(ModelSettings.from_environment())
names = ("speech_pipeline.reply.reply_stage", "speech_pipeline.voices.loading", "openai", "babel", "sentencex")
print(json.dumps([name for name in names if name in sys.modules]))
"""
    unset = dict.fromkeys(("LM_MODEL", "LM_BASE_URL", "TTS_MODEL"), "")
    assert run_program(program, ASR_MODEL=str(starter_dir / "whisper-tiny.en"), **unset) == []


@pytest.mark.parametrize(
    ("variables", "setting"),
    [
        ({"LM_BASE_URL": "http://127.0.0.1:1/v1"}, "LM_MODEL"),
        ({"LM_BASE_URL": "somewhere", "LM_MODEL": "m"}, "LM_BASE_URL"),
        ({"LM_MODEL": "/nowhere/at/all"}, "LM_MODEL"),
    ],
)
def test_wrong_models_for_replies_are_named(
    starter_dir: Path, monkeypatch: pytest.MonkeyPatch, variables: dict[str, str], setting: str
) -> None:
    monkeypatch.setenv("ASR_MODEL", str(starter_dir / "whisper-tiny.en"))
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(SpeechError) as raised:
        load_pipeline(ModelSettings.from_environment())
    assert raised.value.code in ("invalid_settings", "model_unavailable")
    assert setting in str(raised.value)
    assert "/nowhere" not in str(raised.value)
