"""The stand-in for the host does what the host is known to do, so that tests against it mean something."""

import base64
import math
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import requests

from tests.host.server import serve
from tests.host.toolkit_app import AUDIO_TYPES, create_app, create_app_for

ASR = "automatic-speech-recognition"
TIMEOUT_S = 30

SCRIPTED_HANDLER = """
import sys
from sibling_of_handler import GREETING


class EndpointHandler:
    def __init__(self, path):
        self.path = path
        self.first_import_path = sys.path[0]

    def __call__(self, data):
        return {
            "module": __name__,
            "package": __package__,
            "path": self.path,
            "path_type": type(self.path).__name__,
            "first_import_path": self.first_import_path,
            "greeting": GREETING,
        }
"""


@contextmanager
def host(handler: Callable[[dict[str, Any]], Any], task: str = "custom") -> Iterator[str]:
    with serve(create_app_for(handler, task)) as url:
        yield url


def describe(data: dict[str, Any]) -> dict[str, Any]:
    """Reply with what arrived, in JSON's terms."""
    inputs = data.get("inputs")
    return {
        "keys": sorted(data),
        "type": type(inputs).__name__,
        "inputs": inputs.hex() if isinstance(inputs, bytes) else inputs,
        "parameters": data.get("parameters"),
    }


@pytest.fixture(scope="module")
def custom() -> Iterator[str]:
    with host(describe) as url:
        yield url


@pytest.fixture(scope="module")
def recognition() -> Iterator[str]:
    with host(describe, ASR) as url:
        yield url


def post(url: str, **arguments: Any) -> requests.Response:
    return requests.post(url, timeout=TIMEOUT_S, **arguments)


def error(response: requests.Response) -> str:
    """The one thing a failure tells."""
    assert response.status_code == 400
    body = response.json()
    assert list(body) == ["error"]
    return str(body["error"])


class TestLoading:
    def test_handler_is_imported_as_the_host_does(self, tmp_path: Path) -> None:
        (tmp_path / "handler.py").write_text(SCRIPTED_HANDLER)
        (tmp_path / "sibling_of_handler.py").write_text("GREETING = 'good morning'\n")
        with serve(create_app(tmp_path)) as url:
            seen = post(url, json={"inputs": ""}).json()
        assert seen == {
            "module": "handler.EndpointHandler",
            "package": "handler",
            "path": str(tmp_path),
            "path_type": "str",
            "first_import_path": str(tmp_path),
            "greeting": "good morning",
        }

    @pytest.mark.parametrize(
        "source",
        [
            "raise ImportError('a package is missing')",
            "from . import sibling\nclass EndpointHandler: ...",
            "class AnotherName: ...",
            "class EndpointHandler:\n    def __init__(self, path): raise ValueError('no model')",
            "class EndpointHandler:\n    def __init__(self): ...",
        ],
    )
    def test_host_does_not_start_when_loading_fails(self, tmp_path: Path, source: str) -> None:
        (tmp_path / "handler.py").write_text(source)
        with pytest.raises(RuntimeError, match="did not start"), serve(create_app(tmp_path)):
            pass


class TestRoutes:
    @pytest.mark.parametrize("path", ["/", "/health"])
    def test_health(self, custom: str, path: str) -> None:
        response = requests.get(custom + path, timeout=TIMEOUT_S)
        assert (response.status_code, response.text) == (200, "Ok")

    @pytest.mark.parametrize("path", ["/", "/predict"])
    def test_prediction(self, custom: str, path: str) -> None:
        assert post(custom + path, json={"inputs": "x"}).status_code == 200

    @pytest.mark.parametrize("path", ["/invocations", "/v1/audio/transcriptions", "/api/v1/audio/transcriptions"])
    def test_other_paths_are_not_found(self, custom: str, path: str) -> None:
        assert post(custom + path, json={"inputs": "x"}).status_code == 404


