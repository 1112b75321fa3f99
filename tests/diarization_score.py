"""Diarization error rate against a reference in RTTM."""

from collections.abc import Iterable
from pathlib import Path

from speech_pipeline.evaluation.diarization_errors import annotation_of, diarization_errors
from speech_pipeline.evaluation.references import read_rttm
from speech_pipeline.transcript import SpeakerTurn

__all__ = ["annotation_of", "diarization_error_rate"]


def diarization_error_rate(reference: Path, turns: Iterable[SpeakerTurn], duration: float) -> float:
    """Missed, false and confused speech as a share of all speech; no collar, overlapped speech scored.

    Args:
        reference: RTTM file with one recording, in which somebody speaks.
        turns: what was found.
        duration: length of the recording in seconds; all of it is scored.
    """
    rate = diarization_errors(read_rttm(reference), turns, duration).rate
    assert rate is not None
    return rate
