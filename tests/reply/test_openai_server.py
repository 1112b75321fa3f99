"""Language models behind a URL, against a real server on loopback that speaks OpenAI's protocol."""

import itertools
import json
import logging
import socket
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

import anyio
import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from speech_pipeline.errors import ReplyFailed, SpeechError, TextTooLong
from speech_pipeline.reply.language_model import Message, Written
from speech_pipeline.reply.openai_server import OpenAIServer
from tests.host.server import serve

QUESTION = [Message("system", "Be brief."), Message("user", "Why is the sky blue?")]
KEY = "secret-key-1"


@dataclass
class ChatServer:
    """Answers chat completions with a script and remembers what it was asked."""

    chunks: list[dict[str, Any] | str]
    status: int = 200
    error: dict[str, Any] = field(default_factory=dict)
    endless: bool = False
    refused: tuple[str, ...] = ()
    requests: list[dict[str, Any]] = field(default_factory=list)
    keys: list[str] = field(default_factory=list)
    closed: threading.Event = field(default_factory=threading.Event)

    async def complete(self, request: Request) -> Response:
        self.keys.append(request.headers["authorization"])
        self.requests.append(await request.json())
        for name in self.refused:
            if name in self.requests[-1]:
                return JSONResponse({"error": {"code": "unsupported_parameter", "param": name}}, 400)
        if self.status != 200:
            return JSONResponse({"error": self.error}, self.status)
        return StreamingResponse(self._events(), media_type="text/event-stream")

    async def _events(self) -> AsyncIterator[str]:
        try:
            for chunk in itertools.cycle(self.chunks) if self.endless else self.chunks:
                yield chunk if isinstance(chunk, str) else f"data: {json.dumps(chunk)}\n\n"
                await anyio.sleep(0.001)
        finally:
            self.closed.set()


def delta(content: str | None, finish_reason: str | None = None) -> dict[str, Any]:
    choice = {"index": 0, "delta": {"content": content}, "finish_reason": finish_reason}
    return {"id": "1", "object": "chat.completion.chunk", "created": 0, "model": "m", "choices": [choice]}


DONE = "data: [DONE]\n\n"


@contextmanager
def connected(server: ChatServer, **options: Any) -> Iterator[OpenAIServer]:
    app = Starlette(routes=[Route("/v1/chat/completions", server.complete, methods=["POST"])])
    with serve(app) as url:
        yield OpenAIServer(f"{url}/v1", "tiny", KEY, **options)


def write(
    model: OpenAIServer, emit: Callable[[str], None] = lambda text: None, seed: int | None = None
) -> tuple[str, Written]:
    parts: list[str] = []

    def both(text: str) -> None:
        parts.append(text)
        emit(text)

    written = model.write(QUESTION, both, max_tokens=20, temperature=0.5, seed=seed)
    return "".join(parts), written


def test_an_answer_is_streamed() -> None:
    server = ChatServer([delta(""), delta("It is "), delta("blue."), delta(None, "stop"), DONE])
    with connected(server) as model:
        assert write(model, seed=4) == ("It is blue.", Written(complete=True))
    (request,) = server.requests
    assert request["messages"] == [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "Why is the sky blue?"},
    ]
    assert (request["model"], request["stream"], request["max_tokens"]) == ("tiny", True, 20)
    assert (request["temperature"], request["seed"]) == (0.5, 4)
    assert server.keys == [f"Bearer {KEY}"]


def test_what_was_not_asked_for_is_not_sent() -> None:
    server = ChatServer([delta("Yes.", "stop"), DONE])
    with connected(server) as model:
        write(model)
    assert "seed" not in server.requests[0]


def test_options_a_model_refuses_are_replaced_or_left_out_from_then_on() -> None:
    server = ChatServer([delta("Yes.", "stop"), DONE], refused=("max_tokens", "temperature"))
    with connected(server) as model:
        assert write(model, seed=4)[0] == "Yes."
        assert len(server.requests) == 3
        assert write(model, seed=4)[0] == "Yes."
    assert len(server.requests) == 4
    assert server.requests[-1]["max_completion_tokens"] == 20
    assert server.requests[-1]["seed"] == 4
    assert "temperature" not in server.requests[-1]


