"""How long one request takes: as in the table of the Hugging Face blog's article on asr-diarization, and by stage."""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from statistics import fmean
from typing import Any

import numpy as np

from speech_pipeline.errors import AssistantUnavailable, SpeechError
from speech_pipeline.progress import Progress, no_progress

Transcribe = Callable[[bytes, Mapping[str, Any]], Mapping[str, Any]]
"""Encoded audio and parameters in, the response out; in this process or at an endpoint."""

MODEL_STAGES = ("voice_activity", "mel", "encoder", "decoder", "alignment", "recognition", "diarization")
"""Stages that are work of a model or prepare its input; everything else is overhead. Where a stage is reported in
parts, the parts count and what they leave of it is overhead."""

RECOGNITION_PARTS = ("mel", "encoder", "decoder", "alignment")
"""Stages that are parts of ``recognition``."""

TOTAL = "total"
"""What a response calls all of its stages together."""


@dataclass(frozen=True, slots=True)
class Latency:
    """Times of equal requests in seconds; percentiles are interpolated linearly, as k6 does."""

    avg: float
    min: float
    med: float
    max: float
    p90: float
    p95: float

    @classmethod
    def of(cls, seconds: Sequence[float]) -> "Latency":
        """Summarise at least one time."""
        median, p90, p95 = (float(value) for value in np.percentile(seconds, [50, 90, 95]))
        return cls(fmean(seconds), min(seconds), median, max(seconds), p90, p95)


def measure_latency(
    transcribe: Transcribe,
    requests: Mapping[str, bytes],
    parameters: Mapping[str, Any],
    repetitions: int,
    progress: Progress = no_progress,
) -> list[dict[str, Any]]:
    """Send each request again and again, one at a time, with the assistant and without.

    The first of each kind warms up and is not counted. Where no assistant is loaded only the rest is measured.

    Args:
        transcribe: answers a request.
        requests: encoded audio by name (``"short"``).
        parameters: sent with every request.
        repetitions: how often each is counted.
        progress: told what is being done.

    Returns:
        For each kind: ``request``, ``assisted``, the fields of :class:`Latency` in seconds, and ``stages``: the medians
        of :func:`stage_seconds`.

    Raises:
        SpeechError: a request failed.
    """
    kinds = [(name, assisted) for name in requests for assisted in (False, True)]
    rows = []
    for number, (name, assisted) in enumerate(kinds):
        label = f"{name} request{', assisted' if assisted else ''}"
        progress(label, number / len(kinds))
        sent = {**parameters, "assisted": True} if assisted else dict(parameters)
        try:
            transcribe(requests[name], sent)
        except SpeechError as error:
            if assisted and error.code == AssistantUnavailable.code:
                continue
            raise
        seconds, stages = zip(*_repeated(transcribe, requests[name], sent, repetitions), strict=True)
        row = {"request": name, "assisted": assisted, **asdict(Latency.of(seconds)), "stages": median_stages(stages)}
        rows.append(row)
    progress("latency measured", 1.0)
    return rows


def stage_seconds(timings: Mapping[str, float], latency_s: float) -> dict[str, float]:
    """Split a request's time into its stages, so that they add up to it.

    Args:
        timings: seconds by stage as a response has them; parts of recognition may stand beside it.
        latency_s: what the caller waited, in seconds.

    Returns:
        Seconds by stage; ``other`` is what no stage accounts for: sending, parsing, and the work between stages.
    """
    stages = {stage: seconds for stage, seconds in timings.items() if stage != TOTAL}
    parts = sum(stages.get(part, 0.0) for part in RECOGNITION_PARTS)
    if parts and "recognition" in stages:
        stages["recognition"] = max(stages["recognition"] - parts, 0.0)
        stages["recognition, rest"] = stages.pop("recognition")
    return {**stages, "other": max(latency_s - sum(stages.values()), 0.0)}


def overhead_share(stages: Mapping[str, float]) -> float:
    """What share of a request is not the work of a model, from 0 to 1."""
    whole = sum(stages.values())
    return 1 - sum(seconds for stage, seconds in stages.items() if stage in MODEL_STAGES) / whole if whole else 0.0


def median_stages(runs: Sequence[Mapping[str, float]]) -> dict[str, float]:
    """Median of each stage over several runs, in seconds."""
    stages = dict.fromkeys(stage for run in runs for stage in run)
    return {stage: float(np.median([run.get(stage, 0.0) for run in runs])) for stage in stages}


def _repeated(
    transcribe: Transcribe, audio: bytes, parameters: Mapping[str, Any], repetitions: int
) -> Iterator[tuple[float, dict[str, float]]]:
    for _ in range(repetitions):
        started = time.perf_counter()
        response = transcribe(audio, parameters)
        seconds = time.perf_counter() - started
        yield seconds, stage_seconds(response.get("timings") or {}, seconds)
