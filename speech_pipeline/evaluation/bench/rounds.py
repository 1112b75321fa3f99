"""Systems of one task, measured in turn, A, B, C, A, B, C, so that what slows the machine down slows all of them."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Self

from speech_pipeline.evaluation.bench.process import SystemFailed, SystemMissing, Worker
from speech_pipeline.evaluation.bench.systems import Output
from speech_pipeline.progress import Progress, no_progress

TIMEOUT_S = 300.0
"""How long a system may take over any recording, in seconds, and besides ..."""

TIMEOUT_FACTOR = 4.0
"""... for each second of audio."""


@dataclass(frozen=True, slots=True)
class Recording:
    """Audio that systems are measured on.

    Attributes:
        name: what it is called in results.
        file: numpy file of float32 samples [n] at 16 kHz.
        duration_s: its length in seconds.
    """

    name: str
    file: Path
    duration_s: float

    @property
    def timeout_s(self) -> float:
        """How long a system may take over it, in seconds."""
        return TIMEOUT_S + TIMEOUT_FACTOR * self.duration_s


@dataclass(slots=True)
class Measurement:
    """What was measured of one system.

    Attributes:
        seconds: what all recordings together took, for each round.
        short_seconds: what the short recording took, for each repetition.
        outputs: what was found in the first round, by the name of the recording.
        short_timings: seconds by stage of the short recording, for each repetition.
        peak_memory_mb: the largest resident set of its process, in megabytes.
        failure: why it was not measured, or not to the end; None where it was.
        missing: whether that is because it is not installed.
    """

    seconds: list[float] = field(default_factory=list)
    short_seconds: list[float] = field(default_factory=list)
    outputs: dict[str, Output] = field(default_factory=dict)
    short_timings: list[Mapping[str, float]] = field(default_factory=list)
    peak_memory_mb: float = 0.0
    failure: str | None = None
    missing: bool = False

    @property
    def median_s(self) -> float | None:
        """Median over the rounds, in seconds."""
        return median(self.seconds) if self.seconds else None


def measure(
    commands: Mapping[str, Sequence[str]],
    recordings: Sequence[Recording],
    *,
    rounds: int,
    short: Recording | None = None,
    repetitions: int = 0,
    progress: Progress = no_progress,
) -> dict[str, Measurement]:
    """Load all systems, let each warm up, and measure them in turn.

    A system that fails, ends or does not answer is left out from then on; the others keep what they have.

    Args:
        commands: how to start the worker of each system.
        recordings: what each works on in every round.
        rounds: how often.
        short: a recording of which the latency is measured, after the rounds, in turn as well.
        repetitions: how often.
        progress: told what is being done.

    Returns:
        A measurement for each command.
    """
    steps = len(commands) * (2 + rounds + repetitions)
    with _Race(progress, steps) as race:
        for name, command in commands.items():
            race.load(name, command)
        longest = max(recordings, key=lambda recording: recording.duration_s)
        race.let_each("warming up", lambda worker, _: _prepare(worker, longest, short))
        for number in range(rounds):
            race.let_each(
                f"round {number + 1} of {rounds}", lambda worker, measured: _round(worker, recordings, measured)
            )
        for number in range(repetitions):
            race.let_each(
                f"short request {number + 1} of {repetitions}", lambda worker, measured: _short(worker, short, measured)
            )
    return race.measurements


class _Race:
    """The workers that are still in it, and what was measured of all of them."""

    def __init__(self, progress: Progress, steps: int) -> None:
        self.measurements: dict[str, Measurement] = {}
        self._workers: dict[str, Worker] = {}
        self._progress = progress
        self._steps = steps
        self._step = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for worker in self._workers.values():
            worker.close()
        self._progress("done", 1.0)

    def load(self, name: str, command: Sequence[str]) -> None:
        self.measurements[name] = Measurement()
        with self._watched(name, "loading"):
            self._workers[name] = Worker(command)

    def let_each(self, what: str, action: Callable[[Worker, Measurement], None]) -> None:
        for name in tuple(self._workers):
            with self._watched(name, what):
                action(self._workers[name], self.measurements[name])

    @contextmanager
    def _watched(self, name: str, what: str) -> Iterator[None]:
        """Tell what is being done, and leave the system out from now on where it fails."""
        self._progress(f"{name}: {what}", self._step / self._steps)
        self._step += 1
        try:
            yield
        except SystemFailed as error:
            self.measurements[name].failure = str(error)
            self.measurements[name].missing = isinstance(error, SystemMissing)
            if name in self._workers:
                self._workers.pop(name).close()


def _prepare(worker: Worker, longest: Recording, short: Recording | None) -> None:
    worker.prepare(longest.file, 4 * longest.timeout_s)
    if short is not None:
        worker.run(short.file, short.timeout_s)


def _round(worker: Worker, recordings: Sequence[Recording], measured: Measurement) -> None:
    seconds = 0.0
    for recording in recordings:
        run = worker.run(recording.file, recording.timeout_s)
        seconds += run.seconds
        measured.outputs.setdefault(recording.name, run.output)
        measured.peak_memory_mb = run.peak_memory_mb
    measured.seconds.append(seconds)


def _short(worker: Worker, short: Recording | None, measured: Measurement) -> None:
    assert short is not None
    run = worker.run(short.file, short.timeout_s)
    measured.short_seconds.append(run.seconds)
    measured.short_timings.append(run.output.timings)
