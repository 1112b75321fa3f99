"""Systems that do what a test needs, in a process of their own: ``python -m tests.evaluation.bench.scripted KIND``."""

import os
import signal
import sys
import time

from speech_pipeline.evaluation.bench.systems import Output, Samples, System
from speech_pipeline.evaluation.bench.worker import main

TEXT = "one two three"
TURNS = (("A", 0.0, 0.5), ("B", 0.5, 1.0))
RECOGNITION_S = 0.005
"""Seconds that recognition is said to take, half of what a run takes."""


def command(kind: str) -> list[str]:
    """The command of a worker that behaves in one of the ways of :class:`Scripted`."""
    return [sys.executable, "-m", "tests.evaluation.bench.scripted", kind]


class Scripted:
    """``steady`` works, ``chatty`` prints as well, ``picky`` fails, ``hanging`` never ends, ``dying`` is killed,
    ``leaving`` exits."""

    def __init__(self, kind: str) -> None:
        self._kind = kind

    def prepare(self, samples: Samples) -> None:
        pass

    def run(self, samples: Samples) -> Output:
        match self._kind:
            case "chatty":
                print("This library greets its users.", flush=True)
            case "picky":
                raise ValueError("the recording is too quiet\nwith more lines")
            case "hanging":
                time.sleep(600)
            case "dying":
                os.kill(os.getpid(), signal.SIGKILL)
            case "leaving":
                os._exit(7)
        time.sleep(2 * RECOGNITION_S)
        return Output(TEXT, TURNS, {"recognition": RECOGNITION_S})


def load() -> System:
    """Make the system, or fail to."""
    match sys.argv[1]:
        case "missing":
            import no_such_package.part  # noqa: F401
        case "broken":
            raise OSError("no weights here")
    return Scripted(sys.argv[1])


if __name__ == "__main__":
    main(load, threads=1)
