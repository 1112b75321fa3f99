"""``POST /`` takes a recording however it is sent, and says with the right status what is wrong."""

import base64
import json
from collections.abc import Iterator
from typing import Any

import pytest
import requests

from speech_pipeline.listener import Listener
from tests.server.running import TIMEOUT_S, metric, running
from tests.server.scripted import ScriptedPipeline

RECORDING = b"RIFF recording"
BASE64 = base64.b64encode(RECORDING).decode()


def work(recording: bytes, listener: Listener) -> None:
    if recording == b"fault":
        raise RuntimeError("secret words in /secret/path")


@pytest.fixture(scope="module")
def pipeline() -> ScriptedPipeline:
    return ScriptedPipeline(work)


@pytest.fixture(scope="module")
def url(pipeline: ScriptedPipeline) -> Iterator[str]:
    with running(lambda: pipeline) as url:
        yield url


def post(url: str, data: Any, content_type: str | None, **headers: str) -> requests.Response:
    typed = {} if content_type is None else {"content-type": content_type}
    return requests.post(url, data=data, headers={**typed, **headers}, timeout=TIMEOUT_S)


@pytest.mark.parametrize("path", ["/", "/health"])
def test_ready(url: str, pipeline: ScriptedPipeline, path: str) -> None:
    response = requests.get(url + path, timeout=TIMEOUT_S)
    assert (response.status_code, response.text) == (200, "Ok")
    assert pipeline.warm


@pytest.mark.parametrize("path", ["/", "/predict"])
@pytest.mark.parametrize(
    "content_type",
    ["audio/wav", "audio/mp4", "video/webm;codecs=opus", "application/octet-stream", "text/csv", None,
     "application/x-www-form-urlencoded"],
)  # fmt: skip
def test_a_bare_recording(url: str, pipeline: ScriptedPipeline, path: str, content_type: str | None) -> None:
    response = post(f"{url}{path}?language=german&batch_size=4", RECORDING, content_type)
    assert response.status_code == 200, response.text
    assert response.json()["text"] == "Hello there. Good bye."
    assert pipeline.recordings[-1] == RECORDING
    assert (pipeline.configs[-1].language, pipeline.configs[-1].batch_size) == ("de", 4)


@pytest.mark.parametrize("content_type", ["application/json", "application/json; charset=utf-8", "text/plain", None])
@pytest.mark.parametrize("accept", ["*/*", "application/json, text/plain, */*", "text/html", "audio/wav"])
def test_json(url: str, pipeline: ScriptedPipeline, content_type: str | None, accept: str) -> None:
    body = json.dumps({"inputs": {"text": "Guten Tag."}, "parameters": {"task": "speak"}})
    response = post(url, body, content_type, accept=accept)
    assert response.status_code == 200, response.text
    assert response.headers["content-type"] == "application/json"
    assert response.json()["reply"]["text"] == "Guten Tag."


def test_parameters_of_the_body_come_before_those_of_the_address(url: str, pipeline: ScriptedPipeline) -> None:
    body = {"inputs": {"text": "Good day."}, "parameters": {"task": "answer"}}
    assert requests.post(f"{url}/?task=nonsense", json=body, timeout=TIMEOUT_S).status_code == 200
    body = {"inputs": {"text": "Good day."}}
    assert requests.post(f"{url}/?task=nonsense", json=body, timeout=TIMEOUT_S).status_code == 422


@pytest.mark.parametrize("fields", [{"language": "de"}, {"parameters": '{"language": "de"}'}])
def test_a_form(url: str, pipeline: ScriptedPipeline, fields: dict[str, str]) -> None:
    response = requests.post(url, files={"audio": ("call.wav", RECORDING)}, data=fields, timeout=TIMEOUT_S)
    assert response.status_code == 200, response.text
    assert pipeline.recordings[-1] == RECORDING
    assert pipeline.configs[-1].language == "de"


def test_a_recording_that_does_not_fit_in_memory(url: str, pipeline: ScriptedPipeline) -> None:
    recording = bytes(range(256)) * 20_000
    assert post(url, recording, "audio/wav").status_code == 200
    assert pipeline.recordings[-1] == recording


def test_what_comes_with_a_transcript(url: str) -> None:
    response = post(f"{url}/?unknown=1", RECORDING, "audio/wav")
    assert response.json()["warnings"] == ["Unknown parameters were ignored: unknown."]
    assert list(response.json()["timings"]) == ["queue", "recognition", "total"]


@pytest.mark.parametrize(
    ("body", "content_type", "status", "code"),
    [
        (b"no audio", "audio/wav", 422, "invalid_audio"),
        (b"{", "application/json", 400, "invalid_payload"),
        (b"\xff{}", "application/json", 400, "invalid_payload"),
        (b"[" * 100_000, "application/json", 400, "invalid_payload"),
        (b"[]", "application/json", 400, "invalid_payload"),
        (b"{}", "application/json", 400, "invalid_payload"),
        (b'{"inputs": "", "parameters": 7}', "application/json", 422, "invalid_parameters"),
        (b'{"inputs": {"text": ""}}', "application/json", 422, "invalid_text"),
        (b"fault", "audio/wav", 500, "internal_error"),
        (b"nonsense", "multipart/form-data", 400, "invalid_payload"),
        (b"nonsense", "multipart/form-data; boundary=x", 400, "invalid_payload"),
        (b"--x\r\n\r\n--x--", "multipart/form-data; boundary=x", 400, "invalid_payload"),
        (b"", "multipart/form-data; boundary=x", 400, "invalid_payload"),
    ],
)
def test_errors(url: str, body: bytes, content_type: str, status: int, code: str) -> None:
    response = post(url, body, content_type)
    assert response.status_code == status, response.text
    assert list(response.json()) == ["error"]
    assert response.json()["error"].startswith(f"[{code}] ")
    assert "secret" not in response.text
    assert post(url, RECORDING, "audio/wav").status_code == 200


def test_unknown_addresses_and_methods(url: str) -> None:
    response = requests.get(f"{url}/nothing", timeout=TIMEOUT_S)
    assert (response.status_code, response.json()["error"][:12]) == (404, "[not_found] ")
    response = requests.delete(f"{url}/predict", timeout=TIMEOUT_S)
    assert response.status_code == 405
    assert response.headers["allow"] == "POST"


def test_identifiers_and_safety_headers(url: str) -> None:
    response = requests.get(f"{url}/health", headers={"x-request-id": "mine-1"}, timeout=TIMEOUT_S)
    assert response.headers["x-request-id"] == "mine-1"
    ids = {
        requests.get(f"{url}/health", headers={"x-request-id": "a b"}, timeout=TIMEOUT_S).headers["x-request-id"]
        for _ in range(2)
    }
    assert len(ids) == 2
    assert all(identifier.startswith("req_") for identifier in ids)
    assert response.headers["x-content-type-options"] == "nosniff"
    assert "access-control-allow-origin" not in response.headers


def test_metrics_count_the_work(url: str) -> None:
    before = metric(url, 'speech_audio_seconds_total{direction="heard"}')
    post(url, RECORDING, "audio/wav")
    post(url, b"no audio", "audio/wav")
    assert metric(url, 'speech_audio_seconds_total{direction="heard"}') == before + 2.5
    assert metric(url, 'speech_errors_total{code="invalid_audio"}') >= 1
    assert metric(url, 'speech_requests_total{route="/",status="422"}') >= 1
    assert metric(url, 'speech_stage_seconds_count{stage="recognition"}') >= 1
    assert metric(url, "speech_requests_present") == 0
