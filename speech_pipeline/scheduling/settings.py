"""How batches are put together, and how much may wait."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class SchedulingSettings:
    """Limits of a :class:`.scheduler.RecognitionScheduler`.

    Attributes:
        patience_s: how long an idle model waits for company for a window, in seconds; a full batch does not wait.
        max_windows: most windows in a batch; a request's ``batch_size`` may keep the batches it is in smaller.
        max_waiting_s: a request is refused where more audio than this, in seconds, would be heard before it.
        short_s: a request with no more audio than this, in seconds, may interrupt a batch of longer ones.
    """

    patience_s: float = 0.005
    max_windows: int = 24
    max_waiting_s: float = 7_200.0
    short_s: float = 30.0
