"""How a request hears of its own work while it is done, and stops it."""

import threading

from speech_pipeline.transcript import Segment


class Listener:
    """Derive from it to hear what is recognised; as it is, it listens to nothing.

    Attributes:
        cancelled: set it from any thread when nobody waits for the result any more; the work then ends early.
    """

    def __init__(self) -> None:
        self.cancelled = threading.Event()

    def on_segments(self, segments: tuple[Segment, ...]) -> None:
        """Take the next segments, in order of time; called in the thread of the work."""
