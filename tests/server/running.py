"""A server on loopback with scripted models, for the length of a ``with`` block."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import requests

from config import ServerSettings
from speech_pipeline.server.app import create_app
from speech_pipeline.server.service import Pipeline
from tests.host.server import serve

TIMEOUT_S = 60.0


@contextmanager
def running(
    load: Callable[[], Pipeline], *, models: tuple[str, ...] = ("whisper-1",), **settings: object
) -> Iterator[str]:
    """Serve what ``load`` returns, and wait until it is ready.

    Yields:
        The base URL, without a slash at its end.
    """
    app = create_app(load, ServerSettings.model_validate(settings), models=models)
    with serve(app) as url:
        wait_until_ready(url)
        yield url


def wait_until_ready(url: str) -> None:
    """Ask until the server says that it is ready.

    Raises:
        AssertionError: it says that it never will be, or takes too long.
    """
    for _ in range(1_200):
        response = requests.get(f"{url}/health", timeout=TIMEOUT_S)
        if response.status_code == 200:
            return
        assert "not_ready" in response.text, response.text
        wait_briefly()
    raise AssertionError("the server did not become ready")


def wait_briefly() -> None:
    """Let others work."""
    time.sleep(0.05)


def metric(url: str, name: str, **headers: str) -> float:
    """The value of a metric without labels."""
    lines = requests.get(f"{url}/metrics", headers=headers, timeout=TIMEOUT_S).text.splitlines()
    [value] = [line.split()[1] for line in lines if line.split()[0] == name]
    return float(value)


def until_metric(url: str, name: str, value: float) -> None:
    """Wait until a metric has a value.

    Raises:
        AssertionError: it takes too long.
    """
    for _ in range(600):
        if metric(url, name) == value:
            return
        wait_briefly()
    raise AssertionError(f"{name} is {metric(url, name)} and did not become {value}")
