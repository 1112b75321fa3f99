"""Many requests at once, with and without a scheduler: ``python -m tests.measurements.concurrent_requests RECORDING``.

Prints requests a second of 16 threads that each send 8 s clips, one after another; and how long a 5 s clip takes alone
and while a long recording is in work. The starter Whisper model runs. The audio is cut from RECORDING, whose first 30 s
should hold speech throughout.
"""

import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

from config import InferenceConfig, ModelSettings
from speech_pipeline import starter
from speech_pipeline.audio.decoding import SAMPLING_RATE, load_audio
from speech_pipeline.audio.voice_activity import VoiceActivityDetector
from speech_pipeline.errors import RequestCancelled
from speech_pipeline.listener import Listener
from speech_pipeline.pipeline import SpeechPipeline
from speech_pipeline.recognition.loading import load_recognizer
from speech_pipeline.recognition.precision import resolve_precision
from speech_pipeline.recognition.recognizer import Recognizer
from speech_pipeline.scheduling.metrics import SchedulingMetrics
from speech_pipeline.scheduling.scheduler import RecognitionScheduler
from tests.synthetic_audio import encode

CLIENTS = 16
ROUNDS = 3
"""Clips that each client sends."""

CLIP_S, SHORT_S = 8, 5
SHORT_CLIPS = 20
LONG_S = 1_800


class BatchSizes(SchedulingMetrics):
    """Remembers how many windows were decoded together."""

    def __init__(self) -> None:
        self.sizes: list[int] = []

    def on_batch(self, windows: int, audio_s: float) -> None:
        self.sizes.append(windows)


def pipeline_of(recognizer: Recognizer) -> SpeechPipeline:
    return SpeechPipeline(recognizer, VoiceActivityDetector(), max_audio_bytes=2**30, max_audio_duration_s=10_800)


def requests_a_second(pipeline: SpeechPipeline, clips: list[bytes]) -> float:
    """Of all clients together; each begins somewhere else among the clips."""

    def client(number: int) -> None:
        for turn in range(ROUNDS):
            pipeline.transcribe(clips[(number + turn) % len(clips)], InferenceConfig())

    start = time.perf_counter()
    with ThreadPoolExecutor(CLIENTS) as executor:
        list(executor.map(client, range(CLIENTS)))
    return CLIENTS * ROUNDS / (time.perf_counter() - start)


def latencies(pipeline: SpeechPipeline, clip: bytes, count: int = SHORT_CLIPS) -> list[float]:
    """Seconds that the clip takes, sent again as soon as it is answered."""
    seconds = []
    for _ in range(count):
        start = time.perf_counter()
        pipeline.transcribe(clip, InferenceConfig())
        seconds.append(time.perf_counter() - start)
    return seconds


def latencies_beside(pipeline: SpeechPipeline, clip: bytes, long: bytes, count: int = SHORT_CLIPS) -> list[float]:
    """The same while a long recording is in work, which is cancelled at the end."""
    listener, begun = Listener(), threading.Event()
    config = InferenceConfig(language="en")

    def work() -> None:
        try:
            pipeline.transcribe(long, config, lambda stage, share: begun.set(), listener)
            print("The long recording was done too early; the figures are too good.")
        except RequestCancelled:
            pass

    thread = threading.Thread(target=work)
    thread.start()
    begun.wait()
    try:
        return latencies(pipeline, clip, count)
    finally:
        listener.cancelled.set()
        thread.join()


def line(name: str, seconds: list[float]) -> str:
    median, p95 = np.percentile(seconds, [50, 95])
    return f"| {name} | {median:.2f} s | {p95:.2f} s | {max(seconds):.2f} s |"


def cut(samples: NDArray[np.float32], start_s: int, duration_s: int) -> bytes:
    return encode(samples[start_s * SAMPLING_RATE : (start_s + duration_s) * SAMPLING_RATE], SAMPLING_RATE)


def main(recording: Path) -> None:
    """Print both tables."""
    samples = load_audio(
        recording.read_bytes(), sampling_rate=None, separate_channels=False, max_bytes=2**30, max_duration_s=10_800
    ).samples
    settings = ModelSettings.from_environment()
    device = torch.device("cpu")
    whisper = load_recognizer(
        str(starter.path_of(settings.starter_dir, starter.ROLES["asr"])),
        None,
        token=None,
        device=device,
        precision=resolve_precision(settings.dtype, device),
    )
    clips = [cut(samples, start, CLIP_S) for start in range(0, 22, 3)]
    short = cut(samples, 6, SHORT_S)
    repeated = np.tile(samples[: 30 * SAMPLING_RATE], LONG_S // 30)
    long = encode(repeated, SAMPLING_RATE)
    direct = pipeline_of(whisper)
    latencies(direct, short, 2)  # warm up
    unbatched = requests_a_second(direct, clips)
    metrics = BatchSizes()
    with RecognitionScheduler(whisper, metrics=metrics) as scheduler:
        shared = pipeline_of(scheduler)
        batched = requests_a_second(shared, clips)
        print(f"{CLIENTS} threads, {CLIP_S} s clips: {unbatched:.2f} requests/s without the scheduler, ", end="")
        print(
            f"{batched:.2f} with it ({batched / unbatched:.2f} times); windows in a batch: {metrics.sizes}", flush=True
        )
        print(f"\n| a {SHORT_S} s clip | median | p95 | worst |\n| --- | ---: | ---: | ---: |")
        print(line("alone, without the scheduler", latencies(direct, short)), flush=True)
        print(line("alone", latencies(shared, short)), flush=True)
        print(line(f"beside {LONG_S // 60} minutes", latencies_beside(shared, short, long)), flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
