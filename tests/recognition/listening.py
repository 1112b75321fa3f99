"""Recordings to windows, as the pipeline cuts them, and what a recogniser makes of them."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from transformers import WhisperForConditionalGeneration

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
"""The shared recordings of one speaker at a time."""

PROMPT_TOKENS = 4
"""Tokens the decoder starts from: start of transcript, language, task, no timestamps."""


def request(**parameters: object) -> InferenceConfig:
    """The options of a request. Each call gives another object, so another recording."""
    return InferenceConfig.from_request(parameters)[0]


def samples_of(file: Path) -> NDArray[np.float32]:
    """The mix of a recording: float32 [n] at 16 kHz."""
    return load_audio(
        file.read_bytes(), sampling_rate=None, separate_channels=False, max_bytes=2**30, max_duration_s=3_600
    ).samples


def speech_windows(detector: VoiceActivityDetector, recording: Path, max_duration_s: float = 30.0) -> list[Window]:
    """Windows of the speech in a recording."""
    return windows_of(detector, samples_of(recording), max_duration_s)


def windows_of(
    detector: VoiceActivityDetector, samples: NDArray[np.float32], max_duration_s: float = 30.0
) -> list[Window]:
    """Windows of the speech in samples: float32 [n] at 16 kHz."""
    activity = detector.detect(samples)
    return cut_windows(samples, activity.regions, max_duration_s=max_duration_s, probabilities=activity.probabilities)


def whole_window(samples: NDArray[np.floating]) -> Window:
    """One window of all the samples, whether somebody speaks or not."""
    return Window(samples.astype(np.float32), (Piece(0.0, len(samples) / 16_000, 0.0),))


def recognize(recognizer: WhisperRecognizer, windows: Sequence[Window], **parameters: object) -> list[Recognition]:
    """Recognise the windows of one request."""
    config = request(**parameters)
    return recognizer.recognize([(window, config) for window in windows])


def text_of(recognitions: Iterable[Recognition]) -> str:
    """The whole text."""
    return "".join(segment.text for recognition in recognitions for segment in recognition.segments).strip()


def decoded_rows(
    decoder: BatchDecoder,
    windows: Sequence[Window],
    *,
    assisted: bool = False,
    states: torch.Tensor | None = None,
    **parameters: object,
) -> list[Row]:
    """Decode windows of one request as one batch; ``states`` are their encoder outputs, where they are known."""
    config = request(**parameters)
    previous = decoder.vocabulary.previous(config.hotwords, config.prompt)
    rows = [Row(window, config, previous, assisted) for window in windows]
    for row in rows:
        row.elected = config.language
    for row, known in zip(rows, states.split(1) if states is not None else (), strict=False):
        row.states = known
    with torch.inference_mode():
        decoder.decode(rows)
    return rows


def encoder_states(decoder: BatchDecoder, windows: Sequence[Window]) -> torch.Tensor:
    """Encoder output of windows: float32 [windows, 1500, width]."""
    with torch.inference_mode():
        return decoder._encode([Row(window, request()) for window in windows])


def tokens_of(row: Row) -> tuple[int, ...]:
    """Token ids of the text that was kept."""
    assert row.best is not None
    return row.best.tokens


@contextmanager
def recorded_passes(model: WhisperForConditionalGeneration) -> Iterator[list[tuple[int, int]]]:
    """(rows, tokens) that go into the decoder in each of its forward passes.

    A window takes one pass for its language and one for each step of each attempt; text by transformers, and text that
    was cut, takes one more for reading it over.
    """
    passes: list[tuple[int, int]] = []

    def record(_module: torch.nn.Module, args: tuple) -> None:
        rows, tokens = args[0].shape
        passes.append((rows, tokens))

    # Every pass looks its tokens up first, whoever drives the layers.
    handle = model.get_decoder().embed_tokens.register_forward_pre_hook(record)
    try:
        yield passes
    finally:
        handle.remove()


def attempts(passes: Sequence[tuple[int, int]], prompt_tokens: int = PROMPT_TOKENS) -> list[int]:
    """How many rows were decoded in each attempt, that is in each pass that starts from a prompt."""
    return [rows for rows, tokens in passes if tokens == prompt_tokens]
