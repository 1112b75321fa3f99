"""Language models that load, and what is said of those that do not."""

from pathlib import Path

import pytest
import torch

from speech_pipeline.errors import InvalidSettings, ModelUnavailable
from speech_pipeline.reply.loading import connect_language_model, load_language_model
from tests.programs import run_program

CPU = torch.device("cpu")

LOADING_PROGRAM = """
import json, sys, torch
from speech_pipeline.errors import SpeechError
from speech_pipeline.reply.loading import load_language_model
answers = {}
for model in sys.argv[1:]:
    try:
        load_language_model(model, token=None, device=torch.device("cpu"), dtype="auto")
    except SpeechError as error:
        answers[model] = str(error)
print(json.dumps(answers))
"""


def test_models_that_are_not_there() -> None:
    names = ("/nowhere/at/all", "no-one/has-this-model", "../..", "a b c", "x" * 300)
    answers = run_program(LOADING_PROGRAM, *names, HF_HUB_OFFLINE="1")
    for name in names:
        assert answers[name].startswith("[model_unavailable] LM_MODEL")
        assert "/nowhere" not in answers[name]


@pytest.mark.parametrize("damaged", ["model.safetensors", "tokenizer.json"])
@pytest.mark.parametrize("content", [None, b"", b"\xff" * 1_000])
def test_a_folder_with_damaged_files(
    chat_starter_dir: Path, tmp_path: Path, damaged: str, content: bytes | None
) -> None:
    for file in (chat_starter_dir / "chat").iterdir():
        if file.name == damaged:
            if content is not None:
                (tmp_path / file.name).write_bytes(content)
        elif file.stem not in ("vocab", "merges"):
            (tmp_path / file.name).symlink_to(file)
    with pytest.raises(ModelUnavailable, match="LM_MODEL could not be loaded") as raised:
        load_language_model(str(tmp_path), token=None, device=CPU, dtype="auto")
    assert str(tmp_path) not in str(raised.value)


def test_a_model_of_another_kind(starter_dir: Path, tmp_path: Path) -> None:
    with pytest.raises(ModelUnavailable, match="LM_MODEL could not be loaded"):
        load_language_model(str(starter_dir / "diarization"), token=None, device=CPU, dtype="auto")
    (tmp_path / "config.json").write_text("{broken")
    with pytest.raises(ModelUnavailable, match="LM_MODEL could not be loaded"):
        load_language_model(str(tmp_path), token=None, device=CPU, dtype="auto")


@pytest.mark.parametrize(("url", "model"), [("ftp://x", "m"), ("localhost:8000", "m"), ("http://x/v1", None)])
def test_a_server_that_is_set_wrongly(url: str, model: str | None) -> None:
    with pytest.raises(InvalidSettings, match="LM_"):
        connect_language_model(url, model, None)
