"""``/v1/audio/speech``, asked with OpenAI's own client."""

import base64
import io
import json
import threading
from collections.abc import Iterator
from typing import Any

import av
import openai
import pytest
import requests

from tests.reply.scripted import RATE, ScriptedVoice
from tests.server.running import TIMEOUT_S, metric, running
from tests.server.scripted import ScriptedPipeline

TEXT = "This is the first sentence of it. And this is the second one."


@pytest.fixture(scope="module")
def voice() -> ScriptedVoice:
    return ScriptedVoice()


@pytest.fixture(scope="module")
def url(voice: ScriptedVoice) -> Iterator[str]:
    with running(lambda: ScriptedPipeline(voice=voice)) as url:
        yield url


def client_of(url: str) -> openai.OpenAI:
    return openai.OpenAI(base_url=f"{url}/v1", api_key="any", max_retries=0, timeout=TIMEOUT_S)


def post(url: str, **fields: Any) -> requests.Response:
    return requests.post(f"{url}/v1/audio/speech", json={"input": TEXT, **fields}, timeout=TIMEOUT_S)


def duration_s(file: bytes) -> float:
    with av.open(io.BytesIO(file)) as container:
        return sum(frame.samples / frame.sample_rate for frame in container.decode(audio=0))


@pytest.mark.parametrize(
    ("audio_format", "media_type"),
    [("mp3", "audio/mpeg"), ("opus", "audio/ogg"), ("aac", "audio/aac"), ("flac", "audio/flac"), ("wav", "audio/wav")],
)
def test_formats(url: str, audio_format: Any, media_type: str) -> None:
    response = client_of(url).audio.speech.create(
        input=TEXT, model="tts-1", voice="alloy", response_format=audio_format
    )
    assert response.response.headers["content-type"] == media_type
    # mp3 and aac pad the sound to whole frames, of 0.14 s at this rate.
    assert duration_s(response.content) == pytest.approx(len(TEXT) / 100 + 0.3, abs=0.3)


def test_pcm(url: str) -> None:
    samples = client_of(url).audio.speech.create(input=TEXT, model="tts-1", voice="alloy", response_format="pcm")
    assert len(samples.content) / 2 / RATE == pytest.approx(len(TEXT) / 100 + 0.3, abs=0.05)


def test_options_reach_the_voice(url: str, voice: ScriptedVoice) -> None:
    client_of(url).audio.speech.create(
        input="Bonjour.", model="any", voice="bob", speed=1.5, instructions="Be kind.", extra_body={"language": "fr"}
    )
    assert voice.said[-1] == ("Bonjour.", "fr", "bob", 1.5)
    client_of(url).audio.speech.create(input="Hello.", model="any", voice={"id": "bob"}, extra_body={"language": "en"})
    assert voice.said[-1][2] == "bob"


def test_first_sentence_is_sent_while_the_second_is_spoken() -> None:
    heard = threading.Event()
    voice = ScriptedVoice(before=lambda number: None if number == 0 else assert_true(heard.wait(30)))
    with running(lambda: ScriptedPipeline(voice=voice)) as url:
        voice.said.clear()  # the warm-up
        streaming = client_of(url).audio.speech.with_streaming_response
        with streaming.create(input=TEXT, model="any", voice="alloy", response_format="pcm") as response:
            chunks = response.iter_bytes()
            first = next(chunks)
            heard.set()
            rest = b"".join(chunks)
        assert len(first) == 2 * RATE * len("This is the first sentence of it.") // 100
        assert len(rest) > 0
        assert metric(url, 'speech_audio_seconds_total{direction="spoken"}') > 0.5


def assert_true(value: bool) -> None:
    assert value


def test_events(url: str) -> None:
    response = post(url, stream_format="sse", response_format="pcm")
    assert response.headers["content-type"].startswith("text/event-stream")
    events = [json.loads(event.removeprefix("data: ")) for event in response.text.strip().split("\n\n")]
    assert [event["type"] for event in events] == ["speech.audio.delta", "speech.audio.delta", "speech.audio.done"]
    samples = b"".join(base64.b64decode(event["audio"]) for event in events[:-1])
    assert samples == post(url, response_format="pcm").content


@pytest.mark.parametrize(
    ("fields", "status", "code"),
    [
        ({"input": ""}, 422, "invalid_text"),
        ({"input": 7}, 422, "invalid_text"),
        ({"input": "🙂"}, 422, "invalid_text"),
        ({"input": "a" * 20_001}, 413, "text_too_long"),
        ({"voice": "nobody"}, 422, "unknown_voice"),
        ({"response_format": "midi"}, 422, "invalid_parameters"),
        ({"response_format": ["mp3"]}, 422, "invalid_parameters"),
        ({"stream_format": "smoke"}, 422, "invalid_parameters"),
        ({"speed": 4}, 422, "invalid_parameters"),
    ],
)
def test_wrong_fields(url: str, fields: dict[str, Any], status: int, code: str) -> None:
    response = post(url, **{"language": "en", **fields})
    assert (response.status_code, response.json()["error"]["code"]) == (status, code)


@pytest.mark.parametrize("body", [b"", b"[]", b"{}", b"{", b"\xff"])
def test_wrong_bodies(url: str, body: bytes) -> None:
    response = requests.post(f"{url}/v1/audio/speech", data=body, timeout=TIMEOUT_S)
    assert (response.status_code, response.json()["error"]["code"]) == (400, "invalid_payload")


def test_failing_voice() -> None:
    with running(lambda: ScriptedPipeline(voice=ScriptedVoice(fails_at=1))) as url:
        response = post(url, language="en")
        assert (response.status_code, response.json()["error"]["code"]) == (500, "synthesis_failed")
        assert "secret" not in response.text


def test_voice_that_fails_half_way_does_not_pass_for_a_whole_answer() -> None:
    with running(lambda: ScriptedPipeline(voice=ScriptedVoice(fails_at=2))) as url:
        with pytest.raises(requests.exceptions.ChunkedEncodingError):
            post(url, language="en", response_format="pcm")
        assert metric(url, 'speech_errors_total{code="synthesis_failed"}') == 1
