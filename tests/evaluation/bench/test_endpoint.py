"""Requests to an endpoint on loopback that treats its handler as the host does."""

import base64
import os
from collections.abc import Iterator
from typing import Any

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from speech_pipeline.errors import InvalidAudio, SpeechError
from speech_pipeline.evaluation.bench.endpoint import EndpointFailed, endpoint
from tests.host.server import serve
from tests.host.toolkit_app import create_app_for

AUDIO = os.urandom(300)


@pytest.fixture(autouse=True)
def no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ask this machine, whatever the environment says of proxies."""
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")


def _handler(body: dict[str, Any]) -> dict[str, Any]:
    audio = body["inputs"]
    if not isinstance(audio, bytes):
        audio = base64.b64decode(audio)
    if audio != AUDIO:
        raise InvalidAudio("The bytes are not audio.")
    return {"text": "hello", "timings": {"recognition": 0.25}, "sent": body["parameters"]}


@pytest.fixture(params=["custom", "automatic-speech-recognition"])
def url(request: pytest.FixtureRequest) -> Iterator[str]:
    """An endpoint of each task."""
    with serve(create_app_for(_handler, request.param)) as address:
        yield address


def test_a_request_brings_audio_and_parameters_and_takes_timings_home(url: str) -> None:
    with endpoint(url, token=None) as transcribe:
        answer = transcribe(AUDIO, {"language": "en", "diarize": False})
    assert answer["timings"] == {"recognition": 0.25}
    assert answer["sent"] == {"language": "en", "diarize": False}


def test_an_error_keeps_the_code_and_sentence_of_the_endpoint(url: str) -> None:
    with endpoint(url, token=None) as transcribe, pytest.raises(SpeechError) as failure:
        transcribe(b"something else", {})
    assert (failure.value.code, failure.value.message) == ("invalid_audio", "The bytes are not audio.")


def test_the_token_goes_along_and_its_lack_is_explained() -> None:
    async def guarded(request: Request) -> Response:
        if request.headers.get("authorization") != "Bearer hf_secret":
            return Response('{"error": "Unauthorized"}', status_code=401, media_type="application/json")
        return Response('{"text": "hello"}', media_type="application/json")

    with serve(Starlette(routes=[Route("/", guarded, methods=["POST"])])) as address:
        with endpoint(address, token="hf_secret") as transcribe:
            assert transcribe(AUDIO, {})["text"] == "hello"
        with endpoint(address, token=None) as transcribe, pytest.raises(EndpointFailed, match="HF_TOKEN"):
            transcribe(AUDIO, {})


def test_an_answer_that_is_no_json_is_refused() -> None:
    async def page(request: Request) -> Response:
        return PlainTextResponse("Bad gateway", status_code=502)

    with (
        serve(Starlette(routes=[Route("/", page, methods=["POST"])])) as address,
        endpoint(address, token=None) as transcribe,
        pytest.raises(EndpointFailed, match="status 502"),
    ):
        transcribe(AUDIO, {})


def test_nobody_at_the_address_is_reported_without_the_token() -> None:
    with endpoint("http://127.0.0.1:9", token="hf_secret") as transcribe, pytest.raises(EndpointFailed) as failure:
        transcribe(AUDIO, {})
    assert "did not answer" in str(failure.value)
    assert "hf_secret" not in str(failure.value)
