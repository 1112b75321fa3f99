"""An ASGI app served on loopback for the length of a ``with`` block."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from socket import socket

import uvicorn
from starlette.types import ASGIApp

STOP_TIMEOUT_S = 30.0
"""How long a request that is still running may take when the block is left, in seconds."""


@contextmanager
def serve(app: ASGIApp, *, start_timeout_s: float = 120.0) -> Iterator[str]:
    """Serve ``app`` in a thread on a free port of 127.0.0.1.

    Yields:
        The base URL, without a slash at its end, once the app's start-up is over.

    Raises:
        RuntimeError: the app failed to start or to stop, or took too long over it.
    """
    server = _Server(uvicorn.Config(app, host="127.0.0.1", port=0, lifespan="on", log_level="error"))
    thread = threading.Thread(target=server.run, name="loopback server", daemon=True)
    thread.start()
    try:
        if not server.settled.wait(start_timeout_s) or not server.started:
            raise RuntimeError("the app did not start")
        yield f"http://127.0.0.1:{server.port}"
    finally:
        server.should_exit = True
        thread.join(STOP_TIMEOUT_S)
    if thread.is_alive():
        raise RuntimeError("the app did not stop")


class _Server(uvicorn.Server):
    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.settled = threading.Event()
        """Set when it is known whether the app started."""

    @property
    def port(self) -> int:
        return int(self.servers[0].sockets[0].getsockname()[1])

    async def startup(self, sockets: list[socket] | None = None) -> None:
        try:
            await super().startup(sockets=sockets)
        finally:
            self.settled.set()
