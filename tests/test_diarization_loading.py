import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import soundfile
import torch
import yaml

from speech_pipeline.diarization import Diarizer
from speech_pipeline.diarization_loading import load_diarizer
from speech_pipeline.errors import InvalidSettings, ModelUnavailable, SpeechError
from tests.local_hub import local_hub
from tests.programs import run_program

CONNECTING_PROGRAM = """
import json, sys
attempts = []
events = ("socket.connect", "socket.getaddrinfo", "socket.gethostbyname", "socket.sendto")
sys.addaudithook(lambda event, arguments: attempts.append(event) if event in events else None)
import soundfile, torch
from speech_pipeline.diarization_loading import load_diarizer
samples, _ = soundfile.read(sys.argv[2], dtype="float32")
turns = load_diarizer(sys.argv[1], token=None, device=torch.device("cpu")).diarize(samples[160000:240000]).turns
import time; time.sleep(1.5)  # telemetry is sent by a thread every half second
print(json.dumps({"turns": len(turns), "attempts": attempts}))
"""

LOADING_PROGRAM = """
import json, sys, torch
from speech_pipeline.diarization_loading import load_diarizer
from speech_pipeline.errors import SpeechError
answers = {}
for model in sys.argv[1:]:
    try:
        load_diarizer(model, token="hf_secret", device=torch.device("cpu"))
        answers[model] = "loaded"
    except SpeechError as error:
        answers[model] = str(error)
print(json.dumps(answers))
"""


def load(model: Path | str) -> Diarizer:
    return load_diarizer(str(model), token=None, device=torch.device("cpu"))


@pytest.fixture
def folder(starter_dir: Path, tmp_path: Path) -> Path:
    """A copy of the starter pipeline that a test may change."""
    return Path(shutil.copytree(starter_dir / "diarization", tmp_path / "pipeline"))


def change(folder: Path, edit: Callable[[dict[str, Any]], object]) -> None:
    file = folder / "config.yaml"
    config = yaml.safe_load(file.read_text())
    edit(config)
    file.write_text(yaml.safe_dump(config))


def change_parameters(folder: Path, **parameters: Any) -> None:
    """Set parameters of the pipeline; those that are None are removed."""

    def edit(config: dict[str, Any]) -> None:
        given = config["pipeline"]["params"] | parameters
        config["pipeline"]["params"] = {name: value for name, value in given.items() if value is not None}

    change(folder, edit)


class TestFolder:
    def test_can_be_moved(self, folder: Path, sample_call: Path) -> None:
        moved = folder.rename(folder.with_name("elsewhere"))
        samples, _ = soundfile.read(sample_call, dtype="float32")
        assert load(moved).diarize(samples[160_000:240_000]).turns

    def test_can_be_named_by_its_configuration(self, folder: Path) -> None:
        load(folder / "config.yaml")

    def test_may_name_its_files_by_relative_paths_and_leave_out_what_is_unused(self, folder: Path) -> None:
        change_parameters(
            folder, segmentation="segmentation", embedding="wespeaker-campplus/speaker-embedding.onnx", plda=None
        )
        load(folder)

    def test_of_the_community_generation(self, folder: Path, sample_call: Path) -> None:
        change_parameters(folder, clustering="VBxClustering")
        change(folder, lambda config: config["params"].update(clustering={"threshold": 0.6, "Fa": 0.07, "Fb": 0.8}))
        diarizer = load(folder)
        samples, _ = soundfile.read(sample_call, dtype="float32")
        diarization = diarizer.diarize(samples[100_000:292_000], min_speakers=30)
        assert diarization.turns
        assert len(diarization.warnings) == 1
        assert len({turn.speaker for turn in diarizer.diarize(samples).turns}) == 2

    def test_batch_sizes_are_raised_unless_they_are_given(self, folder: Path) -> None:
        change_parameters(folder, segmentation_batch_size=3, embedding_batch_size=None)
        pipeline = load(folder)._pipeline
        assert (pipeline.segmentation_batch_size, pipeline.embedding_batch_size) == (3, 32)

    def test_under_a_name_that_misleads_the_library_is_refused(self, folder: Path) -> None:
        with pytest.raises(InvalidSettings, match="nvidia"):
            load(folder.rename(folder.with_name("nvidia")))


