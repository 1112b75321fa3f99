"""From the start of the process to its end: models that load, that cannot be loaded, and a stop under load."""

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
import requests

from config import ServerSettings
from speech_pipeline.errors import ModelUnavailable, SpeechError
from speech_pipeline.server.app import create_app
from tests.host.server import serve
from tests.server.running import TIMEOUT_S, running, wait_briefly, wait_until_ready
from tests.server.scripted import Gate, ScriptedPipeline


def test_refuses_until_the_models_are_loaded() -> None:
    loaded = threading.Event()

    def load() -> ScriptedPipeline:
        assert loaded.wait(30)
        return ScriptedPipeline()

    with serve(create_app(load, ServerSettings.model_validate({}))) as url:
        for response in (
            requests.get(f"{url}/health", timeout=TIMEOUT_S),
            requests.post(url, data=b"RIFF", timeout=TIMEOUT_S),
            requests.post(f"{url}/v1/audio/speech", json={"input": "Hello."}, timeout=TIMEOUT_S),
        ):
            assert (response.status_code, response.headers["retry-after"]) == (503, "5")
            assert "not_ready" in response.text
        loaded.set()
        wait_until_ready(url)
        assert requests.post(url, data=b"RIFF", timeout=TIMEOUT_S).status_code == 200


@pytest.mark.parametrize(
    ("error", "status", "code"),
    [
        (ModelUnavailable("The model is gated."), 503, "model_unavailable"),
        (RuntimeError("secret words in /secret/path"), 500, "internal_error"),
    ],
)
def test_models_that_cannot_be_loaded(error: Exception, status: int, code: str) -> None:
    told: list[SpeechError] = []
    failed = threading.Event()

    def load() -> ScriptedPipeline:
        raise error

    def on_failure(failure: SpeechError) -> None:
        told.append(failure)
        failed.set()

    with serve(create_app(load, ServerSettings.model_validate({}), on_failure=on_failure)) as url:
        assert failed.wait(30)
        for _ in range(2):
            response = requests.get(f"{url}/health", timeout=TIMEOUT_S)
            assert response.status_code == status
            assert f"[{code}]" in response.text
            assert "secret" not in response.text
    assert [failure.code for failure in told] == [code]


def test_a_stop_finishes_what_was_accepted() -> None:
    gate = Gate()
    with ThreadPoolExecutor() as threads:
        with running(lambda: ScriptedPipeline(gate), max_working_requests=1) as url:
            requests_sent = [threads.submit(requests.post, url, data=b"RIFF", timeout=TIMEOUT_S) for _ in range(3)]
            gate.wait_for()
            while "speech_requests_present 3.0" not in requests.get(f"{url}/metrics", timeout=TIMEOUT_S).text:
                wait_briefly()
            threading.Timer(0.5, gate.open.set).start()
        assert [request.result().status_code for request in requests_sent] == [200, 200, 200]
