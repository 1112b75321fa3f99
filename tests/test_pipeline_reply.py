"""Recordings that are answered: real ears, a scripted mind and voice; the transcript is never lost."""

import base64
import io
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import soundfile
import torch

from config import InferenceConfig
from speech_pipeline.audio.voice_activity import VoiceActivityDetector
from speech_pipeline.errors import (
    ConflictingParameters,
    InvalidText,
    ReplyUnavailable,
    SpeechError,
    UnknownVoice,
    UnsupportedByModel,
)
from speech_pipeline.pipeline import SpeechPipeline
from speech_pipeline.recognition.loading import load_recognizer
from speech_pipeline.recognition.precision import Precision
from speech_pipeline.recognition.whisper import WhisperRecognizer
from speech_pipeline.reply.reply_stage import ReplyStage
from speech_pipeline.transcript import Reply, Transcript
from tests.reply.scripted import ScriptedLanguageModel, ScriptedVoice
from tests.synthetic_audio import encode

ANSWER = ["I am ", "fine. ", "And you?"]


@pytest.fixture(scope="module")
def recognizer(starter_dir: Path) -> WhisperRecognizer:
    precision = Precision(encoder=torch.float32, decoder=torch.float32)
    folder = str(starter_dir / "whisper-base")
    return load_recognizer(folder, None, token=None, device=torch.device("cpu"), precision=precision)


@pytest.fixture(scope="module")
def question(sample_call: Path) -> bytes:
    """Four seconds of the call, with speech in them."""
    samples, rate = soundfile.read(sample_call, start=6 * 16_000, stop=10 * 16_000, dtype="float32")
    return encode(samples, rate)


class Endpoint:
    """A pipeline with scripted models for replies."""

    def __init__(
        self,
        recognizer: WhisperRecognizer,
        model: ScriptedLanguageModel | None = None,
        voice: ScriptedVoice | None = None,
    ) -> None:
        self.model, self.voice = model or ScriptedLanguageModel(ANSWER), voice or ScriptedVoice()
        self.pipeline = SpeechPipeline(
            recognizer,
            VoiceActivityDetector(),
            reply_stage=ReplyStage(self.model, self.voice),
            max_audio_bytes=10**8,
            max_audio_duration_s=600,
        )

    def respond(self, inputs: object, **parameters: Any) -> Transcript | Reply:
        return self.pipeline.respond(inputs, InferenceConfig.from_request(parameters)[0])

    def transcript(self, inputs: object, **parameters: Any) -> Transcript:
        result = self.respond(inputs, **parameters)
        assert isinstance(result, Transcript)
        return result

    @property
    def untouched(self) -> bool:
        """Whether neither the model nor the voice was asked for anything."""
        return not self.model.asked and not self.voice.said


def test_what_was_said_is_answered(recognizer: WhisperRecognizer, question: bytes) -> None:
    endpoint = Endpoint(recognizer)
    response = endpoint.transcript(question, reply=True, audio_format="flac").to_response()
    assert response["text"]
    asked = endpoint.model.asked[0][0][-1]
    assert (asked.role, asked.content) == ("user", response["text"])
    reply = response["reply"]
    assert (reply["text"], reply["language"], reply["complete"]) == ("I am fine. And you?", "en", True)
    samples, rate = soundfile.read(io.BytesIO(base64.b64decode(reply["audio"]["data"])))
    assert reply["audio"]["format"] == "flac"
    assert (rate, len(samples) / rate) == (reply["audio"]["sampling_rate"], pytest.approx(reply["audio"]["duration"]))
    assert set(reply["timings"]) >= {"first_token", "first_sentence", "first_audio", "total"}
    assert response["timings"]["reply"] >= reply["timings"]["total"]


def test_without_asking_there_is_no_reply(recognizer: WhisperRecognizer, question: bytes) -> None:
    endpoint = Endpoint(recognizer)
    transcript = endpoint.transcript(question, voice="anna", speed=1.5)
    assert "reply" not in transcript.to_response()
    assert endpoint.untouched
    assert any("voice, speed" in warning for warning in transcript.warnings)


def test_separate_channels_and_formats_go_with_a_reply(recognizer: WhisperRecognizer, question: bytes) -> None:
    transcript = Endpoint(recognizer).transcript(question, reply=True, channels="separate", format="srt")
    assert transcript.formatted
    assert transcript.reply is not None
    assert transcript.reply.audio is not None


@pytest.mark.parametrize(
    ("model", "voice", "code", "text"),
    [
        (ScriptedLanguageModel([RuntimeError("secret")]), None, "reply_failed", ""),
        (ScriptedLanguageModel([]), None, "reply_failed", ""),
        (ScriptedLanguageModel(["One. ", RuntimeError("secret")]), None, "reply_failed", "One."),
        (None, ScriptedVoice(fails_at=0), "synthesis_failed", "I am fine. And you?"),
        (None, ScriptedVoice(fails_at=1), "synthesis_failed", "I am fine. And you?"),
    ],
    ids=["model at once", "model writes nothing", "model half way", "voice at once", "voice half way"],
)
def test_the_transcript_is_kept_when_the_reply_fails(
    recognizer: WhisperRecognizer,
    question: bytes,
    model: ScriptedLanguageModel | None,
    voice: ScriptedVoice | None,
    code: str,
    text: str,
) -> None:
    response = Endpoint(recognizer, model, voice).transcript(question, reply=True).to_response()
    assert response["text"]
    assert response["reply"]["text"] == text
    assert response["reply"]["complete"] is False
    assert any(warning.startswith(f"[{code}] ") for warning in response["warnings"])
    assert "secret" not in str(response)


