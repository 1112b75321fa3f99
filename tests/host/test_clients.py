"""What people send to an endpoint with the clients they use, over a real connection, and what they get back."""

import base64
import io
import json
import math
from pathlib import Path
from typing import Any

import av
import numpy as np
import pytest
import requests
import soundfile
from huggingface_hub import InferenceClient
from huggingface_hub.errors import HfHubHTTPError

CLIP_START_S = 6.0
CLIP_END_S = 14.4
"""The stretch of the call in which both speakers greet and the first says "This is Diane in New Jersey"."""

SAMPLING_RATE_HZ = 16_000
TIMEOUT_S = 120


@pytest.fixture(scope="module")
def clip(sample_call: Path) -> np.ndarray:
    """Samples int16 [n] at 16 kHz."""
    first, last = (round(seconds * SAMPLING_RATE_HZ) for seconds in (CLIP_START_S, CLIP_END_S))
    samples, sampling_rate = soundfile.read(sample_call, start=first, stop=last, dtype="int16")
    assert sampling_rate == SAMPLING_RATE_HZ
    return samples


@pytest.fixture(scope="module")
def wav(clip: np.ndarray) -> bytes:
    return encode(clip, "wav")


@pytest.fixture
def wav_path(wav: bytes, tmp_path: Path) -> Path:
    path = tmp_path / "call.wav"
    path.write_bytes(wav)
    return path


class TestJson:
    @pytest.mark.parametrize("parameters", [None, {"language": "en", "num_speakers": 2}])
    def test_base64(self, url: str, wav: bytes, parameters: dict[str, Any] | None) -> None:
        body: dict[str, Any] = {"inputs": base64.b64encode(wav).decode()}
        if parameters is not None:
            body["parameters"] = parameters
        reply = transcript(requests.post(url, json=body, timeout=TIMEOUT_S))
        assert_greeting(reply)
        assert {s["speaker"] for s in reply["speakers"]} <= {turn["speaker"] for turn in reply["turns"]}

    def test_parameters_of_null(self, custom_url: str, wav: bytes) -> None:
        body = {"inputs": base64.b64encode(wav).decode(), "parameters": None}
        assert_greeting(transcript(requests.post(custom_url, json=body, timeout=TIMEOUT_S)))

    @pytest.mark.parametrize("form", ["data_uri", "object"])
    def test_other_ways_to_write_the_audio(self, custom_url: str, wav: bytes, form: str) -> None:
        standard = base64.b64encode(wav).decode()
        inputs = {"data_uri": f"data:audio/wav;base64,{standard}", "object": {"audio": standard}}[form]
        body: dict[str, Any] = {"inputs": inputs, "parameters": {"diarize": False}}
        assert_greeting(transcript(requests.post(custom_url, json=body, timeout=TIMEOUT_S)))


class TestRawAudio:
    @pytest.mark.parametrize(
        ("container", "content_type"),
        [
            ("wav", "audio/wav"),
            ("flac", "audio/flac"),
            ("flac", "audio/wav"),
            ("mp3", "audio/mpeg"),
            ("ogg", "audio/ogg"),
            ("m4a", "audio/m4a"),
            ("webm", "audio/webm;codecs=opus"),
        ],
    )
    def test_formats_are_told_by_the_bytes(
        self, custom_url: str, clip: np.ndarray, container: str, content_type: str
    ) -> None:
        reply = transcript(post_audio(f"{custom_url}/?diarize=false", encode(clip, container), content_type))
        assert_greeting(reply)
        assert reply["speakers"] == []
        assert reply["duration"] == pytest.approx(CLIP_END_S - CLIP_START_S, abs=0.2)

    def test_without_parameters(self, url: str, wav: bytes) -> None:
        reply = transcript(post_audio(url, wav, "audio/wav"))
        assert_greeting(reply)
        assert reply["speakers"]

    def test_query_parameters(self, url: str, wav: bytes) -> None:
        query = "language=en&batch_size=4&chunk_length_s=20.5&num_speakers=&prompt=None&diarize=false&temperature=0"
        reply = transcript(post_audio(f"{url}/?{query}", wav, "audio/wav"))
        assert_greeting(reply)
        assert reply["language"] == "en"
        assert not any("Unknown parameters" in warning for warning in reply["warnings"])

    def test_two_people_talk_in_the_whole_call(self, custom_url: str, sample_call: Path) -> None:
        reply = transcript(post_audio(custom_url, sample_call.read_bytes(), "audio/wav"))
        assert len({turn["speaker"] for turn in reply["turns"]}) == 2
        by_speaker: dict[str, str] = {}
        for segment in reply["speakers"]:
            by_speaker[segment["speaker"]] = by_speaker.get(segment["speaker"], "") + segment["text"].lower()
        assert len(by_speaker) == 2
        [diane] = [speaker for speaker, text in by_speaker.items() if "diane" in text]
        [sheila] = [speaker for speaker, text in by_speaker.items() if "texas" in text]
        assert diane != sheila


