"""The parent's side of a worker: starts it, asks it, keeps it from computing while it is not asked, and ends it."""

import contextlib
import json
import queue
import signal
import subprocess
import sys
import threading
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Self

from speech_pipeline.evaluation.bench.systems import Options, Output

LOAD_TIMEOUT_S = 300.0
"""How long loading may take, in seconds."""

END_TIMEOUT_S = 10.0
"""How long a process may take to end once it was killed, in seconds."""

_REPOSITORY = Path(__file__).resolve().parents[3]


class SystemFailed(Exception):
    """A system cannot be measured any further; the text is a sentence that says why."""


class SystemMissing(SystemFailed):
    """A system is not installed."""


@dataclass(frozen=True, slots=True)
class Run:
    """One recording, worked on once.

    Attributes:
        output: what was found.
        seconds: what it took, measured in the worker.
        peak_memory_mb: the worker's largest resident set so far, in megabytes.
    """

    output: Output
    seconds: float
    peak_memory_mb: float


class Worker:
    """A process that holds one system. Between requests it is stopped, so that it cannot take time from the others."""

    def __init__(self, command: Sequence[str], *, load_timeout_s: float = LOAD_TIMEOUT_S) -> None:
        """Start the process and wait until its models are loaded.

        Args:
            command: the program and its arguments; it answers as :mod:`speech_pipeline.evaluation.bench.worker` says.
            load_timeout_s: how long to wait, in seconds.

        Raises:
            SystemMissing: the system is not installed.
            SystemFailed: it cannot be loaded, or not in time.
        """
        self._process = subprocess.Popen(
            list(command),
            cwd=_REPOSITORY,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            encoding="utf-8",
        )
        self._lines: queue.Queue[str] = queue.Queue()
        self._reader = threading.Thread(target=_forward, args=(self._process.stdout, self._lines), daemon=True)
        self._reader.start()
        try:
            self._receive(load_timeout_s)
        except BaseException:
            self.close()
            raise
        self._pause()

    @property
    def pid(self) -> int:
        """Number of the process."""
        return self._process.pid

    def run(self, audio: Path, timeout_s: float) -> Run:
        """Work on a recording.

        Args:
            audio: numpy file of samples.
            timeout_s: how long to wait, in seconds.

        Raises:
            SystemFailed: the work failed, or the process ended or did not answer in time and was killed.
        """
        reply = self._ask("run", audio, timeout_s)
        turns = tuple((speaker, start, end) for speaker, start, end in reply["turns"])
        output = Output(reply["text"], turns, reply["timings"])
        return Run(output, reply["seconds"], reply["peak_memory_mb"])

    def prepare(self, audio: Path, timeout_s: float) -> float:
        """Let the system warm up on a recording; arguments and errors are those of :meth:`run`.

        Returns:
            The worker's largest resident set so far, in megabytes.
        """
        return float(self._ask("prepare", audio, timeout_s)["peak_memory_mb"])

    def close(self) -> None:
        """End the process."""
        self._process.kill()
        self._process.wait(END_TIMEOUT_S)
        self._reader.join(END_TIMEOUT_S)
        with contextlib.suppress(OSError):  # what was written and not read
            if self._process.stdin is not None:
                self._process.stdin.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def _ask(self, do: str, audio: Path, timeout_s: float) -> dict[str, Any]:
        self._resume()
        try:
            assert self._process.stdin is not None
            self._process.stdin.write(json.dumps({"do": do, "audio": str(audio)}) + "\n")
            self._process.stdin.flush()
        except OSError:
            raise SystemFailed(self._end()) from None
        reply = self._receive(timeout_s)
        self._pause()
        return reply

    def _receive(self, timeout_s: float) -> dict[str, Any]:
        try:
            line = self._lines.get(timeout=timeout_s)
        except queue.Empty:
            self._process.kill()
            raise SystemFailed(f"It did not answer within {timeout_s:.0f} s and was ended.") from None
        if not line:
            raise SystemFailed(self._end())
        try:
            reply: dict[str, Any] = json.loads(line)
        except ValueError:
            raise SystemFailed("Its process wrote something that is no answer.") from None
        if "missing" in reply:
            raise SystemMissing(f"It is not installed: {reply['missing']} is missing.")
        if "error" in reply:
            raise SystemFailed(f"It failed: {reply['error']}")
        return reply

    def _end(self) -> str:
        """How the process ended."""
        try:
            code = self._process.wait(END_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            return "Its process stopped answering."
        return f"Its process was ended by signal {-code}." if code < 0 else f"Its process ended with exit code {code}."

    def _pause(self) -> None:
        if hasattr(signal, "SIGSTOP"):
            self._process.send_signal(signal.SIGSTOP)

    def _resume(self) -> None:
        if hasattr(signal, "SIGCONT"):
            self._process.send_signal(signal.SIGCONT)


def worker_command(name: str, options: Options) -> list[str]:
    """The command of a worker that holds the contender of a name."""
    module = "speech_pipeline.evaluation.bench.worker"
    return [sys.executable, "-m", module, name, json.dumps(asdict(options))]


def _forward(stream: IO[str], lines: "queue.Queue[str]") -> None:
    """Lines as they come; an empty one says that there will be none."""
    with stream:
        for line in stream:
            lines.put(line)
    lines.put("")
