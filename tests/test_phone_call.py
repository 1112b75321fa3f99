"""How accurate the whole pipeline is on a real telephone call, with the starter models."""

from pathlib import Path

import pytest

from config import InferenceConfig, ModelSettings
from speech_pipeline.loading import load_pipeline
from speech_pipeline.transcript import Transcript
from tests.diarization_score import diarization_error_rate
from tests.word_score import plain_words, read_stm, score


@pytest.fixture(scope="module")
def transcript(starter_dir: Path, sample_call: Path) -> Transcript:
    settings = ModelSettings(asr_model="starter", diarization_model="starter", starter_dir=starter_dir)
    config, _ = InferenceConfig.from_request({"language": "en"})
    return load_pipeline(settings).transcribe(sample_call.read_bytes(), config)


def test_words_and_speakers(transcript: Transcript, sample_call: Path) -> None:
    heard = [(plain, str(word.speaker)) for word in transcript.words for plain in plain_words(word.text)]
    result = score(read_stm(sample_call.with_suffix(".stm")), heard)
    assert result.reference_words == 81
    assert result.errors <= 17
    assert result.right_with_speaker >= 63


def test_diarization_error_rate(transcript: Transcript, sample_call: Path) -> None:
    rate = diarization_error_rate(sample_call.with_suffix(".rttm"), transcript.turns, transcript.duration)
    assert rate <= 0.06
    assert {turn.speaker for turn in transcript.turns} == {"SPEAKER_00", "SPEAKER_01"}
