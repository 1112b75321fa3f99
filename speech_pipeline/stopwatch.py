"""Seconds by stage."""

import time
from collections.abc import Iterator
from contextlib import contextmanager


class Stopwatch:
    """Adds up how long each stage takes.

    Attributes:
        seconds: by the name of the stage, in the order in which they first ended. On a GPU work goes on behind the
            caller's back, so that a part of a stage may be counted for the next one.
    """

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self._paused_s = 0.0

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Add the time until the end of the block, also when an error ends it."""
        start = time.perf_counter() - self._paused_s
        try:
            yield
        finally:
            self.add(name, time.perf_counter() - self._paused_s - start)

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Leave the time of the block out of the stages that are going on."""
        start = time.perf_counter()
        try:
            yield
        finally:
            self._paused_s += time.perf_counter() - start

    def add(self, name: str, seconds: float) -> None:
        """Add time that was measured elsewhere."""
        self.seconds[name] = self.seconds.get(name, 0.0) + seconds
