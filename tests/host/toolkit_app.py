"""An app that treats a custom handler as the Hugging Face inference toolkit 0.5.6 does, the default of the endpoints.

What is reproduced: how ``handler.py`` is found and imported, what of a request reaches it, the strictly serial calls in
worker threads, and what becomes of results and exceptions. Left out: images, metrics, the Vertex AI routes.
"""

import base64
import functools
import importlib.util
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread
import orjson
from starlette.applications import Starlette
from starlette.datastructures import QueryParams
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

Handler = Callable[[dict[str, Any]], Any]

MODULE_NAME = "handler.EndpointHandler"
"""Name the host gives the module: relative imports inside ``handler.py`` look for a package ``handler`` and fail."""

JSON_TYPES = ("application/json", "application/json; charset=UTF-8")
TEXT_TYPES = ("text/csv", "text/plain")
AUDIO_TYPES = (
    "audio/x-flac",
    "audio/flac",
    "audio/mpeg",
    "audio/x-mpeg-3",
    "audio/wave",
    "audio/wav",
    "audio/x-wav",
    "audio/ogg",
    "audio/x-audio",
    "audio/webm",
    "audio/webm;codecs=opus",
    "audio/AMR",
    "audio/amr",
    "audio/AMR-WB",
    "audio/AMR-WB+",
    "audio/m4a",
    "audio/x-m4a",
)
"""Content types are compared as they stand, with case and spaces."""

BASE64_TASKS = frozenset({"automatic-speech-recognition", "audio-classification"})
"""Tasks for which the host decodes ``inputs`` itself when a request brings ``parameters``."""


def create_app(model_directory: Path, task: str = "custom") -> Starlette:
    """The host with the handler of a model directory; the handler is loaded before the server listens.

    Args:
        model_directory: holds ``handler.py`` with a class ``EndpointHandler``.
        task: value of ``HF_TASK``, which the host never passes on.
    """

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        with hosted_handler(model_directory) as handler:
            app.state.handler = handler
            yield

    return _app(task, lifespan)


def create_app_for(handler: Handler, task: str = "custom") -> Starlette:
    """The host with a handler that is loaded already."""
    app = _app(task, None)
    app.state.handler = handler
    return app


@contextmanager
def hosted_handler(model_directory: Path) -> Iterator[Handler]:
    """Import ``handler.py`` and make its handler as the host does, from one positional string.

    On leaving, the import path and the module are taken back: the host lives as long as its process, a test does not.
    """
    spec = importlib.util.spec_from_file_location(MODULE_NAME, model_directory / "handler.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    replaced = sys.modules.get(MODULE_NAME)
    sys.path.insert(0, str(model_directory))
    sys.modules[MODULE_NAME] = module
    try:
        spec.loader.exec_module(module)
        yield module.EndpointHandler(str(model_directory))
    finally:
        del sys.modules[MODULE_NAME]
        if replaced is not None:
            sys.modules[MODULE_NAME] = replaced
        sys.path.remove(str(model_directory))


def _app(task: str, lifespan: Callable[[Starlette], Any] | None) -> Starlette:
    app = Starlette(
        routes=[
            Route("/", _health, methods=["GET"]),
            Route("/health", _health, methods=["GET"]),
            Route("/", _predict, methods=["POST"]),
            Route("/predict", _predict, methods=["POST"]),
        ],
        lifespan=lifespan,
    )
    app.state.task = task
    app.state.one_at_a_time = anyio.Semaphore(1)
    return app


async def _health(request: Request) -> Response:
    return PlainTextResponse("Ok")


async def _predict(request: Request) -> Response:
    """Call the handler; whatever goes wrong, before it, in it or after it, is a 400 with the exception's text."""
    state = request.app.state
    try:
        body = _deserialize(request.headers.get("content-type", ""), await request.body())
        if "inputs" not in body and "instances" not in body:
            raise ValueError(f"Body needs to provide a inputs key, received: {orjson.dumps(body)!r}")
        if "parameters" in body and state.task in BASE64_TASKS:
            body["inputs"] = base64.b64decode(body["inputs"], validate=True)
        if request.query_params and "parameters" not in body:
            body["parameters"] = _query_parameters(request.query_params)
        async with state.one_at_a_time:
            result = await anyio.to_thread.run_sync(functools.partial(state.handler, body))
        return _serialize(request.headers.get("accept", "*/*"), result)
    except Exception as error:
        return Response(orjson.dumps({"error": str(error)}), status_code=400, media_type="application/json")


def _deserialize(content_type: str, body: bytes) -> Any:
    if content_type in AUDIO_TYPES:
        return {"inputs": body}
    if content_type in JSON_TYPES:
        return orjson.loads(body)
    raise _unusable_type(content_type, "deserialize")


def _serialize(accept: str, result: Any) -> Response:
    """The result as JSON. ``Accept`` is looked at only here, when the work is done."""
    if accept == "*/*":
        accept = JSON_TYPES[0]
    if accept in JSON_TYPES:
        return Response(orjson.dumps(result, option=orjson.OPT_SERIALIZE_NUMPY), media_type=accept)
    if accept in AUDIO_TYPES:
        raise NotImplementedError("Audio serialization not implemented")
    raise _unusable_type(accept, "serialize")


def _unusable_type(content_type: str, verb: str) -> Exception:
    """The host lists the text types without anything that handles them, and fails where it would use it."""
    if content_type in TEXT_TYPES:
        return AttributeError(f"'NoneType' object has no attribute '{verb}'")
    return ValueError(f'Content type "{content_type}" not supported')


def _query_parameters(query: QueryParams) -> dict[str, Any]:
    """Digits become int, the words true and false bool; all else stays a string, such as ``0.5``, ``-1``, ``None``."""
    words: dict[str, bool] = {"true": True, "false": False}
    return {name: int(value) if value.isnumeric() else words.get(value, value) for name, value in query.items()}
