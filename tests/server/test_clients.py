"""The clients people use, against a server with the starter models."""

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import openai
import pytest
import requests
import soundfile
from huggingface_hub import InferenceClient
from openai.types.audio import TranscriptionDiarized, TranscriptionVerbose

from config import ModelSettings
from speech_pipeline.loading import load_pipeline
from tests.server.running import TIMEOUT_S, running

CLIP_START_S = 6.0
CLIP_END_S = 14.4
"""The stretch of the call in which both speakers greet and the first says "This is Diane in New Jersey"."""

RATE = 16_000


@pytest.fixture(scope="module")
def url(starter_dir: Path) -> Iterator[str]:
    pytest.importorskip("hibari")
    settings = ModelSettings(
        asr_model="starter", diarization_model="starter", tts_model="starter", starter_dir=starter_dir
    )
    with running(lambda: load_pipeline(settings), models=("starter",)) as url:
        yield url


@pytest.fixture(scope="module")
def wav(sample_call: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    first, last = (round(seconds * RATE) for seconds in (CLIP_START_S, CLIP_END_S))
    samples, rate = soundfile.read(sample_call, start=first, stop=last, dtype="int16")
    assert rate == RATE
    path = tmp_path_factory.mktemp("clip") / "call.wav"
    soundfile.write(path, samples, rate)
    return path


@pytest.fixture(params=["/v1", "/api/v1"])
def client(url: str, request: pytest.FixtureRequest) -> openai.OpenAI:
    return openai.OpenAI(base_url=url + request.param, api_key="any", max_retries=0, timeout=TIMEOUT_S)


def assert_greeting(text: str) -> None:
    assert "hello" in text.lower()
    assert "diane" in text.lower()
    assert "jersey" in text.lower()


def test_openai_json_and_text(client: openai.OpenAI, wav: Path) -> None:
    assert_greeting(client.audio.transcriptions.create(file=wav, model="whisper-1").text)
    assert_greeting(
        client.audio.transcriptions.create(file=wav, model="whisper-1", language="en", response_format="text")
    )


def test_openai_verbose_json(client: openai.OpenAI, wav: Path) -> None:
    result = client.audio.transcriptions.create(
        file=wav, model="whisper-1", response_format="verbose_json", timestamp_granularities=["word", "segment"]
    )
    assert isinstance(result, TranscriptionVerbose)
    assert_greeting(result.text)
    assert result.language == "english"
    assert result.duration == pytest.approx(CLIP_END_S - CLIP_START_S, abs=0.01)
    assert result.segments is not None
    assert result.words is not None
    assert_greeting("".join(segment.text for segment in result.segments))
    assert_greeting(" ".join(word.word for word in result.words))
    starts = [word.start for word in result.words]
    assert starts == sorted(starts)
    assert all(0 <= word.start <= word.end <= result.duration for word in result.words)
    assert all(segment.avg_logprob < 0 < segment.compression_ratio for segment in result.segments)


def test_openai_subtitles(client: openai.OpenAI, wav: Path) -> None:
    for response_format, arrow in (("srt", ",000 --> "), ("vtt", " --> ")):
        text = client.audio.transcriptions.create(file=wav, model="whisper-1", response_format=response_format)
        assert " --> " in text, arrow
        assert_greeting(text)


def test_openai_diarized_json(client: openai.OpenAI, sample_call: Path) -> None:
    result = client.audio.transcriptions.create(
        file=sample_call, model="whisper-1", response_format="diarized_json", chunking_strategy="auto"
    )
    assert isinstance(result, TranscriptionDiarized)
    assert result.segments[0].speaker == "A"
    assert {segment.speaker for segment in result.segments} == {"A", "B"}
    [diane] = {segment.speaker for segment in result.segments if "Diane" in segment.text}
    [texas] = {segment.speaker for segment in result.segments if "Texas" in segment.text}
    assert diane != texas


def test_openai_stream(client: openai.OpenAI, wav: Path) -> None:
    events = list(client.audio.transcriptions.create(file=wav, model="whisper-1", stream=True))
    assert events[-1].type == "transcript.text.done"
    assert_greeting(events[-1].text)
    deltas = [event.delta for event in events if event.type == "transcript.text.delta"]
    assert "".join(deltas) == events[-1].text


def test_openai_errors(client: openai.OpenAI, wav: Path) -> None:
    with pytest.raises(openai.UnprocessableEntityError, match="look like text, not audio"):
        client.audio.transcriptions.create(file=("a.wav", b"no audio at all, only words"), model="whisper-1")
    with pytest.raises(openai.UnprocessableEntityError, match="language"):
        client.audio.transcriptions.create(file=wav, model="whisper-1", language="klingon")


@pytest.mark.parametrize("audio_format", ["wav", "mp3"])
def test_openai_speech_is_heard_again(client: openai.OpenAI, audio_format: Any) -> None:
    text = "The weather is very nice today. We will go for a walk in the park."
    spoken = client.audio.speech.create(input=text, model="tts-1", voice="alloy", response_format=audio_format)
    file = (f"speech.{audio_format}", spoken.content)
    heard = client.audio.transcriptions.create(file=file, model="whisper-1", language="en").text
    for word in ("weather", "nice", "walk", "park"):
        assert word in heard.lower()


@pytest.mark.parametrize("content_type", ["audio/wav", None])
def test_hub_client(url: str, wav: Path, content_type: str | None) -> None:
    headers = {} if content_type is None else {"content-type": content_type}
    client = InferenceClient(url, token="hf_any", timeout=TIMEOUT_S, headers=headers)
    result = client.automatic_speech_recognition(wav.read_bytes())
    assert_greeting(result.text)
    if content_type is None:
        result = client.automatic_speech_recognition(wav, extra_body={"language": "english", "diarize": False})
        assert_greeting(result.text)
        assert result["speakers"] == []


def test_hub_client_speaks(url: str) -> None:
    client = InferenceClient(url, token="hf_any", timeout=TIMEOUT_S)
    body = json.loads(client.text_to_speech("Good morning.", extra_body={"task": "speak", "language": "en"}))
    assert body["reply"]["complete"] is True


def test_requests_with_a_form(url: str, wav: Path) -> None:
    response = requests.post(
        url, files={"file": ("call.wav", wav.read_bytes(), "audio/wav")}, data={"diarize": "true"}, timeout=TIMEOUT_S
    )
    assert_greeting(response.json()["text"])
    assert response.json()["speakers"]


def test_curl(url: str, wav: Path) -> None:
    def curl(*arguments: str) -> str:
        done = subprocess.run(
            ["curl", "--silent", "--show-error", "--fail", "--noproxy", "*", *arguments],
            capture_output=True, check=True, timeout=TIMEOUT_S,
        )  # fmt: skip
        return done.stdout.decode()

    assert_greeting(json.loads(curl(f"{url}/?diarize=false", "--data-binary", f"@{wav}"))["text"])
    assert_greeting(curl(f"{url}/v1/audio/transcriptions", "-F", f"file=@{wav}", "-F", "response_format=text"))
    assert "transcript.text.done" in curl(f"{url}/v1/audio/transcriptions", "-F", f"file=@{wav}", "-F", "stream=true")
