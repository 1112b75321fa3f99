"""Recordings to windows, as the pipeline cuts them, and what a recogniser made of them."""

from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from config import InferenceConfig
from speech_pipeline.audio.decoding import load_audio
from speech_pipeline.audio.voice_activity import VoiceActivityDetector
from speech_pipeline.recognition.batch_decoder import BatchDecoder
from speech_pipeline.recognition.rows import Row
from speech_pipeline.recognition.whisper import Recognition, WhisperRecognizer
from speech_pipeline.recognition.windows import Piece, Window, cut_windows

SPEECH_CLIPS = (
    "speech/de.wav",
    "speech/en.wav",
    "speech/en_then_de.mp3",
    "speech/es.wav",
    "speech/hotword_comfyui.mp3",
    "speech/it.wav",
    "speech/jfk.flac",
    "speech/phone_8k.wav",
    "speech/two_channels.wav",
)
"""The shared recordings in which somebody speaks alone."""


def request(**parameters: object) -> InferenceConfig:
    """The options of a request; every call gives another object, so another recording."""
    return InferenceConfig.from_request(parameters)[0]


def samples_of(file: Path) -> NDArray[np.float32]:
    """The mix of a recording: float32 [n] at 16 kHz."""
    return load_audio(
        file.read_bytes(), sampling_rate=None, separate_channels=False, max_bytes=2**30, max_duration_s=3_600
    ).samples


def speech_windows(
    detector: VoiceActivityDetector, recording: Path | NDArray[np.float32], max_duration_s: float = 30.0
) -> list[Window]:
    """Windows of the speech in a recording."""
    samples = samples_of(recording) if isinstance(recording, Path) else recording
    activity = detector.detect(samples)
    return cut_windows(samples, activity.regions, max_duration_s=max_duration_s, probabilities=activity.probabilities)


def whole_window(samples: NDArray[np.float32]) -> Window:
    """One window of all the samples, whether somebody speaks or not."""
    return Window(samples, (Piece(0.0, len(samples) / 16_000, 0.0),))


def recognize(recognizer: WhisperRecognizer, windows: Sequence[Window], **parameters: object) -> list[Recognition]:
    """Recognise the windows of one request."""
    config = request(**parameters)
    return recognizer.recognize([(window, config) for window in windows])


def text_of(recognitions: Iterable[Recognition]) -> str:
    """The whole text."""
    return "".join(segment.text for recognition in recognitions for segment in recognition.segments).strip()


def tokens_of(decoder: BatchDecoder, window: Window, config: InferenceConfig, *, assisted: bool = False) -> list[int]:
    """Token ids of a window that is decoded alone."""
    row = Row(window, config, assisted=assisted)
    decoder.decode([row], {id(config): config.language} if config.language else {})
    assert row.best is not None
    return list(row.best.tokens)
