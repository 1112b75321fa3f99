"""Who waits for a request: hears of it while it is in work, and may leave."""

import threading
from collections.abc import Sequence

from speech_pipeline.errors import RequestCancelled
from speech_pipeline.progress import Progress
from speech_pipeline.transcript import Segment


class Listener:
    """One request's caller. Derive from it to hear of segments while later ones are still in work.

    Attributes:
        cancelled: set it, from any thread, once nobody waits for the result any more. The request then ends with
            :class:`.errors.RequestCancelled` as soon as its current window or step is over.
    """

    def __init__(self) -> None:
        self.cancelled = threading.Event()

    def on_segments(self, segments: tuple[Segment, ...]) -> None:
        """Take segments, without speakers, in order of time within the request; each comes once.

        Called in the request's own thread. What it raises ends the request.
        """


def end_if_cancelled(listener: Listener | None) -> None:
    """Go no further for a caller who has left.

    Raises:
        RequestCancelled: the listener's ``cancelled`` is set.
    """
    if listener is not None and listener.cancelled.is_set():
        raise RequestCancelled("The caller left before the request was done; send it again for a result.")


def unless_cancelled(progress: Progress, listener: Listener | None) -> Progress:
    """The same, and it ends the stage that reports for a caller who has left."""

    def report(stage: str, fraction: float) -> None:
        end_if_cancelled(listener)
        progress(stage, fraction)

    return report


class SegmentRelease:
    """Hands finished segments on in order of their start, as soon as no window still in work could hold an earlier one.

    Windows of two channels overlap in time, and windows may finish in any order.
    """

    def __init__(self, listener: Listener, starts: Sequence[float]) -> None:
        """Wait for windows.

        Args:
            listener: hears of the segments.
            starts: of each window, in seconds.
        """
        self._listener = listener
        self._open = dict(enumerate(starts))
        self._held: list[Segment] = []

    def finish(self, window: int, segments: Sequence[Segment]) -> None:
        """Take the segments of a window that is done, given by its place among ``starts``."""
        del self._open[window]
        self._held = sorted([*self._held, *segments], key=lambda segment: segment.start)
        frontier = min(self._open.values(), default=float("inf"))
        ready = tuple(segment for segment in self._held if segment.start < frontier)
        self._held = self._held[len(ready) :]
        if ready:
            self._listener.on_segments(ready)
