"""A comparison of scripted systems: what the results hold, as JSON, as tables and as a picture."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib import image

from speech_pipeline.evaluation.bench.dialogues import Dialogue
from speech_pipeline.evaluation.bench.material import Speech
from speech_pipeline.evaluation.bench.peers import Plan, compare
from speech_pipeline.evaluation.bench.plot import draw_systems
from speech_pipeline.evaluation.bench.systems import Options
from speech_pipeline.evaluation.bench.tables import peers_tables
from speech_pipeline.transcript import SpeakerTurn
from tests.evaluation.bench.scripted import RECOGNITION_S, command

KINDS = {"openai-whisper": "missing", "faster-whisper sequential int8": "dying", "Senko": "broken"}
"""How systems behave; the others work."""

ONLY = ("speech_pipeline", "faster-whisper * int8", "openai-whisper", "speech_pipeline diarization", "Senko")


@pytest.fixture(scope="module")
def results() -> dict[str, Any]:
    """Results of nine seconds in which each system hears "one two three" and two speakers."""
    samples = np.zeros(9 * 16_000, np.float32)
    speech = Speech(samples, (("a", "Four five six."), ("b", "seven"), ("a", "Four five six.")))
    dialogue = Dialogue("call", samples, (SpeakerTurn("Anna", 0.0, 0.5), SpeakerTurn("Ben", 0.5, 1.5)))
    plan = Plan(speech, (dialogue,), Options("models/tiny", "en", 1, "folder"), rounds=2, repetitions=3, only=ONLY)
    return compare(plan, start=lambda name, options: command(KINDS.get(name, "steady")))


def _system(results: dict[str, Any], name: str) -> dict[str, Any]:
    return next(system for system in results["systems"] if system["name"] == name)


def test_results_are_json_that_says_what_was_measured_on_what(results: dict[str, Any]) -> None:
    assert json.loads(json.dumps(results)) == results
    assert results["audio_seconds"] == results["dialogue_seconds"] == 9.0
    assert (results["model"], results["language"], results["rounds"]) == ("tiny", "en", 2)
    assert results["machine"]["threads"] == 1
    assert results["machine"]["libraries"]["torch"]
    assert "/" not in json.dumps(results["machine"]).replace(" / ", "")


def test_a_recogniser_has_speed_errors_memory_and_latency(results: dict[str, Any]) -> None:
    for name in ("speech_pipeline", "faster-whisper batched int8"):
        system = _system(results, name)
        assert system["rtfx"] == pytest.approx(9 / system["median_s"], rel=0.1)
        assert len(system["rounds"]) == 2
        assert system["peak_memory_mb"] > 0
        # "456 7 456" was said and "123" heard: one word is wrong and two are missing.
        assert system["wer"] == system["wer_all"] == 1.0
        assert system["ratio"] > 0
        assert system["short_stages_s"]["recognition"] == RECOGNITION_S
        assert sum(system["short_stages_s"].values()) == pytest.approx(system["short_s"], rel=0.05)
        assert 0 < system["short_overhead"] < 1
    assert _system(results, "speech_pipeline")["ratio"] == 1.0


def test_a_diarizer_has_an_error_rate(results: dict[str, Any]) -> None:
    system = _system(results, "speech_pipeline diarization")
    # Ben is missed for half a second of one and a half.
    assert system["der_by_recording"] == {"call": pytest.approx(1 / 3, abs=1e-4)}
    assert system["der"] == pytest.approx(1 / 3, abs=1e-4)


def test_what_was_not_measured_has_a_reason(results: dict[str, Any]) -> None:
    assert "is missing" in _system(results, "openai-whisper")["skipped"]
    assert "signal 9" in _system(results, "faster-whisper sequential int8")["failed"]
    assert "no weights" in _system(results, "Senko")["failed"]
    for name in KINDS:
        assert _system(results, name)["rtfx"] is None


def test_tables_show_every_system(results: dict[str, Any]) -> None:
    text = peers_tables(results)
    for system in results["systems"]:
        assert system["name"] in text
    assert "33.3 %" in text
    rows = [line for line in text.splitlines() if line.startswith("|")]
    assert len({len(row) for row in rows[:4]}) == 1  # the columns of the first table are aligned


def test_the_picture_is_written(results: dict[str, Any], tmp_path: Path) -> None:
    file = tmp_path / "systems.png"
    draw_systems(results, file)
    height, width, _ = image.imread(file).shape
    assert width > height > 200
    assert image.imread(file).min() < 0.5  # something was drawn
    draw_systems({"systems": []}, file)


def test_without_dialogues_or_a_model_diarization_is_left_out() -> None:
    speech = Speech(np.zeros(16_000, np.float32), (("a", "one two three"),))
    plan = Plan(speech, (), Options("tiny", "en", 1), rounds=1, repetitions=1, only=("Senko", "speech_pipeline*"))
    found = compare(plan, start=lambda name, options: command("steady"))["systems"]
    assert [system["name"] for system in found] == ["speech_pipeline", "speech_pipeline words"]
    assert found[0]["wer"] == 0.0
