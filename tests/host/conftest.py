"""The handler of this repository with the starter models, served as the host serves it."""

import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import huggingface_hub.constants
import pytest

from config import ModelSettings
from tests.host.server import serve
from tests.host.toolkit_app import Handler, create_app_for, hosted_handler

REPOSITORY = Path(__file__).resolve().parents[2]


@contextmanager
def starter_handler(starter_dir: Path, *settings: str) -> Iterator[Handler]:
    """The handler, set up by nothing but its folder and an environment in which these settings are ``starter``.

    Several may be open at once if they are closed in reverse order.
    """
    with pytest.MonkeyPatch.context() as environment:
        for name in ("HF_TASK", *(name.upper() for name in ModelSettings.model_fields)):
            environment.delenv(name, raising=False)
        for name in settings:
            environment.setenv(name, "starter")
        environment.setenv("STARTER_DIR", str(starter_dir))
        with hosted_handler(REPOSITORY) as handler:
            yield handler


@pytest.fixture(scope="package")
def endpoint_handler(starter_dir: Path) -> Iterator[Handler]:
    """A handler that transcribes and tells speakers apart."""
    with starter_handler(starter_dir, "ASR_MODEL", "DIARIZATION_MODEL") as handler:
        yield handler


@pytest.fixture(scope="package")
def custom_url(endpoint_handler: Handler) -> Iterator[str]:
    """Base URL of an endpoint of the task ``custom``, where JSON inputs arrive as they were sent."""
    with serve(create_app_for(endpoint_handler, "custom")) as url:
        yield url


@pytest.fixture(scope="package")
def recognition_url(endpoint_handler: Handler) -> Iterator[str]:
    """Base URL of an endpoint of the task ``automatic-speech-recognition``, where the host decodes base64."""
    with serve(create_app_for(endpoint_handler, "automatic-speech-recognition")) as url:
        yield url


@pytest.fixture(params=["custom", "automatic-speech-recognition"])
def url(request: pytest.FixtureRequest) -> str:
    """Base URL of an endpoint, once for each task."""
    name = "custom_url" if request.param == "custom" else "recognition_url"
    value: str = request.getfixturevalue(name)
    return value


@pytest.fixture(autouse=True)
def loopback_only(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Fail a test that looks for any machine but this one.

    Unless its telemetry is off, huggingface_hub 2 asks the hub for a list of agents when it first builds a header.
    """
    hosts: set[str] = set()
    look_up = socket.getaddrinfo

    def recorded(host: Any, *arguments: Any, **options: Any) -> Any:
        hosts.add(host.decode() if isinstance(host, bytes) else str(host))
        return look_up(host, *arguments, **options)

    monkeypatch.setattr(socket, "getaddrinfo", recorded)
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_DISABLE_TELEMETRY", True)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    yield
    assert hosts <= {"127.0.0.1"}
