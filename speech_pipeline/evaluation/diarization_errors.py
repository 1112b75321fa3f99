"""Speaker turns that are wrong: time missed, invented, or given to another speaker."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from speech_pipeline.transcript import SpeakerTurn

if TYPE_CHECKING:
    from pyannote.core import Annotation


@dataclass(frozen=True, slots=True)
class DiarizationErrors:
    """Errors of one recording, or their sum over several, in seconds of speaker time.

    Where two people speak at once, each second counts for both.

    Attributes:
        missed: somebody speaks who was not found.
        false_alarm: nobody speaks, or fewer than were found.
        confusion: somebody else was found to speak.
        reference: somebody speaks.
    """

    missed: float = 0.0
    false_alarm: float = 0.0
    confusion: float = 0.0
    reference: float = 0.0

    @property
    def errors(self) -> float:
        """All errors."""
        return self.missed + self.false_alarm + self.confusion

    @property
    def rate(self) -> float | None:
        """Diarization error rate (DER); None where nobody speaks."""
        return self.errors / self.reference if self.reference else None

    def __add__(self, other: "DiarizationErrors") -> "DiarizationErrors":
        return DiarizationErrors(
            self.missed + other.missed,
            self.false_alarm + other.false_alarm,
            self.confusion + other.confusion,
            self.reference + other.reference,
        )


def diarization_errors(
    reference: Iterable[SpeakerTurn], hypothesis: Iterable[SpeakerTurn], duration_s: float
) -> DiarizationErrors:
    """Score turns under the best mapping of labels to speakers, without collar, overlapping speech included.

    Args:
        reference: who speaks when.
        hypothesis: who was found to.
        duration_s: length of the recording in seconds; all of it is scored.
    """
    from pyannote.core import Segment, Timeline
    from pyannote.metrics.diarization import DiarizationErrorRate

    whole = Timeline([Segment(0, duration_s)])
    metric = DiarizationErrorRate(collar=0.0, skip_overlap=False)
    parts = metric(annotation_of(reference), annotation_of(hypothesis), uem=whole, detailed=True)
    return DiarizationErrors(parts["missed detection"], parts["false alarm"], parts["confusion"], parts["total"])


def speaker_mapping(reference: Iterable[SpeakerTurn], hypothesis: Iterable[SpeakerTurn]) -> dict[str, str]:
    """The speaker that each label stands for: those that share the most time; labels that share none are left out."""
    from pyannote.metrics.diarization import DiarizationErrorRate

    metric = DiarizationErrorRate()
    mapping: dict[str, str] = metric.optimal_mapping(annotation_of(reference), annotation_of(hypothesis))
    return mapping


def annotation_of(turns: Iterable[SpeakerTurn]) -> "Annotation":
    """The turns in pyannote's form."""
    from pyannote.core import Annotation, Segment

    return Annotation.from_records((Segment(t.start, t.end), number, t.speaker) for number, t in enumerate(turns))
