"""Workers: what they answer, and what becomes of those that fail, end or hang."""

import os
import sys
import time

import psutil
import pytest

from speech_pipeline.evaluation.bench.process import SystemFailed, SystemMissing, Worker
from speech_pipeline.evaluation.bench.rounds import Recording
from tests.evaluation.bench.scripted import RECOGNITION_S, TEXT, TURNS, command


@pytest.mark.parametrize("kind", ["steady", "chatty"])
def test_a_worker_answers_with_what_was_found_and_what_it_took(kind: str, recording: Recording) -> None:
    with Worker(command(kind)) as worker:
        prepared_mb = worker.prepare(recording.file, 60)
        run = worker.run(recording.file, 60)
    assert (run.output.text, run.output.turns) == (TEXT, TURNS)
    assert run.output.timings == {"recognition": RECOGNITION_S}
    assert 0 < run.seconds < 60
    assert 10 < prepared_mb <= run.peak_memory_mb < 4_000


def test_peak_memory_is_that_of_the_worker_alone(recording: Recording) -> None:
    held = bytearray(os.urandom(1)) * 400_000_000  # more than a scripted worker needs
    with Worker(command("steady")) as worker:
        assert worker.run(recording.file, 60).peak_memory_mb < len(held) / 1e6


def test_a_worker_sleeps_until_it_is_asked_and_is_gone_afterwards(recording: Recording) -> None:
    with Worker(command("steady")) as worker:
        worker.run(recording.file, 60)
        process = psutil.Process(worker.pid)
        deadline = time.monotonic() + 10
        while process.status() != psutil.STATUS_STOPPED and time.monotonic() < deadline:
            time.sleep(0.01)
        assert process.status() == psutil.STATUS_STOPPED
    assert not psutil.pid_exists(worker.pid)


@pytest.mark.parametrize(
    ("kind", "reason"),
    [
        ("picky", "It failed: ValueError: the recording is too quiet"),
        ("dying", "Its process was ended by signal 9."),
        ("leaving", "Its process ended with exit code 7."),
    ],
)
def test_work_that_fails_is_reported_in_a_sentence(kind: str, reason: str, recording: Recording) -> None:
    with Worker(command(kind)) as worker, pytest.raises(SystemFailed) as failure:
        worker.run(recording.file, 60)
    assert str(failure.value) == reason


def test_work_after_the_end_of_a_process_is_reported_too(recording: Recording) -> None:
    with Worker(command("leaving")) as worker:
        for _ in range(2):
            with pytest.raises(SystemFailed, match="exit code 7"):
                worker.run(recording.file, 60)


def test_a_worker_that_hangs_is_ended(recording: Recording) -> None:
    with Worker(command("hanging")) as worker, pytest.raises(SystemFailed, match="did not answer within 1 s"):
        worker.run(recording.file, 1)
    assert not psutil.pid_exists(worker.pid)


@pytest.mark.parametrize(
    ("program", "kind", "reason"),
    [
        (command("missing"), SystemMissing, "no_such_package is missing"),
        (command("broken"), SystemFailed, "OSError: no weights here"),
        ([sys.executable, "-c", "print('hello')"], SystemFailed, "no answer"),
        ([sys.executable, "-c", "import time; time.sleep(60)"], SystemFailed, "did not answer within 2 s"),
        ([sys.executable, "-c", ""], SystemFailed, "exit code 0"),
    ],
    ids=["missing", "broken", "babbling", "silent", "empty"],
)
def test_what_cannot_be_loaded_is_reported(program: list[str], kind: type[SystemFailed], reason: str) -> None:
    with pytest.raises(kind, match=reason):
        Worker(program, load_timeout_s=2 if "60" in program[-1] else 60)
