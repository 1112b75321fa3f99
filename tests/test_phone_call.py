"""How accurate the whole pipeline is on a real telephone call, with the starter models."""

from pathlib import Path

import pytest

from config import ModelSettings
from speech_pipeline.evaluation.evaluation import Result, evaluate
from speech_pipeline.evaluation.manifest import read_entry
from speech_pipeline.loading import load_pipeline


@pytest.fixture(scope="module")
def result(starter_dir: Path, sample_call: Path) -> Result:
    settings = ModelSettings(asr_model="starter", diarization_model="starter", starter_dir=starter_dir)
    entry = {"file": "sample.wav", "language": "en", "rttm": "sample.rttm", "stm": "sample.stm"}
    return evaluate(load_pipeline(settings), read_entry(sample_call.parent, entry, "call"))


def test_words(result: Result) -> None:
    errors = result.figures.scores.words
    assert errors is not None
    assert errors.reference == 87
    assert errors.errors <= 16


def test_words_with_their_speakers(result: Result) -> None:
    speakers, errors = result.figures.scores.word_speakers, result.figures.scores.speaker_words
    assert speakers is not None
    assert errors is not None
    assert speakers.right >= 70
    assert errors.errors <= 19


def test_turns(result: Result) -> None:
    rate = result.figures.scores.diarization and result.figures.scores.diarization.rate
    assert rate is not None
    assert rate <= 0.06
    assert {turn.speaker for turn in result.transcript.turns} == {"SPEAKER_00", "SPEAKER_01"}


def test_language_and_speed(result: Result) -> None:
    assert result.detected_language == "en"
    assert result.figures.audio_s == pytest.approx(30.0)
    assert result.figures.seconds > 0
