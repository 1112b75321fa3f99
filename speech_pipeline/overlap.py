"""One stage at work while another is."""

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import TypeVar

from speech_pipeline.progress import Progress

Result = TypeVar("Result")


class _Abandoned(Exception):
    """Ends work whose result nobody waits for any more."""


@contextmanager
def started(work: Callable[[Progress], Result], progress: Progress, *, now: bool) -> Iterator[Callable[[], Result]]:
    """Work that goes on in a thread of its own during the block.

    A block that is left without the result, as by an error, ends the work the next time it reports progress, and
    waits until it has ended.

    Args:
        work: called with where to report its progress.
        progress: where its reports go; called from that thread.
        now: False begins the work when its result is asked for, in the thread that asks.

    Yields:
        A function that waits for the result, and raises what the work raised.
    """
    if not now:
        yield lambda: work(progress)
        return
    left = threading.Event()

    def report(stage: str, fraction: float) -> None:
        if left.is_set():
            raise _Abandoned
        progress(stage, fraction)

    with ThreadPoolExecutor(1, thread_name_prefix="overlap") as executor:
        future = executor.submit(work, report)
        try:
            yield future.result
        finally:
            left.set()
