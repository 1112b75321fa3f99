"""Threads for the work of requests, as many as there are seats."""

import asyncio
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from contextvars import copy_context
from time import perf_counter
from typing import Any, TypeVar

from config import ServerSettings
from speech_pipeline.errors import ServerBusy
from speech_pipeline.listener import Listener
from speech_pipeline.server.metrics import Metrics

Result = TypeVar("Result")


class Seats:
    """Hands out seats in the order in which they are asked for. For one event loop."""

    def __init__(self, settings: ServerSettings, metrics: Metrics) -> None:
        count = settings.max_working_requests
        self._timeout_s = settings.queue_timeout_s
        self._free = asyncio.Semaphore(count)
        self._threads = ThreadPoolExecutor(count, thread_name_prefix="request")
        self._taken: set[Seat] = set()
        self._metrics = metrics

    @asynccontextmanager
    async def seat(self, listener: Listener) -> AsyncIterator["Seat"]:
        """Wait for a seat and hold it for the length of the block.

        Work that still runs when the block is left is cancelled, and keeps the seat until its thread is done.

        Args:
            listener: whose ``cancelled`` ends the work early.

        Raises:
            ServerBusy: no seat became free in time.
        """
        started = perf_counter()
        try:
            async with asyncio.timeout(self._timeout_s):
                await self._free.acquire()
        except TimeoutError:
            raise ServerBusy(f"The request has waited {self._timeout_s:g} s for its turn; try again later.") from None
        seat = Seat(self._threads, listener, perf_counter() - started)
        self._taken.add(seat)
        self._metrics.working.inc()
        self._metrics.queue_s.observe(seat.queue_s)
        try:
            yield seat
        finally:
            seat.leave(lambda: self._give_back(seat))

    def close(self) -> None:
        """Cancel what is still at work; no seat is handed out any more."""
        for seat in self._taken:
            seat.listener.cancelled.set()
        self._threads.shutdown(wait=False, cancel_futures=True)

    def _give_back(self, seat: "Seat") -> None:
        self._taken.discard(seat)
        self._metrics.working.dec()
        self._free.release()


class Seat:
    """One thread's time.

    Attributes:
        listener: told to end the work early.
        queue_s: seconds the request waited for its seat.
    """

    def __init__(self, threads: ThreadPoolExecutor, listener: Listener, queue_s: float) -> None:
        self.listener = listener
        self.queue_s = queue_s
        self._threads = threads
        self._running: asyncio.Future[Any] | None = None

    async def run(self, work: Callable[[], Result]) -> Result:
        """Do work in a thread; one piece at a time. It runs to its end, also when nobody waits any more."""
        future = asyncio.get_running_loop().run_in_executor(self._threads, copy_context().run, work)
        self._running = future
        return await asyncio.shield(future)

    def leave(self, give_back: Callable[[], None]) -> None:
        """Cancel work that still runs, and give the seat back when none does."""
        if self._running is None:
            give_back()
            return
        if not self._running.done():
            self.listener.cancelled.set()

        def end(future: asyncio.Future[Any]) -> None:
            if not future.cancelled():
                future.exception()  # nobody is left to hear of it
            give_back()

        self._running.add_done_callback(end)
