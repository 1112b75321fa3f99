"""What can be measured of a scheduler, for those who collect it."""


class SchedulingMetrics:
    """Told what happens; derive from it to collect. Called from several threads; what it raises ends requests."""

    def on_start(self, queue_s: float) -> None:
        """The first windows of a request are in work, ``queue_s`` seconds after it came."""

    def on_batch(self, windows: int, audio_s: float) -> None:
        """A batch with so many windows, and seconds of audio in them, was decoded."""

    def on_waiting(self, requests: int, audio_s: float) -> None:
        """So many requests, with so many seconds of audio not yet in work, are in the scheduler now."""
