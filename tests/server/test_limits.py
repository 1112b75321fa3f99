"""Who is let in, how much, how fast and how many: refusals have the right status and cost nobody else an answer."""

import socket
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from urllib.parse import urlsplit

import pytest
import requests

from tests.server.running import TIMEOUT_S, metric, running, until_metric
from tests.server.scripted import Gate, ScriptedPipeline

RECORDING = b"RIFF recording"


def post(url: str, data: bytes | Iterator[bytes] = RECORDING, key: str | None = None) -> requests.Response:
    headers = {"content-type": "audio/wav"} | ({} if key is None else {"authorization": f"Bearer {key}"})
    return requests.post(url, data=data, headers=headers, timeout=TIMEOUT_S)


@contextmanager
def gated(**settings: object) -> Iterator[tuple[str, Gate, Callable[..., requests.Response]]]:
    """A server whose work waits at a gate, and what sends requests to it from threads of their own."""
    gate = Gate()
    with running(lambda: ScriptedPipeline(gate), **settings) as url, ThreadPoolExecutor(16) as threads:
        try:
            yield url, gate, lambda **options: threads.submit(post, url, **options)
        finally:
            gate.open.set()


def test_keys() -> None:
    with running(ScriptedPipeline, api_keys="first, sécond") as url:
        for key in ("first", "sécond".encode().decode("latin-1")):
            assert post(url, key=key).status_code == 200
        for key in (None, "", "firs", "first, sécond".encode().decode("latin-1")):
            response = post(url, key=key)
            assert (response.status_code, response.json()["error"][:14]) == (401, "[unauthorized]")
            assert response.headers["www-authenticate"] == "Bearer"
        for path in ("/metrics", "/v1/models", "/v1/models/whisper-1"):
            assert requests.get(url + path, timeout=TIMEOUT_S).status_code == 401
        assert requests.get(f"{url}/health", timeout=TIMEOUT_S).status_code == 200


@pytest.mark.parametrize("stated", [True, False])
@pytest.mark.parametrize("path", ["/", "/v1/audio/transcriptions", "/v1/audio/speech"])
def test_bodies_that_are_too_large(stated: bool, path: str) -> None:
    with running(ScriptedPipeline, max_body_bytes=100_000) as url:
        head = b'--x\r\nContent-Disposition: form-data; name="file"; filename="a.wav"\r\n\r\n'
        body = head + bytes(3_000_000)
        response = requests.post(
            url + path,
            data=body if stated else iter([body[:50_000], body[50_000:]]),
            headers={"content-type": "multipart/form-data; boundary=x"},
            timeout=TIMEOUT_S,
        )
        assert response.status_code == 413
        assert "request_too_large" in response.text
        assert post(url).status_code == 200


def test_a_body_that_comes_too_slowly() -> None:
    with running(ScriptedPipeline, upload_timeout_s=0.3) as url, connection(url) as slow:
        slow.sendall(b"POST / HTTP/1.1\r\nHost: x\r\nContent-Type: audio/wav\r\nContent-Length: 1000\r\n\r\nRIFF")
        answer = read_until_closed(slow)
        assert answer.startswith(b"HTTP/1.1 408 ")
        assert b"[upload_timed_out]" in answer
        until_metric(url, "speech_requests_present", 0)


def test_more_requests_than_may_wait() -> None:
    with gated(max_working_requests=1, max_waiting_requests=1) as (url, gate, send):
        accepted = [send()]
        gate.wait_for()
        accepted.append(send())
        until_metric(url, "speech_requests_present", 2)
        response = post(url)
        assert (response.status_code, response.headers["retry-after"]) == (503, "5")
        assert response.json()["error"].startswith("[server_busy] 2 requests are in progress")
        gate.open.set()
        assert [request.result().status_code for request in accepted] == [200, 200]
        until_metric(url, "speech_requests_present", 0)


def test_more_requests_than_a_key_may_have() -> None:
    with gated(api_keys="a,b", max_requests_per_key=1, max_working_requests=2) as (url, gate, send):
        first = send(key="a")
        gate.wait_for()
        response = post(url, key="a")
        assert (response.status_code, response.headers["retry-after"]) == (429, "1")
        assert response.json()["error"].startswith("[too_many_requests] ")
        other = send(key="b")
        gate.wait_for()
        gate.open.set()
        assert (first.result().status_code, other.result().status_code) == (200, 200)
        assert post(url, key="a").status_code == 200


