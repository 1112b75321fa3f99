import json
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from speech_pipeline.errors import InvalidSettings, ModelMismatch, ModelUnavailable, SpeechError
from speech_pipeline.recognition.loading import load_recognizer
from speech_pipeline.recognition.precision import Precision
from speech_pipeline.recognition.whisper import WhisperRecognizer
from tests.local_hub import local_hub
from tests.programs import run_program

CPU = torch.device("cpu")
FLOAT32 = Precision(encoder=torch.float32, decoder=torch.float32)

LOADING_PROGRAM = """
import json, sys, torch
from speech_pipeline.errors import SpeechError
from speech_pipeline.recognition.loading import load_recognizer
from speech_pipeline.recognition.precision import Precision
answers = {}
for model in sys.argv[1:]:
    try:
        precision = Precision(encoder=torch.float32, decoder=torch.float32)
        load_recognizer(model, None, token="hf_secret", device=torch.device("cpu"), precision=precision)
        answers[model] = "loaded"
    except SpeechError as error:
        answers[model] = str(error)
print(json.dumps(answers))
"""


def load(model: Path | str, assistant: Path | str | None = None) -> WhisperRecognizer:
    named = None if assistant is None else str(assistant)
    return load_recognizer(str(model), named, token=None, device=CPU, precision=FLOAT32)


def load_elsewhere(*models: str, **environment: str) -> dict[str, str]:
    """What comes of loading models in a process with other environment variables."""
    answers: dict[str, str] = run_program(LOADING_PROGRAM, *models, **environment)
    return answers


@pytest.fixture
def folder(starter_dir: Path, tmp_path: Path) -> Path:
    """Whisper tiny.en, by links that a test may replace."""
    copy = tmp_path / "whisper"
    copy.mkdir()
    for file in (starter_dir / "whisper-tiny.en").iterdir():
        (copy / file.name).symlink_to(file)
    return copy


def replace(file: Path, content: bytes) -> None:
    file.unlink()
    file.write_bytes(content)


def truncate(file: Path) -> None:
    replace(file, file.read_bytes()[: 2**20])


class TestFolder:
    def test_loads(self, folder: Path) -> None:
        assert load(folder).languages == ("en",)

    @pytest.mark.parametrize("config", [{"model_type": "bert"}, {"model_type": "wav2vec2", "vocab_size": 32}])
    def test_with_another_kind_of_model(self, folder: Path, config: dict[str, object]) -> None:
        replace(folder / "config.json", json.dumps(config).encode())
        with pytest.raises(InvalidSettings, match=f"ASR_MODEL must be a Whisper model.*{config['model_type']}"):
            load(folder)

    @pytest.mark.parametrize(
        "spoil",
        [
            lambda folder: truncate(folder / "model.safetensors"),
            lambda folder: replace(folder / "model.safetensors", b"\xff" * 1000),
            lambda folder: replace(folder / "model.safetensors", b""),
            lambda folder: (folder / "model.safetensors").unlink(),
            lambda folder: (folder / "config.json").unlink(),
            lambda folder: replace(folder / "config.json", b"{"),
            lambda folder: replace(folder / "config.json", b"[]"),
            lambda folder: replace(folder / "config.json", b"{}"),
            lambda folder: replace(folder / "config.json", b'{"model_type": "whisper"}'),
            lambda folder: replace(folder / "config.json", b'{"model_type": "whisper", "d_model": "x"}'),
            lambda folder: replace(folder / "config.json", b'{"model_type": "unheard-of"}'),
            lambda folder: (folder / "preprocessor_config.json").unlink(),
            lambda folder: replace(folder / "preprocessor_config.json", b"x"),
            lambda folder: replace(folder / "tokenizer.json", b"x"),
            lambda folder: [
                file.unlink() for file in folder.iterdir() if file.stem in ("tokenizer", "vocab", "merges")
            ],
            lambda folder: [file.unlink() for file in folder.iterdir()],
        ],
        ids=lambda value: None,
    )
    def test_with_damaged_files(self, folder: Path, spoil: Callable[[Path], object]) -> None:
        spoil(folder)
        with pytest.raises(ModelUnavailable) as caught:
            load(folder)
        check_sentence(caught.value, folder, "ASR_MODEL")

    def test_needs_no_generation_config(self, folder: Path) -> None:
        (folder / "generation_config.json").unlink()
        assert load(folder).languages == ("en",)

    def test_that_is_missing(self, tmp_path: Path) -> None:
        with pytest.raises(ModelUnavailable) as caught:
            load(tmp_path / "nothing")
        check_sentence(caught.value, tmp_path, "ASR_MODEL")

    def test_of_an_assistant_names_its_own_setting(self, folder: Path, tmp_path: Path) -> None:
        with pytest.raises(ModelUnavailable) as caught:
            load(folder, tmp_path / "nothing")
        check_sentence(caught.value, tmp_path, "ASSISTANT_MODEL")

    def test_of_an_assistant_of_another_family(self, folder: Path, starter_dir: Path) -> None:
        with pytest.raises(ModelMismatch) as caught:
            load(folder, starter_dir / "whisper-base")
        check_sentence(caught.value, folder, "ASSISTANT_MODEL")


def check_sentence(error: SpeechError, folder: Path, setting: str) -> None:
    """The sentence names the setting and says nothing of where files lie."""
    assert setting in error.message
    assert error.message.endswith(".")
    assert str(folder) not in error.message
    assert "Error" not in error.message


@pytest.mark.parametrize("model", ["/no/such/folder", "no/such/folder/at/all", "a b", "~nobody-here/x", "x" * 5000])
def test_a_name_that_is_neither_a_folder_nor_a_hub_id(model: str) -> None:
    with pytest.raises((InvalidSettings, ModelUnavailable), match="ASR_MODEL"):
        load(model)


class TestHub:
    def test_loads_what_may_be_read_and_explains_what_may_not(self, folder: Path, tmp_path: Path) -> None:
        other = tmp_path / "other"
        other.mkdir()
        (other / "config.json").write_text('{"model_type": "bert"}')
        repositories = {"acme/whisper": folder, "acme/locked": folder, "acme/other": other}
        with local_hub(repositories, gated={"acme/locked"}) as address:
            answers = load_elsewhere(
                *repositories, "acme/missing", HF_ENDPOINT=address, HF_HOME=str(tmp_path / "cache")
            )
        assert answers["acme/whisper"] == "loaded"
        assert answers["acme/locked"].startswith("[model_unavailable] ASR_MODEL (acme/locked) is gated")
        assert "HF_TOKEN" in answers["acme/locked"]
        assert answers["acme/other"].startswith("[invalid_settings]")
        assert answers["acme/missing"].startswith("[model_unavailable] ASR_MODEL (acme/missing) was not found")
        assert "hf_secret" not in json.dumps(answers)
        assert str(tmp_path) not in json.dumps(answers)

    def test_without_a_connection(self, tmp_path: Path) -> None:
        answers = load_elsewhere("acme/whisper", HF_HOME=str(tmp_path), HF_HUB_OFFLINE="1")
        assert answers["acme/whisper"].startswith("[model_unavailable] ASR_MODEL (acme/whisper)")
        assert "the hub cannot be reached" in answers["acme/whisper"]
        assert str(tmp_path) not in answers["acme/whisper"]
