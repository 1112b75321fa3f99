"""The systems people would pick instead, beside this one: the same weights, audio, threads and decoding, in one run."""

import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from speech_pipeline.errors import InvalidParameters
from speech_pipeline.evaluation.bench.dialogues import Dialogue
from speech_pipeline.evaluation.bench.machine import describe_machine
from speech_pipeline.evaluation.bench.material import SHORT_S, Speech, write_recording
from speech_pipeline.evaluation.bench.process import worker_command
from speech_pipeline.evaluation.bench.results import system_result
from speech_pipeline.evaluation.bench.rounds import Measurement, Recording, measure
from speech_pipeline.evaluation.bench.systems import CONTENDERS, Contender, Options, Task
from speech_pipeline.progress import Progress, no_progress

SPEECH_TASKS: tuple[Task, ...] = ("recognition", "words", "all")
"""Tasks that are measured on joined speech; diarization is measured on dialogues."""


Start = Callable[[str, Options], Sequence[str]]
"""The command of the worker that holds the contender of a name."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What is measured.

    Attributes:
        speech: what recognition works on.
        dialogues: what diarization works on; where there are none it is left out.
        options: models, language and threads.
        rounds: how often each works on everything.
        repetitions: how often each works on the short request.
        only: patterns of names of systems (``faster-whisper*``); empty takes all.
    """

    speech: Speech
    dialogues: tuple[Dialogue, ...]
    options: Options
    rounds: int = 3
    repetitions: int = 5
    only: tuple[str, ...] = ()


def compare(plan: Plan, progress: Progress = no_progress, start: Start = worker_command) -> dict[str, Any]:
    """Measure the systems task by task.

    Args:
        plan: what is measured.
        progress: told what is being done.
        start: how the worker of a system is started.

    Returns:
        ``systems``, ``audio_seconds``, ``machine`` and how it was measured, as plain JSON types. A system that is not
        installed, or fails, has a reason instead of figures.

    Raises:
        InvalidParameters: no system has a name that was asked for.
    """
    chosen = chosen_contenders(plan.only)
    results: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        speech = write_recording(folder, "speech", plan.speech.samples)
        short = write_recording(folder, "short", plan.speech.cut(SHORT_S))
        dialogues = [write_recording(folder, dialogue.name, dialogue.samples) for dialogue in plan.dialogues]
        tasks = tuple(dict.fromkeys(contender.task for contender in chosen))
        for number, task in enumerate(tasks):
            recordings = [speech] if task in SPEECH_TASKS else dialogues
            needs_diarization = task in ("diarization", "all")
            if not recordings or (needs_diarization and not plan.options.diarization):
                continue
            of_task = [contender for contender in chosen if contender.task == task]
            measured = measure(
                {contender.name: start(contender.name, plan.options) for contender in of_task},
                recordings,
                rounds=plan.rounds,
                short=short if task == "recognition" else None,
                repetitions=plan.repetitions if task == "recognition" else 0,
                progress=_part(progress, number, len(tasks)),
            )
            results += _results(of_task, measured, recordings, plan)
    return {
        "systems": results,
        "audio_seconds": round(plan.speech.duration_s, 1),
        "dialogue_seconds": round(sum(dialogue.duration_s for dialogue in plan.dialogues), 1),
        "language": plan.options.language,
        "model": Path(plan.options.whisper).name,
        "rounds": plan.rounds,
        "machine": describe_machine(plan.options.threads),
    }


def chosen_contenders(patterns: Sequence[str]) -> list[Contender]:
    """The contenders whose names match one of the patterns, or all.

    Raises:
        InvalidParameters: there is none.
    """
    chosen = [c for c in CONTENDERS if not patterns or any(fnmatchcase(c.name, pattern) for pattern in patterns)]
    if not chosen:
        names = ", ".join(contender.name for contender in CONTENDERS)
        raise InvalidParameters(f"No system has such a name; the systems are {names}.")
    return chosen


def _part(progress: Progress, number: int, parts: int) -> Progress:
    """The progress of one part of several."""
    return lambda step, fraction: progress(step, (number + fraction) / parts)


def _results(
    contenders: Sequence[Contender],
    measured: Mapping[str, Measurement],
    recordings: Sequence[Recording],
    plan: Plan,
) -> list[dict[str, Any]]:
    audio_s = sum(recording.duration_s for recording in recordings)
    reference = measured.get(own_name(contenders[0].task))
    return [
        system_result(
            contender,
            measured[contender.name],
            audio_s,
            reference,
            speech=plan.speech,
            language=plan.options.language,
            dialogues=plan.dialogues,
        )
        for contender in contenders
    ]


def own_name(task: Task) -> str:
    """What this repository's system for a task is called."""
    return next(contender.name for contender in CONTENDERS if contender.task == task and contender.package is None)
