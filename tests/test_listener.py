"""Callers that hear of segments early, and callers that leave: every stage ends for them."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from config import InferenceConfig
from speech_pipeline.audio.voice_activity import VoiceActivityDetector
from speech_pipeline.diarization import Diarizer
from speech_pipeline.errors import RequestCancelled
from speech_pipeline.listener import Listener
from speech_pipeline.pipeline import SpeechPipeline
from speech_pipeline.progress import Progress, no_progress
from speech_pipeline.recognition.recognizer import Recognition
from speech_pipeline.reply.reply_stage import ReplyStage
from speech_pipeline.transcript import Segment, Word
from tests.reply.scripted import ScriptedLanguageModel, ScriptedVoice
from tests.scheduling.scripted import SPOKEN
from tests.synthetic_audio import encode

RECORDING = encode(np.zeros(16_000))


class ScriptedRecognizer:
    """Hears one segment, whatever it is given.

    Attributes:
        calls: how often it was asked.
    """

    languages = SPOKEN

    def __init__(self) -> None:
        self.calls = 0

    def check(self, config: InferenceConfig) -> None:
        """Takes everything."""

    def recognize(
        self,
        items: Any,
        progress: Progress = no_progress,
        stopwatch: object = None,
        listener: Listener | None = None,
    ) -> list[Recognition]:
        self.calls += 1
        segments = (Segment("Hello.", 0.0, 1.0, (Word("Hello.", 0.0, 1.0, 0.9),), language="en"),)
        if listener is not None:
            listener.on_segments(segments)
        return [Recognition(segments, "en")]


class Caller(Listener):
    """Remembers what it hears."""

    def __init__(self) -> None:
        super().__init__()
        self.heard: list[Segment] = []

    def on_segments(self, segments: tuple[Segment, ...]) -> None:
        self.heard += segments


class Pipeline:
    """A pipeline of scripted stages, and the caller of its one request."""

    def __init__(
        self,
        diarize: Callable[..., Any] | None = None,
        model: ScriptedLanguageModel | None = None,
        voice: ScriptedVoice | None = None,
        *,
        overlap: bool = False,
    ) -> None:
        self.recognizer = ScriptedRecognizer()
        self.caller = Caller()
        self.model = model or ScriptedLanguageModel(["Fine. ", "And ", "you?"])
        self.voice = voice or ScriptedVoice()
        diarizer: Any = diarize
        self.pipeline = SpeechPipeline(
            self.recognizer,
            VoiceActivityDetector(),
            Diarizer(diarizer) if diarizer is not None else None,
            ReplyStage(self.model, self.voice),
            max_audio_bytes=10**8,
            max_audio_duration_s=600,
            overlap_stages=overlap,
        )

    def leave(self, *_: object) -> None:
        self.caller.cancelled.set()

    def respond(self, inputs: object, **parameters: Any) -> Any:
        return self.pipeline.respond(inputs, InferenceConfig.from_request(parameters)[0], listener=self.caller)


@pytest.mark.parametrize("words", [True, False])
def test_segments_are_heard_as_they_are_in_the_transcript(words: bool) -> None:
    request = Pipeline()
    transcript = request.respond(RECORDING, word_timestamps=words)
    assert tuple(request.caller.heard) == transcript.segments
    assert bool(request.caller.heard[0].words) == words


def test_who_has_left_gets_no_work_done() -> None:
    request = Pipeline()
    request.leave()
    with pytest.raises(RequestCancelled) as caught:
        request.respond(RECORDING)
    assert (caught.value.code, caught.value.http_status) == ("request_cancelled", 499)
    assert request.recognizer.calls == 0


@pytest.mark.parametrize("overlap", [False, True])
def test_diarization_ends(overlap: bool) -> None:
    steps: list[int] = []

    def diarize(recording: object, hook: Callable[..., None], **_: int) -> Any:
        for step in range(1, 100):
            steps.append(step)
            if step == 3:
                request.leave()
            hook("embeddings", None, total=100, completed=step)
        raise AssertionError("the diarization went on")

    request = Pipeline(diarize, overlap=overlap)
    with pytest.raises(RequestCancelled):
        request.respond(RECORDING)
    assert steps == [1, 2, 3]


def test_who_leaves_while_others_are_diarized_is_not_begun() -> None:
    def diarize(recording: object, hook: Callable[..., None], **_: int) -> Any:
        raise AssertionError("the diarization began")

    request = Pipeline(diarize)
    request.caller.on_segments = request.leave  # type: ignore[method-assign]
    with pytest.raises(RequestCancelled):
        request.respond(RECORDING)


@pytest.mark.parametrize(
    ("inputs", "parameters"), [(RECORDING, {"reply": True}), ({"text": "How are you?"}, {"language": "en"})]
)
def test_the_answer_ends(inputs: object, parameters: dict[str, Any]) -> None:
    def before(number: int) -> None:
        if number == 1:
            request.leave()

    request = Pipeline(model=ScriptedLanguageModel(["One. "] * 50, before=before))
    with pytest.raises(RequestCancelled):
        request.respond(inputs, **parameters)
    assert request.model.ended.wait(20)
    assert request.model.written == 2
    assert len(request.voice.said) <= 2


def test_speaking_ends() -> None:
    def before(number: int) -> None:
        if number == 1:
            request.leave()

    request = Pipeline(voice=ScriptedVoice(before=before))
    with pytest.raises(RequestCancelled):
        request.respond({"text": "One is here. " * 20, "task": "speak"}, language="en")
    assert len(request.voice.said) == 2


def test_who_stays_gets_everything() -> None:
    request = Pipeline()
    reply = request.respond(RECORDING, reply=True).reply
    assert (reply.text, reply.complete) == ("Fine. And you?", True)
    assert not request.caller.cancelled.is_set()


def test_recognition_ends_after_the_current_step(starter_dir: Path, sample_call: Path) -> None:
    import torch

    from speech_pipeline.recognition.loading import load_recognizer
    from speech_pipeline.recognition.precision import Precision

    whisper = load_recognizer(
        str(starter_dir / "whisper-base"),
        None,
        token=None,
        device=torch.device("cpu"),
        precision=Precision(encoder=torch.float32, decoder=torch.float32),
    )
    pipeline = SpeechPipeline(whisper, VoiceActivityDetector(), max_audio_bytes=10**8, max_audio_duration_s=600)
    config = InferenceConfig(language="en", chunk_length_s=8.0, batch_size=1)
    everything = pipeline.transcribe(sample_call.read_bytes(), config).segments

    class Leaving(Caller):
        def on_segments(self, segments: tuple[Segment, ...]) -> None:
            super().on_segments(segments)
            self.cancelled.set()

    caller = Leaving()
    with pytest.raises(RequestCancelled):
        pipeline.transcribe(sample_call.read_bytes(), config, listener=caller)
    assert 0 < len(caller.heard) < len(everything)
    assert tuple(caller.heard) == everything[: len(caller.heard)]