def test_a_wait_that_is_too_long() -> None:
    with gated(max_working_requests=1, queue_timeout_s=0.2) as (url, gate, send):
        first = send()
        gate.wait_for()
        response = post(url)
        assert (response.status_code, response.json()["error"][:13]) == (503, "[server_busy]")
        gate.open.set()
        assert first.result().status_code == 200


def test_work_that_takes_too_long() -> None:
    with gated(max_working_requests=1, request_timeout_s=0.3) as (url, gate, _):
        response = post(url)
        assert (response.status_code, response.json()["error"][:19]) == (504, "[request_timed_out]")
        assert gate.cancelled.wait(30)
        until_metric(url, "speech_requests_working", 0)
        gate.open.set()
        assert post(url).status_code == 200


@pytest.mark.parametrize("stream", [False, True])
def test_a_caller_who_leaves_ends_the_work(stream: bool) -> None:
    with gated(max_working_requests=1) as (url, gate, _):
        body = b'--x\r\nContent-Disposition: form-data; name="file"; filename="a.wav"\r\n\r\nRIFF\r\n'
        body += b'--x\r\nContent-Disposition: form-data; name="stream"\r\n\r\n%d\r\n--x--\r\n' % stream
        head = b"POST /v1/audio/transcriptions HTTP/1.1\r\nHost: x\r\nContent-Type: multipart/form-data; boundary=x\r\n"
        with connection(url) as leaving:
            leaving.sendall(head + b"Content-Length: %d\r\n\r\n" % len(body) + body)
            gate.wait_for()
        assert gate.cancelled.wait(30)
        until_metric(url, "speech_requests_present", 0)
        route = 'route="/v1/audio/transcriptions"'
        assert metric(url, f'speech_requests_total{{{route},status="499"}}') == 1
        gate.open.set()
        assert post(url).status_code == 200


def test_callers_who_leave_while_they_wait_or_upload() -> None:
    with gated(max_working_requests=1) as (url, gate, send):
        first = send()
        gate.wait_for()
        head = b"POST / HTTP/1.1\r\nHost: x\r\nContent-Type: audio/wav\r\nContent-Length: %d\r\n\r\nRIFF"
        for size in (4, 1_000):
            with connection(url) as leaving:
                leaving.sendall(head % size)
                until_metric(url, "speech_requests_present", 2)
            until_metric(url, "speech_requests_present", 1)
        gate.open.set()
        assert first.result().status_code == 200
        assert not gate.cancelled.is_set()


def test_bad_requests_beside_good_ones() -> None:
    with running(ScriptedPipeline, max_working_requests=4) as url, ThreadPoolExecutor(16) as threads:
        bodies = [RECORDING, b"no audio", b'{"inputs":', RECORDING] * 10
        statuses = [response.status_code for response in threads.map(lambda body: post(url, body), bodies)]
    assert statuses == [200, 422, 200, 200] * 10


def test_pipelined_requests_are_answered_in_order() -> None:
    with running(ScriptedPipeline) as url, connection(url) as pipelining:
        request = b"POST / HTTP/1.1\r\nHost: x\r\nX-Request-Id: %d\r\nContent-Type: audio/wav\r\nContent-Length: 4\r\n"
        last = request.replace(b"Host", b"Connection: close\r\nHost")
        pipelining.sendall((request + b"\r\nRIFF") % 1 + (last + b"\r\nRIFF") % 2)
        answer = read_until_closed(pipelining)
        assert answer.count(b"HTTP/1.1 200 OK") == 2
        assert answer.index(b"x-request-id: 1") < answer.index(b"x-request-id: 2")


def test_pages_of_allowed_origins_may_call() -> None:
    with running(ScriptedPipeline, cors_origins="https://a.example") as url:
        for origin, allowed in (("https://a.example", "https://a.example"), ("https://b.example", None)):
            response = requests.get(f"{url}/health", headers={"origin": origin}, timeout=TIMEOUT_S)
            assert response.headers.get("access-control-allow-origin") == allowed


@contextmanager
def connection(url: str) -> Iterator[socket.socket]:
    address = urlsplit(url)
    with socket.create_connection((address.hostname, address.port), timeout=TIMEOUT_S) as opened:
        yield opened


def read_until_closed(opened: socket.socket) -> bytes:
    parts = []
    while part := opened.recv(65_536):
        parts.append(part)
    return b"".join(parts)
