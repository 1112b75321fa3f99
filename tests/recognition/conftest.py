"""The starter models in float32, whose results do not depend on the batch a window is in."""

import copy
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from transformers import WhisperFeatureExtractor, WhisperForConditionalGeneration, WhisperTokenizerFast

from speech_pipeline.audio.voice_activity import VoiceActivityDetector
from speech_pipeline.pipeline import SpeechPipeline
from speech_pipeline.recognition.acceleration import Acceleration
from speech_pipeline.recognition.batch_decoder import BatchDecoder
from speech_pipeline.recognition.loading import load_recognizer
from speech_pipeline.recognition.precision import Precision
from speech_pipeline.recognition.whisper import WhisperRecognizer
from speech_pipeline.recognition.windows import Window
from tests.recognition.listening import speech_windows

FLOAT32 = Precision(encoder=torch.float32, decoder=torch.float32)


@pytest.fixture(scope="session")
def model(starter_dir: Path) -> WhisperForConditionalGeneration:
    """Whisper base. Tests leave it as it is."""
    return WhisperForConditionalGeneration.from_pretrained(starter_dir / "whisper-base", dtype=torch.float32).eval()


@pytest.fixture(scope="session")
def tokenizer(starter_dir: Path) -> WhisperTokenizerFast:
    return WhisperTokenizerFast.from_pretrained(starter_dir / "whisper-base")


@pytest.fixture(scope="session")
def feature_extractor(starter_dir: Path) -> WhisperFeatureExtractor:
    return WhisperFeatureExtractor.from_pretrained(starter_dir / "whisper-base")


@pytest.fixture(scope="session")
def shallow_model(model: WhisperForConditionalGeneration) -> WhisperForConditionalGeneration:
    """Whisper base with the first two layers of its decoder only; it shares its encoder, as distil-Whisper does."""
    shallow = copy.deepcopy(model)
    shallow.model.decoder.layers = shallow.model.decoder.layers[:2]
    shallow.config.decoder_layers = 2
    return shallow


@pytest.fixture(scope="session")
def recognizer(
    model: WhisperForConditionalGeneration, tokenizer: WhisperTokenizerFast, feature_extractor: WhisperFeatureExtractor
) -> WhisperRecognizer:
    return WhisperRecognizer(model, tokenizer, feature_extractor, acceleration=Acceleration(lean_loop=True))


@pytest.fixture(scope="session")
def decoder(
    model: WhisperForConditionalGeneration, tokenizer: WhisperTokenizerFast, feature_extractor: WhisperFeatureExtractor
) -> BatchDecoder:
    return BatchDecoder(model, tokenizer, feature_extractor, None, Acceleration(lean_loop=True))


@pytest.fixture(scope="session")
def english_recognizer(starter_dir: Path) -> WhisperRecognizer:
    """Whisper tiny.en, which knows English only."""
    folder = str(starter_dir / "whisper-tiny.en")
    return load_recognizer(folder, None, token=None, device=torch.device("cpu"), precision=FLOAT32)


@pytest.fixture(scope="session")
def detector() -> VoiceActivityDetector:
    return VoiceActivityDetector()


@pytest.fixture(scope="session")
def pipeline(recognizer: WhisperRecognizer, detector: VoiceActivityDetector) -> SpeechPipeline:
    """Recognition without speakers."""
    return SpeechPipeline(recognizer, detector, max_audio_bytes=2**28, max_audio_duration_s=600)


@pytest.fixture(scope="session")
def call_windows(detector: VoiceActivityDetector, sample_call: Path) -> list[Window]:
    """The telephone call in windows of at most 8 s."""
    return speech_windows(detector, sample_call, max_duration_s=8.0)


@pytest.fixture(scope="session")
def windows_of_clip(detector: VoiceActivityDetector, shared_data: Path) -> Callable[[str], list[Window]]:
    """Windows of a shared recording, by its name in the folder."""
    return lambda name: speech_windows(detector, shared_data / name)