def test_a_model_that_refuses_all_is_asked_a_few_times_only() -> None:
    server = ChatServer([], refused=("max_tokens", "max_completion_tokens"))
    with connected(server) as model, pytest.raises(ReplyFailed, match="refused"):
        write(model)
    assert len(server.requests) == 2


def test_chunks_without_choices_and_reasoning_are_left_out() -> None:
    usage = {**delta(None), "choices": []}
    server = ChatServer([usage, delta("<think>Hm"), delta(".</think>Fine."), delta(None, "stop"), usage, DONE])
    with connected(server) as model:
        assert write(model)[0] == "Fine."


def test_an_answer_that_was_cut_off_is_known() -> None:
    with connected(ChatServer([delta("Once upon"), delta(None, "length"), DONE])) as model:
        assert write(model) == ("Once upon", Written(complete=False))


def test_what_emit_raises_ends_the_request() -> None:
    server = ChatServer([delta("word ")], endless=True)

    def emit(text: str) -> None:
        raise InterruptedError

    with connected(server) as model:
        with pytest.raises(InterruptedError):
            write(model, emit)
        assert server.closed.wait(30)


@pytest.mark.parametrize(
    ("status", "error", "words"),
    [
        (401, {"message": f"bad key {KEY}"}, "LM_API_KEY"),
        (403, {}, "LM_API_KEY"),
        (404, {"message": "no model"}, "LM_MODEL"),
        (429, {}, "busy"),
        (400, {"message": "Why is the sky blue?"}, "refused"),
        (500, {"message": "secret"}, "failed"),
    ],
)
def test_errors_of_the_server_say_what_to_look_at(status: int, error: dict[str, Any], words: str) -> None:
    with connected(ChatServer([], status, error)) as model, pytest.raises(ReplyFailed, match=words) as raised:
        write(model)
    assert not any(private in str(raised.value) for private in (KEY, "127.0.0.1", "sky", "secret"))


def test_a_conversation_that_is_too_long_has_its_own_code() -> None:
    server = ChatServer([], 400, {"code": "context_length_exceeded", "message": "too long"})
    with connected(server) as model, pytest.raises(TextTooLong):
        write(model)


@pytest.mark.parametrize(
    "chunks",
    [
        [delta("Half an")],
        [delta("Half an"), DONE],
        [delta("Half an"), 'data: {"error": {"message": "secret"}}\n\n'],
    ],
)
def test_an_answer_that_breaks_off_is_a_failure_after_what_was_written(chunks: list[dict[str, Any] | str]) -> None:
    parts: list[str] = []
    with connected(ChatServer(chunks)) as model, pytest.raises(ReplyFailed) as raised:
        write(model, parts.append)
    assert "".join(parts) == "Half an"
    assert "secret" not in str(raised.value)


def test_a_server_that_is_not_there() -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        model = OpenAIServer(f"http://127.0.0.1:{unused.getsockname()[1]}/v1", "tiny")
        with pytest.raises(ReplyFailed, match="cannot be reached") as raised:
            write(model)
    assert "127.0.0.1" not in str(raised.value)


def test_a_server_that_stays_silent() -> None:
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        model = OpenAIServer(f"http://127.0.0.1:{silent.getsockname()[1]}/v1", "tiny", timeout_s=0.2)
        with pytest.raises(ReplyFailed, match="in time"):
            write(model)


def test_the_key_is_never_shown() -> None:
    model = OpenAIServer("http://127.0.0.1:1/v1", "tiny", KEY)
    assert KEY not in repr(model)
    with pytest.raises(SpeechError) as raised:
        write(model)
    assert KEY not in str(raised.value)


@pytest.mark.parametrize("level", [logging.WARNING, logging.INFO])
@pytest.mark.parametrize("status", [200, 400])
def test_neither_the_conversation_nor_the_key_is_logged(
    level: int, status: int, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    """Hosts show warnings, many also what is for information; openai and httpx have loggers of their own."""
    server = ChatServer([delta("The secret answer.", "stop"), DONE], status, {"message": "Why is the sky blue?"})
    with caplog.at_level(level), connected(server) as model, suppress(ReplyFailed):
        write(model)
    assert (level == logging.INFO) == bool(caplog.records)
    printed = caplog.text + "".join(capfd.readouterr())
    assert not any(private in printed for private in ("sky", "Be brief", "secret", KEY))
