"""What the command line tells the person who reads it: progress, messages and speed, all on standard error."""

from collections.abc import Iterator
from contextlib import contextmanager

import click
from rich.console import Console
from rich.progress import BarColumn, TaskID, TaskProgressColumn, TextColumn, TimeElapsedColumn
from rich.progress import Progress as Bars

from speech_pipeline.errors import SpeechError
from speech_pipeline.progress import Progress


@contextmanager
def progress_bar(title: str, *, announce: bool = False) -> Iterator[Progress]:
    """One bar for each stage that reports, gone when the work is done.

    Args:
        title: what the bars are about, such as a file's name.
        announce: where standard error is not a terminal, print a line when a stage begins; otherwise print nothing.
    """
    console = Console(stderr=True)
    columns = (TextColumn("{task.description}", markup=False), BarColumn(), TaskProgressColumn(), TimeElapsedColumn())
    with Bars(*columns, console=console, transient=True, disable=not console.is_terminal) as bars:
        stages: dict[str, TaskID] = {}

        def report(stage: str, fraction: float) -> None:
            if stage not in stages:
                stages[stage] = bars.add_task(f"{title}: {stage}", total=1.0)
                if announce and not console.is_terminal:
                    tell(f"{title}: {stage} ...")
            bars.update(stages[stage], completed=fraction)

        yield report


def tell(message: str) -> None:
    """Print a line on standard error."""
    click.echo(message, err=True)


def sentence(error: SpeechError | OSError) -> str:
    """What went wrong, with the code of a :class:`SpeechError` at its end."""
    if isinstance(error, SpeechError):
        return f"{error.message} [{error.code}]"
    return f"{error.strerror or type(error).__name__}."


def speed(audio_s: float, seconds: float) -> str:
    """How long a recording took, and the real-time factor RTFx: seconds of audio for each second of work."""
    return f"{audio_s:.1f} s of audio in {seconds:.1f} s (RTFx {audio_s / max(seconds, 1e-9):.1f})"
