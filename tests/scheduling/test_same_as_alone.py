"""Whatever other requests there are, each gets what it would get alone."""

import random
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
import soundfile
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from config import InferenceConfig
from speech_pipeline.audio.voice_activity import VoiceActivityDetector
from speech_pipeline.errors import RequestCancelled
from speech_pipeline.listener import Listener
from speech_pipeline.pipeline import SpeechPipeline
from speech_pipeline.recognition.loading import load_recognizer
from speech_pipeline.recognition.precision import Precision
from speech_pipeline.recognition.recognizer import Recognition
from speech_pipeline.recognition.rows import Row
from speech_pipeline.scheduling.scheduler import RecognitionScheduler
from speech_pipeline.scheduling.settings import SchedulingSettings
from speech_pipeline.transcript import Segment
from tests.scheduling.scripted import ScriptedRecognizer, items, window
from tests.synthetic_audio import encode

BAD, HALVED = 7, 5
"""Numbers of windows that cannot be decoded, and of those that are heard again in halves."""

WINDOWS = st.lists(st.tuples(st.integers(0, 8), st.sampled_from([1.0, 12.0])), min_size=1, max_size=6)
OPTIONS = st.fixed_dictionaries(
    {}, optional={"language": st.just("de"), "prompt": st.just("a"), "batch_size": st.just(2), "num_beams": st.just(2)}
)


class Remembering(Listener):
    """Remembers segments; leaves when it has heard of so many."""

    def __init__(self, leaves_after: int | None) -> None:
        super().__init__()
        self.heard: list[Segment] = []
        self.leaves_after = leaves_after

    def on_segments(self, segments: tuple[Segment, ...]) -> None:
        self.heard += segments
        if self.leaves_after is not None and len(self.heard) >= self.leaves_after:
            self.cancelled.set()


def recognizer(before: object = None) -> ScriptedRecognizer:
    scripted = ScriptedRecognizer(before) if callable(before) else ScriptedRecognizer()
    scripted.faults = {BAD: RuntimeError("bad row")}
    scripted.halved = {HALVED}
    return scripted


def outcome(
    scheduler: RecognitionScheduler, request: tuple[list[tuple[int, float]], dict[str, object]], listener: Listener
) -> list[Recognition] | str:
    windows = [window(number, duration, place * 12.0) for place, (number, duration) in enumerate(request[0])]
    try:
        return scheduler.recognize(items(windows, **request[1]), listener=listener)
    except (RuntimeError, RequestCancelled) as error:
        return str(error)


@given(
    st.lists(st.tuples(WINDOWS, OPTIONS), min_size=2, max_size=5),
    st.sets(st.integers(0, 4), max_size=2),
    st.integers(1, 6),
    st.integers(0, 2**32),
)
@settings(deadline=None, max_examples=40)
def test_whatever_the_others_do(
    requests: list[tuple[list[tuple[int, float]], dict[str, object]]],
    leaving: set[int],
    max_windows: int,
    seed: int,
) -> None:
    limits = SchedulingSettings(patience_s=0.0, max_windows=max_windows, short_s=12.0)
    with RecognitionScheduler(recognizer(), limits) as scheduler:
        alone = [outcome(scheduler, request, Remembering(None)) for request in requests]
    chance = random.Random(seed)
    # Pauses of the model, up to 2 ms, let requests arrive at any point of the work.
    with RecognitionScheduler(
        recognizer(lambda _: threading.Event().wait(chance.random() * 0.002)), limits
    ) as scheduler:
        listeners = [Remembering(1 if number in leaving else None) for number in range(len(requests))]
        with ThreadPoolExecutor(len(requests)) as executor:
            together = list(executor.map(outcome, [scheduler] * len(requests), requests, listeners))
    for number, (one, other, listener) in enumerate(zip(alone, together, listeners, strict=True)):
        if number in leaving and isinstance(other, str):
            continue
        assert one == other
        if isinstance(other, list):
            said = [segment for each in other for segment in each.segments]
            assert listener.heard == sorted(said, key=lambda segment: segment.start)


@pytest.fixture(scope="module")
def clips(sample_call: Path) -> list[bytes]:
    """Four stretches of the call, of 4 to 10 seconds."""
    samples, rate = soundfile.read(sample_call, dtype="float32")
    return [encode(samples[a * rate : b * rate], rate) for a, b in ((6, 10), (9, 16), (14, 22), (20, 30))]


def test_real_clips_at_once_and_one_after_another(starter_dir: Path, clips: list[bytes]) -> None:
    precision = Precision(encoder=torch.float32, decoder=torch.float32)
    whisper = load_recognizer(
        str(starter_dir / "whisper-base"), None, token=None, device=torch.device("cpu"), precision=precision
    )
    # Ten seconds in windows of five vote on their language; the others find it as they are decoded.
    configs = [InferenceConfig(chunk_length_s=5.0 if number == 3 else 30.0) for number in range(4)]
    detector = VoiceActivityDetector()
    direct = SpeechPipeline(whisper, detector, max_audio_bytes=10**8, max_audio_duration_s=600)
    expected = [direct.transcribe(clip, config) for clip, config in zip(clips, configs, strict=True)]
    assert all(transcript.text for transcript in expected)
    batches: list[int] = []
    decode = whisper.decode

    def counted(rows: Sequence[Row], *arguments: Any) -> None:
        batches.append(len(rows))
        decode(rows, *arguments)

    whisper.decode = counted  # type: ignore[method-assign]
    listeners = [Remembering(None) for _ in clips]
    with RecognitionScheduler(whisper, SchedulingSettings(patience_s=3.0, max_windows=5)) as scheduler:
        shared = SpeechPipeline(scheduler, detector, max_audio_bytes=10**8, max_audio_duration_s=600)
        with ThreadPoolExecutor(4) as executor:
            transcripts = list(
                executor.map(
                    lambda *request: shared.transcribe(request[0], request[1], listener=request[2]),
                    clips,
                    configs,
                    listeners,
                )
            )
    assert max(batches) > 1, "requests shared a batch"
    for one, other, listener in zip(expected, transcripts, listeners, strict=True):
        assert one.text == other.text == "".join(segment.text for segment in listener.heard).strip()
        assert one.language == other.language
        for segment, twin in zip(one.segments, other.segments, strict=True):
            assert [word.text for word in segment.words] == [word.text for word in twin.words]
            assert [word.start for word in segment.words] == pytest.approx(
                [word.start for word in twin.words], abs=0.021
            )