class TestContentTypes:
    @pytest.mark.parametrize("content_type", AUDIO_TYPES)
    def test_audio_bodies_become_bytes(self, custom: str, content_type: str) -> None:
        seen = post(custom, data=b"\x00\xff", headers={"Content-Type": content_type}).json()
        assert seen == {"keys": ["inputs"], "type": "bytes", "inputs": "00ff", "parameters": None}

    @pytest.mark.parametrize("content_type", ["application/json", "application/json; charset=UTF-8"])
    def test_json_bodies_are_passed_on(self, custom: str, content_type: str) -> None:
        body = b'{"inputs": {"audio": "x"}, "parameters": null, "anything": 1}'
        seen = post(custom, data=body, headers={"Content-Type": content_type}).json()
        assert seen == {
            "keys": ["anything", "inputs", "parameters"],
            "type": "dict",
            "inputs": {"audio": "x"},
            "parameters": None,
        }

    @pytest.mark.parametrize(
        "content_type",
        [
            None,
            "application/json; charset=utf-8",
            "application/json;charset=UTF-8",
            "application/octet-stream",
            "multipart/form-data; boundary=x",
            "audio/WAV",
            "audio/wav; rate=16000",
            "audio/mp4",
            "audio/mp3",
            "audio/aac",
            "audio/opus",
            "video/mp4",
            "video/webm",
        ],
    )
    def test_other_types_are_refused(self, custom: str, content_type: str | None) -> None:
        response = post(custom, data=b'{"inputs": "x"}', headers={"Content-Type": content_type})
        assert "not supported" in error(response)

    @pytest.mark.parametrize("content_type", ["text/plain", "text/csv"])
    def test_text_fails_on_its_missing_deserializer(self, custom: str, content_type: str) -> None:
        assert "NoneType" in error(post(custom, data=b"hello", headers={"Content-Type": content_type}))

    def test_not_a_number_is_no_json(self, custom: str) -> None:
        error(post(custom, data=b'{"inputs": NaN}', headers={"Content-Type": "application/json"}))


class TestInputs:
    @pytest.mark.parametrize("body", [{"audio": "private"}, {"input": "private"}, ["private"]])
    def test_body_without_inputs_comes_back_in_the_error(self, custom: str, body: Any) -> None:
        message = error(post(custom, json=body))
        assert "inputs" in message
        assert "private" in message

    def test_instances_stand_for_inputs(self, custom: str) -> None:
        assert post(custom, json={"instances": []}).json()["keys"] == ["instances"]

    @pytest.mark.parametrize("task", [ASR, "audio-classification"])
    def test_audio_tasks_decode_inputs_that_come_with_parameters(self, task: str) -> None:
        body = {"inputs": base64.b64encode(b"\x00\xff").decode(), "parameters": {}}
        with host(describe, task) as url:
            seen = post(url, json=body).json()
        assert (seen["type"], seen["inputs"]) == ("bytes", "00ff")

    def test_audio_tasks_leave_inputs_alone_without_parameters(self, recognition: str) -> None:
        assert post(recognition, json={"inputs": "AP8="}).json()["inputs"] == "AP8="

    def test_custom_task_never_decodes(self, custom: str) -> None:
        assert post(custom, json={"inputs": "AP8=", "parameters": {}}).json()["inputs"] == "AP8="

    @pytest.mark.parametrize("inputs", ["data:audio/wav;base64,AP8=", "AP\n8=", "_-8=", {"audio": "AP8="}, ["AP8="]])
    def test_audio_tasks_refuse_all_but_strict_base64(self, recognition: str, inputs: Any) -> None:
        error(post(recognition, json={"inputs": inputs, "parameters": {}}))


class TestQuery:
    def test_values_are_coerced_by_their_look(self, custom: str) -> None:
        query = {"a": "4", "b": "true", "c": "false", "d": "0.5", "e": "-1", "f": "True", "g": "None", "h": "en"}
        seen = post(custom, params=query, data=b"x", headers={"Content-Type": "audio/wav"}).json()
        assert seen["parameters"] == {
            "a": 4,
            "b": True,
            "c": False,
            "d": "0.5",
            "e": "-1",
            "f": "True",
            "g": "None",
            "h": "en",
        }

    def test_parameters_in_the_body_win(self, custom: str) -> None:
        seen = post(custom, params={"a": "1"}, json={"inputs": "x", "parameters": {"b": 2}}).json()
        assert seen["parameters"] == {"b": 2}

    def test_query_does_not_make_audio_tasks_decode(self, recognition: str) -> None:
        seen = post(recognition, params={"a": "1"}, data=b"\x00\xff", headers={"Content-Type": "audio/wav"}).json()
        assert (seen["inputs"], seen["parameters"]) == ("00ff", {"a": 1})