class TestInferenceClient:
    def test_path(self, url: str, wav_path: Path) -> None:
        result = client(url).automatic_speech_recognition(wav_path)
        assert_greeting_text(result.text)
        assert result.chunks

    def test_path_with_parameters(self, url: str, wav_path: Path) -> None:
        result = client(url).automatic_speech_recognition(
            str(wav_path), extra_body={"language": "english", "diarize": False}
        )
        assert_greeting_text(result.text)
        assert result["language"] == "en"

    def test_bytes_with_parameters(self, url: str, wav: bytes) -> None:
        result = client(url).automatic_speech_recognition(wav, extra_body={"num_speakers": 2})
        assert_greeting_text(result.text)
        assert result.chunks is not None
        assert_greeting_text("".join(chunk.text for chunk in result.chunks))
        for chunk in result.chunks:
            start, end = chunk.timestamp
            assert 0 <= start <= end <= CLIP_END_S - CLIP_START_S + 0.01
        assert_greeting_text("".join(segment["text"] for segment in result["speakers"]))

    def test_bytes_with_a_content_type(self, custom_url: str, wav: bytes) -> None:
        typed = client(custom_url, headers={"Content-Type": "audio/wav"})
        assert_greeting_text(typed.automatic_speech_recognition(wav).text)

    def test_error_tells_what_is_wrong(self, url: str, wav: bytes) -> None:
        with pytest.raises(HfHubHTTPError, match=r"\[invalid_parameters\] language") as caught:
            client(url).automatic_speech_recognition(wav, extra_body={"language": "klingon"})
        assert caught.value.response is not None
        assert caught.value.response.status_code == 400


class TestErrors:
    @pytest.mark.parametrize(
        ("parameters", "code"),
        [
            ({"language": "klingon"}, "invalid_parameters"),
            ({"batch_size": 0}, "invalid_parameters"),
            ({"num_speakers": "two"}, "invalid_parameters"),
            ("language=en", "invalid_parameters"),
            ({"num_speakers": 2, "max_speakers": 3}, "conflicting_parameters"),
            ({"assisted": True}, "assistant_unavailable"),
        ],
    )
    def test_parameters(self, url: str, wav: bytes, parameters: Any, code: str) -> None:
        body = {"inputs": base64.b64encode(wav).decode(), "parameters": parameters}
        assert_error(requests.post(url, json=body, timeout=TIMEOUT_S), code)

    def test_query_parameters(self, url: str, wav: bytes) -> None:
        assert_error(post_audio(f"{url}/?language=klingon", wav, "audio/wav"), "invalid_parameters")

    @pytest.mark.parametrize(
        ("inputs", "code"),
        [
            ("/srv/calls/private.wav", "invalid_payload"),
            ("https://example.com/call.wav", "invalid_payload"),
            ("", "invalid_payload"),
            (None, "invalid_payload"),
            (7, "invalid_payload"),
            ({}, "invalid_payload"),
            (base64.b64encode(b"no audio at all, only words").decode(), "invalid_audio"),
        ],
    )
    def test_inputs(self, url: str, inputs: Any, code: str) -> None:
        message = assert_error(requests.post(url, json={"inputs": inputs}, timeout=TIMEOUT_S), code)
        for told in ("private", "example.com", "only words"):
            assert told not in message

    @pytest.mark.parametrize("audio", [b"no audio at all, only words", b"RIFF\x00\x00\x00\x00WAVEfmt "])
    def test_audio(self, url: str, audio: bytes) -> None:
        assert_error(post_audio(url, audio, "audio/wav"), "invalid_audio")

    def test_instances_are_not_taken(self, custom_url: str) -> None:
        assert_error(requests.post(custom_url, json={"instances": []}, timeout=TIMEOUT_S), "invalid_payload")

    def test_endpoint_works_after_an_error(self, custom_url: str, wav: bytes) -> None:
        assert_error(post_audio(custom_url, b"\xff" * 1_000, "audio/wav"), "invalid_audio")
        assert requests.get(f"{custom_url}/health", timeout=TIMEOUT_S).text == "Ok"
        assert_greeting(transcript(post_audio(f"{custom_url}/?diarize=false", wav, "audio/wav")))


