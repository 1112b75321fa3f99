"""Long recordings: how fast, and how much memory, at several lengths."""

import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from speech_pipeline.audio.waveform import SAMPLING_RATE
from speech_pipeline.errors import SpeechError
from speech_pipeline.evaluation.bench.latency import Transcribe
from speech_pipeline.evaluation.bench.material import encoded, write_recording
from speech_pipeline.evaluation.bench.process import SystemFailed, Worker
from speech_pipeline.evaluation.bench.systems import Samples
from speech_pipeline.progress import Progress, no_progress

SECONDS_PER_MINUTE = 60.0

SHORTEST_SLOPE_S = 600.0
"""Length from which the growth of memory says something about an hour, in seconds."""


def measure_throughput(
    command: Sequence[str],
    speech: Callable[[float], Samples],
    minutes: Sequence[float],
    progress: Progress = no_progress,
) -> list[dict[str, Any]]:
    """Work on recordings of several lengths, each in a process of its own, so that its peak memory is its own.

    Args:
        command: how to start a worker, as :mod:`speech_pipeline.evaluation.bench.worker` is started.
        speech: a recording of so many seconds.
        minutes: lengths.
        progress: told what is being done.

    Returns:
        For each length: ``audio_s``, ``seconds``, ``rtfx``, ``peak_memory_mb``, ``mb_per_hour`` (what the peak lies
        above that of half a minute, for each hour of audio; None below ten minutes), ``stages``; or ``failed``, a
        sentence.
    """
    rows: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as folder:
        for number, length in enumerate(minutes):
            progress(f"{length:g} minutes", number / len(minutes))
            recording = write_recording(Path(folder), "speech", speech(length * SECONDS_PER_MINUTE))
            try:
                with Worker(command) as worker:
                    settled_mb = worker.prepare(recording.file, recording.timeout_s)
                    run = worker.run(recording.file, recording.timeout_s)
            except SystemFailed as error:
                rows.append({"audio_s": recording.duration_s, "failed": str(error)})
                continue
            rows.append(
                {
                    "audio_s": recording.duration_s,
                    "seconds": run.seconds,
                    "rtfx": recording.duration_s / run.seconds,
                    "peak_memory_mb": run.peak_memory_mb,
                    "mb_per_hour": _slope(run.peak_memory_mb - settled_mb, recording.duration_s),
                    "stages": dict(run.output.timings),
                }
            )
    progress("throughput measured", 1.0)
    return rows


def measure_endpoint(
    transcribe: Transcribe,
    parameters: Mapping[str, Any],
    speech: Callable[[float], Samples],
    minutes: Sequence[float],
    progress: Progress = no_progress,
) -> list[dict[str, Any]]:
    """Send recordings of several lengths as FLAC, one after another; what an endpoint uses of memory is not seen.

    Args:
        transcribe: answers a request.
        parameters: sent with every request.
        speech: a recording of so many seconds.
        minutes: lengths.
        progress: told what is being done.

    Returns:
        For each length: ``audio_s``, ``seconds`` with sending, ``rtfx``, ``stages``; or ``failed``, a sentence.
    """
    rows: list[dict[str, Any]] = []
    for number, length in enumerate(minutes):
        progress(f"{length:g} minutes", number / len(minutes))
        samples = speech(length * SECONDS_PER_MINUTE)
        audio_s = len(samples) / SAMPLING_RATE
        audio = encoded(samples, "FLAC")
        started = time.perf_counter()
        try:
            response = transcribe(audio, parameters)
        except SpeechError as error:
            rows.append({"audio_s": audio_s, "failed": str(error)})
            continue
        seconds = time.perf_counter() - started
        stages = dict(response.get("timings") or {})
        rows.append({"audio_s": audio_s, "seconds": seconds, "rtfx": audio_s / seconds, "stages": stages})
    progress("throughput measured", 1.0)
    return rows


def _slope(growth_mb: float, audio_s: float) -> float | None:
    """Megabytes for each hour of audio."""
    return max(growth_mb, 0.0) / (audio_s / 3600) if audio_s >= SHORTEST_SLOPE_S else None
