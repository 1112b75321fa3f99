"""How a long job tells how far it is."""

from collections.abc import Callable

Progress = Callable[[str, float], None]
"""``progress(stage, fraction)``: the stage's name (``"recognition"``) and how much of it is done, from 0 to 1."""


def no_progress(stage: str, fraction: float) -> None:
    """Discard progress."""