def test_the_transcript_is_kept_whatever_happens(
    recognizer: WhisperRecognizer, question: bytes, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    spoken = "secret words in /secret/path"

    def fail(*_: Any) -> bytes:
        raise RuntimeError(spoken)

    monkeypatch.setattr("speech_pipeline.reply.reply_stage.encode", fail)
    transcript = Endpoint(recognizer).transcript(question, reply=True)
    assert transcript.text
    assert transcript.warnings[-1].startswith("[reply_failed] ")
    assert "RuntimeError" in caplog.text
    assert spoken not in caplog.text


def test_a_language_that_is_heard_and_not_spoken_leaves_the_transcript(
    recognizer: WhisperRecognizer, question: bytes
) -> None:
    endpoint = Endpoint(recognizer, voice=ScriptedVoice({"fr": ("marie",)}))
    transcript = endpoint.transcript(question, reply=True)
    assert transcript.text
    assert any(warning.startswith("[unsupported_by_model] ") for warning in transcript.warnings)
    assert endpoint.untouched


def test_where_nobody_speaks_there_is_nothing_to_answer(recognizer: WhisperRecognizer) -> None:
    endpoint = Endpoint(recognizer)
    transcript = endpoint.transcript(encode(np.zeros(16_000)), reply=True)
    assert transcript.reply == Reply(warnings=transcript.warnings)
    assert "nothing to answer" in transcript.warnings[-1]
    assert endpoint.untouched


class TestText:
    def test_is_answered(self, recognizer: WhisperRecognizer) -> None:
        endpoint = Endpoint(recognizer)
        for inputs, parameters in (("How are you?", {"task": "answer"}), ({"text": "How are you?"}, {})):
            reply = endpoint.respond(inputs, **parameters)
            assert isinstance(reply, Reply)
            assert reply.to_response()["reply"]["text"] == "I am fine. And you?"
            assert endpoint.model.asked[-1][0][-1].content == "How are you?"

    def test_is_spoken(self, recognizer: WhisperRecognizer) -> None:
        endpoint = Endpoint(recognizer)
        for inputs, parameters in (("Good day.", {"task": "speak"}), ({"text": "Good day.", "task": "speak"}, {})):
            reply = endpoint.respond(inputs, language="en", **parameters)
            assert isinstance(reply, Reply)
            assert reply.text == "Good day."
            assert reply.audio is not None
            assert endpoint.voice.said[-1][0] == "Good day."
        assert endpoint.model.asked == []

    def test_base64_audio_is_never_taken_for_text_and_text_never_for_audio(
        self, recognizer: WhisperRecognizer, question: bytes
    ) -> None:
        endpoint = Endpoint(recognizer)
        assert endpoint.transcript(base64.b64encode(question).decode()).text
        with pytest.raises(SpeechError, match=r"\[invalid_payload\]"):
            endpoint.respond("How are you?")
        assert endpoint.untouched

    def test_a_failure_with_nothing_to_show_is_an_error(self, recognizer: WhisperRecognizer) -> None:
        with pytest.raises(SpeechError, match=r"\[reply_failed\]"):
            Endpoint(recognizer, ScriptedLanguageModel([RuntimeError("x")])).respond({"text": "How are you?"})

    def test_of_symbols_only_is_not_spoken(self, recognizer: WhisperRecognizer) -> None:
        endpoint = Endpoint(recognizer)
        with pytest.raises(InvalidText):
            endpoint.respond({"text": "👍 ***", "task": "speak"})
        assert endpoint.untouched

    @pytest.mark.parametrize("task", ["answer", "speak"])
    def test_audio_is_no_text(self, recognizer: WhisperRecognizer, question: bytes, task: str) -> None:
        with pytest.raises(InvalidText):
            Endpoint(recognizer).respond(question, task=task)

    def test_tasks_for_text_do_not_transcribe(self, recognizer: WhisperRecognizer, question: bytes) -> None:
        pipeline = Endpoint(recognizer).pipeline
        with pytest.raises(ConflictingParameters):
            pipeline.transcribe(question, InferenceConfig(task="answer"))


@pytest.mark.parametrize(
    ("parameters", "kind"),
    [
        ({"voice": "nobody"}, UnknownVoice),
        ({"voice": "nobody", "language": "en"}, UnknownVoice),
        ({"language": "de"}, UnsupportedByModel),
        ({"reply_language": "de"}, UnsupportedByModel),
    ],
)
def test_what_cannot_be_done_is_refused_before_any_work(
    recognizer: WhisperRecognizer, parameters: dict[str, Any], kind: type[SpeechError]
) -> None:
    endpoint = Endpoint(recognizer)
    with pytest.raises(kind):
        endpoint.respond(b"this is no audio", reply=True, **parameters)
    with pytest.raises(kind):
        endpoint.respond({"text": "How are you?"}, **parameters)
    assert endpoint.untouched


@pytest.mark.parametrize(
    ("inputs", "parameters"),
    [(b"this is no audio", {"reply": True}), ({"text": "Hello"}, {}), ("Hi", {"task": "speak"})],
)
def test_without_models_a_reply_is_refused_before_any_work(
    recognizer: WhisperRecognizer, inputs: object, parameters: dict[str, Any]
) -> None:
    bare = SpeechPipeline(recognizer, VoiceActivityDetector(), max_audio_bytes=10**8, max_audio_duration_s=600)
    with pytest.raises(ReplyUnavailable, match="LM_MODEL"):
        bare.respond(inputs, InferenceConfig.from_request(parameters)[0])