class TestUnusableFolder:
    @pytest.mark.parametrize(
        ("spoil", "error"),
        [
            (lambda folder: (folder / "config.yaml").unlink(), InvalidSettings),
            (lambda folder: (folder / "config.yaml").write_text("a: ["), InvalidSettings),
            (lambda folder: (folder / "config.yaml").write_bytes(b"\xff\xfe\x00"), InvalidSettings),
            (lambda folder: (folder / "config.yaml").write_text("- pipeline"), InvalidSettings),
            (lambda folder: (folder / "config.yaml").write_text("pipeline: {name: a.VoiceActivity}"), InvalidSettings),
            (lambda folder: (folder / "config.yaml").write_text(""), InvalidSettings),
            (lambda folder: shutil.rmtree(folder / "segmentation"), InvalidSettings),
            (lambda folder: (folder / "segmentation" / "pytorch_model.bin").unlink(), ModelUnavailable),
            (lambda folder: (folder / "segmentation" / "pytorch_model.bin").write_bytes(b"x"), ModelUnavailable),
            (lambda folder: next(folder.rglob("*.onnx")).write_bytes(b"x"), ModelUnavailable),
            (lambda folder: change_parameters(folder, clustering="unknown"), ModelUnavailable),
            (lambda folder: change(folder, lambda c: c.update(params={"unknown": 1})), ModelUnavailable),
            (lambda folder: change(folder, lambda c: c["pipeline"].update(params=None)), ModelUnavailable),
        ],
    )
    def test_is_refused_in_a_sentence_without_paths(
        self, folder: Path, spoil: Callable[[Path], object], error: type[SpeechError]
    ) -> None:
        spoil(folder)
        with pytest.raises(error) as caught:
            load(folder)
        assert str(folder.parent) not in str(caught.value)
        assert "diarization model" in caught.value.message.replace("DIARIZATION_MODEL", "diarization model")

    @pytest.mark.parametrize("model", ["no/such/folder/at/all", "/no/such/folder", "~nobody-here/x", "a b", "x" * 5000])
    def test_a_name_that_is_neither_a_folder_nor_a_hub_id(self, model: str) -> None:
        with pytest.raises((InvalidSettings, ModelUnavailable)):
            load(model)


def test_nothing_is_connected_to_for_a_local_pipeline(starter_dir: Path, sample_call: Path) -> None:
    answer = run_program(CONNECTING_PROGRAM, str(starter_dir / "diarization"), str(sample_call))
    assert answer["turns"] > 0
    assert answer["attempts"] == []


class TestHub:
    def test_loads_what_may_be_read_and_explains_what_may_not(self, folder: Path, tmp_path: Path) -> None:
        older, locked, part_locked = tmp_path / "older", tmp_path / "locked", tmp_path / "part-locked"
        for copy in (older, locked, part_locked):
            copy.mkdir()
            shutil.copy(folder / "config.yaml", copy)
        parts = {"embedding": "acme/wespeaker-campplus", "plda": None}
        change_parameters(older, segmentation="acme/segmentation", **parts)
        change_parameters(part_locked, segmentation="acme/locked-segmentation", **parts)
        empty = tmp_path / "empty"
        empty.mkdir()
        repositories = {
            "acme/pipeline": folder,
            "acme/older-pipeline": older,
            "acme/locked-pipeline": locked,
            "acme/part-locked-pipeline": part_locked,
            "acme/segmentation": folder / "segmentation",
            "acme/locked-segmentation": folder / "segmentation",
            "acme/wespeaker-campplus": folder / "wespeaker-campplus",
            "acme/empty": empty,
        }
        models = [name for name in repositories if name.endswith("pipeline")] + ["acme/missing", "acme/empty"]
        with local_hub(repositories, gated={"acme/locked-pipeline", "acme/locked-segmentation"}) as address:
            answers = run_program(LOADING_PROGRAM, *models, HF_ENDPOINT=address, HF_HOME=str(tmp_path / "cache"))

        assert answers["acme/pipeline"] == "loaded"
        assert answers["acme/older-pipeline"] == "loaded"
        for model in ("acme/locked-pipeline", "acme/part-locked-pipeline"):
            assert answers[model].startswith("[model_unavailable]")
            assert "accept the conditions" in answers[model]
            assert "HF_TOKEN" in answers[model]
            assert model in answers[model]
        assert "acme/locked-segmentation" in answers["acme/part-locked-pipeline"]
        assert "not found on the hub" in answers["acme/missing"]
        assert "config.yaml" in answers["acme/empty"]
        assert "hf_secret" not in json.dumps(answers)

    @pytest.mark.parametrize("environment", [{"HF_HUB_OFFLINE": "1"}, {"HF_ENDPOINT": "http://127.0.0.1:9"}])
    def test_without_a_connection_a_folder_is_suggested(self, tmp_path: Path, environment: dict[str, str]) -> None:
        model = "pyannote/speaker-diarization-3.1"
        answer = run_program(LOADING_PROGRAM, model, HF_HOME=str(tmp_path), **environment)[model]
        assert "cannot be reached" in answer
        assert "DIARIZATION_MODEL" in answer
        assert "pyannote/segmentation-3.0" in answer
