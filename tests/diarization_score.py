"""Diarization error rate against a reference in RTTM."""

from collections.abc import Iterable
from pathlib import Path

from pyannote.core import Annotation, Segment, Timeline
from pyannote.database.util import load_rttm
from pyannote.metrics.diarization import DiarizationErrorRate

from speech_pipeline.transcript import SpeakerTurn


def diarization_error_rate(reference: Path, turns: Iterable[SpeakerTurn], duration: float) -> float:
    """Missed, false and confused speech as a share of all speech; no collar, overlapped speech scored.

    Args:
        reference: RTTM file with one recording.
        turns: what was found.
        duration: length of the recording in seconds; all of it is scored.
    """
    (annotation,) = load_rttm(reference).values()
    metric = DiarizationErrorRate(collar=0.0, skip_overlap=False)
    whole = Timeline([Segment(0, duration)])
    return float(metric(annotation, annotation_of(turns), uem=whole))


def annotation_of(turns: Iterable[SpeakerTurn]) -> Annotation:
    """The turns in pyannote's form."""
    annotation = Annotation()
    for track, turn in enumerate(turns):
        annotation[Segment(turn.start, turn.end), track] = turn.speaker
    return annotation
