"""A model hub on this machine, for tests of what the real hub client makes of its answers."""

import contextlib
import hashlib
import json
from collections.abc import Collection, Iterator, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

COMMIT = "0123456789abcdef0123456789abcdef01234567"


@contextlib.contextmanager
def local_hub(repositories: Mapping[str, Path], gated: Collection[str] = ()) -> Iterator[str]:
    """Serve folders as model repositories under ``repositories``' names; gives the address for ``HF_ENDPOINT``.

    The files of ``gated`` repositories are refused as the hub refuses them; other names are unknown.
    """

    class Handler(BaseHTTPRequestHandler):
        def do_HEAD(self) -> None:
            self.do_GET()

        def do_GET(self) -> None:
            parts = self.path.partition("?")[0].strip("/").split("/")
            listing = parts[:2] == ["api", "models"]
            owner, name, *rest = parts[2:] if listing else parts
            repository = f"{owner}/{name}"
            folder = repositories.get(repository)
            if folder is None:
                self.refuse(401, "RepoNotFound")
            elif listing:
                self.send_json(rest, folder)
            elif repository in gated:
                self.refuse(403, "GatedRepo")
            elif not (file := folder.joinpath(*rest[2:])).is_file():
                self.refuse(404, "EntryNotFound")
            else:
                self.send(file.read_bytes())

        def send_json(self, rest: list[str], folder: Path) -> None:
            files = {str(path.relative_to(folder)): path for path in folder.rglob("*") if path.is_file()}
            if rest[:1] == ["tree"]:
                answer: object = [
                    {"type": "file", "path": name, "size": path.stat().st_size, "oid": _digest(path.read_bytes())}
                    for name, path in files.items()
                ]
            else:
                answer = {"id": "x/y", "sha": COMMIT, "siblings": [{"rfilename": name} for name in files]}
            self.send(json.dumps(answer).encode())

        def refuse(self, status: int, code: str) -> None:
            self.send(b"", status, {"X-Error-Code": code, "X-Error-Message": code})

        def send(self, content: bytes, status: int = 200, headers: Mapping[str, str] | None = None) -> None:
            self.send_response(status)
            self.send_header("Content-Length", str(len(content)))
            self.send_header("ETag", f'"{_digest(content)}"')
            self.send_header("X-Repo-Commit", COMMIT)
            for name, value in (headers or {}).items():
                self.send_header(name, value)
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(content)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()


def _digest(content: bytes) -> str:
    return hashlib.sha1(content, usedforsecurity=False).hexdigest()
