"""Repositories of the hub, from a small imitation of it that listens on this machine."""

import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

REPOSITORY_ROOT = Path(__file__).parents[2]
COMMIT = "a" * 40
FILES = {
    "config.json": b"{}",
    "model.safetensors": b"weights",
    "tokenizer.json": b"[]",
    "vocab.json": b"{}",
    "merges.txt": b"#version",
    "pytorch_model.bin": b"a pickle",
}


class Hub(BaseHTTPRequestHandler):
    """Answers for one repository, ``some/model``."""

    def do_GET(self) -> None:
        self._answer(with_body=True)

    def do_HEAD(self) -> None:
        self._answer(with_body=False)

    def _answer(self, with_body: bool) -> None:
        path = self.path.partition("?")[0]
        name = path.rpartition("/")[2]
        if path.startswith("/api/models/some/model/tree/"):
            body = json.dumps(
                [{"type": "file", "path": n, "size": len(c), "oid": n} for n, c in FILES.items()]
            ).encode()
        elif path.startswith("/api/models/some/model"):
            body = json.dumps(
                {"id": "some/model", "sha": COMMIT, "siblings": [{"rfilename": n} for n in FILES]}
            ).encode()
        elif path.startswith("/some/model/resolve/") and name in FILES:
            body = FILES[name]
        else:
            self.send_error(404)
            return
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("ETag", f'"{name}"')
        self.send_header("X-Repo-Commit", COMMIT)
        self.end_headers()
        if with_body:
            self.wfile.write(body)

    def log_message(self, *arguments: object) -> None:
        """Keep the test's output quiet."""


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Hub) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def fetch(repository: str, destination: Path, **environment: str) -> bool:
    """In a process of its own: the client reads its settings when it is imported."""
    code = (
        "import sys; from pathlib import Path; from speech_pipeline.conversion.hub import fetch_from_hub;"
        "print(fetch_from_hub(sys.argv[1], Path(sys.argv[2])))"
    )
    process = subprocess.run(
        [sys.executable, "-c", code, repository, str(destination)],
        cwd=REPOSITORY_ROOT,
        env=os.environ | {"HF_HUB_OFFLINE": "0", "no_proxy": "127.0.0.1"} | environment,
        capture_output=True,
        text=True,
        check=True,
    )
    return process.stdout.strip() == "True"


def test_configuration_tokenizer_and_safetensors_are_fetched(address: str, tmp_path: Path) -> None:
    assert fetch("some/model", tmp_path, HF_ENDPOINT=address)
    assert {path.name for path in tmp_path.iterdir()} == set(FILES) - {"pytorch_model.bin"}
    assert (tmp_path / "model.safetensors").read_bytes() == b"weights"


def test_a_repository_that_is_not_there_is_not_fetched(address: str, tmp_path: Path) -> None:
    assert not fetch("another/model", tmp_path, HF_ENDPOINT=address)


def test_offline_mode_is_respected(address: str, tmp_path: Path) -> None:
    assert not fetch("some/model", tmp_path, HF_ENDPOINT=address, HF_HUB_OFFLINE="1")


def test_a_hub_that_does_not_listen_is_not_used(tmp_path: Path) -> None:
    assert not fetch("some/model", tmp_path, HF_ENDPOINT="http://127.0.0.1:9")
