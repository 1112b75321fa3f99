"""A process that holds one system: ``python -m speech_pipeline.evaluation.bench.worker NAME OPTIONS``.

It speaks JSON, one object a line. It says ``{"ready": true}`` once its models are loaded; then to each request
``{"do": "prepare" | "run", "audio": FILE}``, FILE being a numpy file of samples, it answers
``{"seconds", "text", "turns", "timings", "peak_memory_mb"}``. What goes wrong is ``{"error": SENTENCE}``, and
``{"missing": PACKAGE}`` says that the system is not installed.
"""

import json
import os
import sys
import time
from collections.abc import Callable, Iterable
from dataclasses import asdict
from typing import Any, TextIO

import numpy as np

from speech_pipeline.errors import SpeechError
from speech_pipeline.evaluation.bench.systems import Options, Output, System, contender
from speech_pipeline.evaluation.peak_memory import peak_memory_mb


def serve(load: Callable[[], System], requests: Iterable[str], replies: TextIO) -> None:
    """Load a system and answer requests until there are no more.

    Args:
        load: makes the system.
        requests: lines, as the module says.
        replies: where the answers are written.
    """

    def reply(message: dict[str, Any]) -> None:
        replies.write(json.dumps(message) + "\n")
        replies.flush()

    try:
        system = load()
    except ModuleNotFoundError as error:
        reply({"missing": (error.name or str(error)).partition(".")[0]})
        return
    except Exception as error:  # a third party's loading can fail in any way; the parent reports it
        reply({"error": _sentence(error)})
        return
    reply({"ready": True})
    for line in requests:
        request = json.loads(line)
        try:
            reply(_work(system, request["do"], np.load(request["audio"])))
        except Exception as error:  # the same of its work; a later request may succeed
            reply({"error": _sentence(error)})


def _work(system: System, do: str, samples: Any) -> dict[str, Any]:
    started = time.perf_counter()
    if do == "prepare":
        system.prepare(samples)
        output = Output()
    else:
        output = system.run(samples)
    seconds = time.perf_counter() - started
    return {"seconds": seconds, "peak_memory_mb": peak_memory_mb(), **asdict(output)}


def _sentence(error: Exception) -> str:
    """The kind of an error, and its first line where that is a sentence for people."""
    if isinstance(error, SpeechError):
        return str(error)
    return f"{type(error).__name__}: {str(error).strip().splitlines()[0][:200]}" if str(error).strip() else repr(error)


def _use_cores(number: int) -> None:
    """Compute on so many cores; every library starts as many threads as there are cores it may use."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:number])
        return
    import torch

    torch.set_num_threads(number)


def main(load: Callable[[], System], threads: int) -> None:
    """Serve a system on standard input and output, on so many cores."""
    # Libraries print on standard output; only answers may go there.
    replies = os.fdopen(os.dup(sys.stdout.fileno()), "w", encoding="utf-8")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    _use_cores(threads)
    serve(load, sys.stdin, replies)


if __name__ == "__main__":
    given = Options(**json.loads(sys.argv[2]))
    main(lambda: contender(sys.argv[1]).load(given), given.threads)
