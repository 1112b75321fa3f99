"""What was measured of a system, as the plain JSON types that results are kept in."""

from collections.abc import Sequence
from statistics import mean, median
from typing import Any

from speech_pipeline.evaluation.bench.dialogues import Dialogue
from speech_pipeline.evaluation.bench.latency import median_stages, overhead_share, stage_seconds
from speech_pipeline.evaluation.bench.machine import package_version
from speech_pipeline.evaluation.bench.material import Speech
from speech_pipeline.evaluation.bench.quality import diarization_error_rates, joined_clips_errors
from speech_pipeline.evaluation.bench.rounds import Measurement
from speech_pipeline.evaluation.bench.systems import Contender


def system_result(
    contender: Contender,
    measurement: Measurement,
    audio_s: float,
    reference: Measurement | None,
    *,
    speech: Speech,
    language: str,
    dialogues: Sequence[Dialogue],
) -> dict[str, Any]:
    """One entry of ``systems``.

    Args:
        contender: the system.
        measurement: what was measured.
        audio_s: length of what it worked on in a round, in seconds.
        reference: what was measured of this repository's system for the same task.
        speech: what recognition worked on.
        language: code of its language.
        dialogues: what diarization worked on.

    Returns:
        ``name``, ``task``, ``version``, and unless it failed: ``rtfx`` (seconds of audio for each second of work, by
        the median round), ``median_s``, ``rounds`` (seconds), ``ratio`` (how many times as long as this repository's
        system it took, median over the rounds), ``peak_memory_mb``; of recognition ``wer`` (each clip counted once)
        and ``wer_all``; of diarization ``der`` (mean over the recordings) and ``der_by_recording``; of a system that
        was given the short request ``short_s`` (median), and where it tells ``short_stages_s`` (medians by stage) and
        ``short_overhead`` (the share that is no model's work). Of one that failed: ``skipped`` or ``failed``, a
        sentence.
    """
    result: dict[str, Any] = {"name": contender.name, "task": contender.task}
    if contender.package is not None:
        result["version"] = package_version(contender.package)
    if measurement.failure is not None:
        result["skipped" if measurement.missing else "failed"] = measurement.failure
    seconds = measurement.median_s
    if seconds is None:
        return {**result, "rtfx": None, "wer": None, "peak_memory_mb": None}
    result |= {
        "rtfx": round(audio_s / seconds, 2),
        "wer": None,
        "peak_memory_mb": round(measurement.peak_memory_mb),
        "median_s": round(seconds, 3),
        "rounds": [round(value, 3) for value in measurement.seconds],
        "ratio": _ratio(measurement, reference),
    }
    if contender.task == "diarization":
        rates = diarization_error_rates(dialogues, measurement.outputs)
        result["der"] = round(mean(rates.values()), 4) if rates else None
        result["der_by_recording"] = {name: round(rate, 4) for name, rate in rates.items()}
    else:
        errors = joined_clips_errors(speech.clips, measurement.outputs["speech"].text, language)
        result |= {"wer": round(errors.once, 4), "wer_all": round(errors.all, 4)}
    if measurement.short_seconds:
        result["short_s"] = round(median(measurement.short_seconds), 4)
        result |= _short_stages(measurement)
    return result


def _short_stages(measurement: Measurement) -> dict[str, Any]:
    """Where the time of the short request goes, of a system that tells."""
    runs = zip(measurement.short_timings, measurement.short_seconds, strict=True)
    stages = median_stages([stage_seconds(timings, seconds) for timings, seconds in runs if timings])
    if not stages:
        return {}
    return {
        "short_stages_s": {stage: round(seconds, 5) for stage, seconds in stages.items()},
        "short_overhead": round(overhead_share(stages), 4),
    }


def _ratio(measurement: Measurement, reference: Measurement | None) -> float | None:
    """Rounds are compared with the round of the same number, which was run at about the same time."""
    if reference is None or not reference.seconds:
        return None
    pairs = zip(measurement.seconds, reference.seconds, strict=False)
    return round(median(seconds / own for seconds, own in pairs), 3)