def client(url: str, **options: Any) -> InferenceClient:
    return InferenceClient(url, token="not-a-token", timeout=TIMEOUT_S, **options)


def post_audio(url: str, audio: bytes, content_type: str) -> requests.Response:
    return requests.post(url, data=audio, headers={"Content-Type": content_type}, timeout=TIMEOUT_S)


def encode(samples: np.ndarray, container: str) -> bytes:
    """An audio file of ``samples`` int16 [n] at 16 kHz."""
    file = io.BytesIO()
    if container in ("wav", "flac", "mp3", "ogg"):
        soundfile.write(file, samples, SAMPLING_RATE_HZ, format=container)
        return file.getvalue()
    muxer, codec = {"m4a": ("ipod", "aac"), "webm": ("webm", "libopus")}[container]
    with av.open(file, "w", format=muxer) as output:
        stream = output.add_stream(codec, rate=SAMPLING_RATE_HZ, layout="mono")
        assert isinstance(stream, av.AudioStream)
        frame = av.AudioFrame.from_ndarray(samples[None], format="s16", layout="mono")
        frame.sample_rate = SAMPLING_RATE_HZ
        output.mux([*stream.encode(frame), *stream.encode(None)])
    return file.getvalue()


def transcript(response: requests.Response) -> dict[str, Any]:
    """The reply of a success, checked against the form of the public handler."""
    assert response.status_code == 200, response.text
    assert response.headers["content-type"] == "application/json"
    reply = json.loads(response.content, parse_constant=lambda name: pytest.fail(f"{name} is not JSON"))
    assert {"text", "chunks", "speakers"} <= set(reply)
    assert isinstance(reply["text"], str)
    for chunk in reply["chunks"]:
        assert set(chunk) == {"text", "timestamp"}
        assert_span(chunk["timestamp"], reply["duration"])
    for segment in reply["speakers"]:
        assert set(segment) == {"speaker", "text", "timestamp"}
        assert isinstance(segment["text"], str)
        assert_span(segment["timestamp"], reply["duration"])
    assert "".join(chunk["text"] for chunk in reply["chunks"]).strip() == reply["text"]
    return dict(reply)


def assert_span(timestamp: Any, duration: float) -> None:
    start, end = timestamp
    assert all(isinstance(second, float) and math.isfinite(second) for second in (start, end))
    assert 0 <= start <= end <= duration + 0.01


def assert_greeting(reply: dict[str, Any]) -> None:
    assert_greeting_text(reply["text"])
    assert reply["chunks"]
    if reply["speakers"]:
        assert_greeting_text("".join(segment["text"] for segment in reply["speakers"]))


def assert_greeting_text(text: str) -> None:
    for word in ("hello", "diane", "jersey"):
        assert word in text.lower()


def assert_error(response: requests.Response, code: str) -> str:
    """The one sentence of a failure, which starts with its code."""
    assert response.status_code == 400
    assert list(response.json()) == ["error"]
    message = str(response.json()["error"])
    assert message.startswith(f"[{code}] ")
    assert "Traceback" not in message
    return message