class TestReplies:
    @pytest.mark.parametrize(
        ("result", "json"),
        [
            ({"x": math.nan, "y": math.inf}, {"x": None, "y": None}),
            ({"x": np.float32(0.5), "y": np.arange(2)}, {"x": 0.5, "y": [0, 1]}),
            ({"x": (1, 2)}, {"x": [1, 2]}),
            ("text", "text"),
        ],
    )
    def test_what_becomes_json(self, result: Any, json: Any) -> None:
        with host(lambda data: result) as url:
            response = post(url, json={"inputs": ""})
        assert response.headers["content-type"] == "application/json"
        assert response.json() == json

    @pytest.mark.parametrize(
        "result",
        [{"x": b"bytes"}, {"x": {1}}, {1: "x"}, {"x": Path("x")}, {"x": np.ones((2, 3)).T}, {"x": 2**64}, "\ud800"],
    )
    def test_what_does_not(self, result: Any) -> None:
        with host(lambda data: result) as url:
            assert error(post(url, json={"inputs": ""}))

    def test_generators_and_coroutines_do_not(self) -> None:
        with host(lambda data: (word for word in ("a", "b"))) as url:
            assert "not JSON serializable" in error(post(url, json={"inputs": ""}))

    @pytest.mark.parametrize(
        ("exception", "text"),
        [
            (ValueError("no audio"), "no audio"),
            (KeyError("x"), "'x'"),
            (ValueError(), ""),
            (MemoryError("full"), "full"),
        ],
    )
    def test_exceptions_become_their_text(self, exception: Exception, text: str) -> None:
        def fail(data: dict[str, Any]) -> None:
            raise exception

        with host(fail) as url:
            assert error(post(url, json={"inputs": ""})) == text

    @pytest.mark.parametrize("accept", ["*/*", "application/json", "application/json; charset=UTF-8"])
    def test_accepted_types(self, custom: str, accept: str) -> None:
        assert post(custom, json={"inputs": ""}, headers={"Accept": accept}).status_code == 200

    def test_no_accept_header_means_json(self, custom: str) -> None:
        assert post(custom, json={"inputs": ""}, headers={"Accept": None}).status_code == 200

    @pytest.mark.parametrize("accept", ["application/json, text/plain, */*", "audio/wav", "text/plain", "text/html"])
    def test_other_accepted_types_fail_after_the_work(self, accept: str) -> None:
        calls: list[dict[str, Any]] = []
        with host(calls.append) as url:
            error(post(url, json={"inputs": ""}, headers={"Accept": accept}))
        assert len(calls) == 1


class TestThreads:
    def test_one_call_at_a_time_away_from_the_event_loop(self) -> None:
        running: list[int] = []
        most_running: list[int] = []
        threads: set[str] = set()

        def work(data: dict[str, Any]) -> dict[str, Any]:
            running.append(data["inputs"])
            most_running.append(len(running))
            threads.add(threading.current_thread().name)
            time.sleep(0.02)
            running.remove(data["inputs"])
            return data

        with host(work) as url, ThreadPoolExecutor(4) as pool:
            replies = list(pool.map(lambda number: post(url, json={"inputs": number}).json(), range(8)))

        assert [reply["inputs"] for reply in replies] == list(range(8))
        assert most_running == [1] * 8
        assert all("AnyIO worker thread" in name for name in threads)

    def test_health_answers_while_a_call_runs(self) -> None:
        called, finish = threading.Event(), threading.Event()

        def work(data: dict[str, Any]) -> dict[str, Any]:
            called.set()
            finish.wait(TIMEOUT_S)
            return {}

        with host(work) as url, ThreadPoolExecutor(1) as pool:
            reply = pool.submit(post, url, json={"inputs": ""})
            try:
                assert called.wait(TIMEOUT_S)
                assert requests.get(f"{url}/health", timeout=TIMEOUT_S).status_code == 200
                assert not reply.done()
            finally:
                finish.set()
            assert reply.result(TIMEOUT_S).status_code == 200
