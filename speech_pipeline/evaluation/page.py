"""What an evaluation found, as one HTML page: wrong words in their context, and who speaks when."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Literal

from speech_pipeline.evaluation.diarization_errors import speaker_mapping
from speech_pipeline.evaluation.evaluation import Figures, Result
from speech_pipeline.evaluation.report import cells
from speech_pipeline.evaluation.scores import Alignment
from speech_pipeline.evaluation.speaker_errors import label_mapping
from speech_pipeline.evaluation.tokens import Token
from speech_pipeline.transcript import SpeakerTurn

TEMPLATE = "page.html"

PIXELS_PER_SECOND = 8
"""Least scale of the timeline; a long recording is scrolled."""

LEAST_WIDTH_PX = 320
"""Least width of the timeline."""

ROW_PX = 18
"""Height of a speaker's row in the timeline."""

COLOURS = 8
"""Speakers that have a colour of their own."""


@dataclass(frozen=True, slots=True)
class Pair:
    """One column of the differences: what is said above what was heard; ``""`` where there is nothing."""

    said: str
    heard: str
    kind: Literal["equal", "substitution", "deletion", "insertion"]
    wrong_speaker: bool


@dataclass(frozen=True, slots=True)
class Run:
    """Pairs in a row that have the same speakers; ``""`` where nobody is known."""

    said_by: str
    heard_by: str
    pairs: tuple[Pair, ...]


@dataclass(frozen=True, slots=True)
class Row:
    """A speaker's row of the timeline; ``colour`` is that of the speaker a label stands for."""

    label: str
    colour: int
    turns: tuple[SpeakerTurn, ...]


def page(results: Sequence[Result], total: Figures) -> str:
    """The page: no scripts, and nothing that is loaded from elsewhere.

    Args:
        results: what was found, by recording.
        total: sum of the results.
    """
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    # Texts, names and labels come from outside: everything is escaped.
    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template(TEMPLATE).render(
        total={name: value for name, value in cells(total).items() if value},
        recordings=[_recording(result) for result in results],
        row=ROW_PX,
    )


def _recording(result: Result) -> dict[str, object]:
    duration = result.transcript.duration
    reference, hypothesis = _rows(result.recording.turns or (), result.transcript.turns)
    return {
        "name": result.recording.name,
        "figures": {name: value for name, value in cells(result.figures).items() if value},
        "differences": [tuple(_runs(alignment)) for alignment in result.alignments],
        "text": "" if result.alignments else result.transcript.text,
        "width": max(round(duration * PIXELS_PER_SECOND), LEAST_WIDTH_PX),
        "percent": lambda seconds: round(100 * seconds / max(duration, 1e-9), 3),
        "ticks": range(0, int(duration) + 1, _tick_s(duration)),
        "reference": reference,
        "hypothesis": hypothesis,
        "turns_known": result.recording.turns is not None,
    }


def _runs(alignment: Alignment) -> Iterable[Run]:
    mapping = label_mapping(alignment.reference, alignment.hypothesis, alignment.pairs)
    said_by = heard_by = ""
    columns: list[tuple[tuple[str, str], Pair]] = []
    for left, right in alignment.pairs:
        said = Token("") if left is None else alignment.reference[left]
        heard = Token("") if right is None else alignment.hypothesis[right]
        said_by, heard_by = said.speaker or said_by, heard.speaker or heard_by
        wrong = said.speaker is not None and heard.text != "" and mapping.get(heard.speaker) != said.speaker
        columns.append(((said_by, heard_by), Pair(said.text, heard.text, _kind(said.text, heard.text), wrong)))
    for (speaker, label), run in groupby(columns, key=itemgetter(0)):
        yield Run(speaker, label, tuple(pair for _, pair in run))


def _kind(said: str, heard: str) -> Literal["equal", "substitution", "deletion", "insertion"]:
    if said == heard:
        return "equal"
    if not said:
        return "insertion"
    return "substitution" if heard else "deletion"


def _rows(
    reference: Sequence[SpeakerTurn], hypothesis: Sequence[SpeakerTurn]
) -> tuple[tuple[Row, ...], tuple[Row, ...]]:
    """Rows of the speakers, and of the labels in the order of the speakers they stand for."""
    speakers = list(dict.fromkeys(turn.speaker for turn in reference))
    mapping = speaker_mapping(reference, hypothesis) if reference and hypothesis else {}
    place = {label: speakers.index(speaker) for label, speaker in mapping.items()}
    for label in dict.fromkeys(turn.speaker for turn in hypothesis):
        place.setdefault(label, max(len(speakers), *(number + 1 for number in place.values()), 0))
    return (
        tuple(Row(name, number % COLOURS, _of(name, reference)) for number, name in enumerate(speakers)),
        tuple(
            Row(label, number % COLOURS, _of(label, hypothesis))
            for label, number in sorted(place.items(), key=itemgetter(1))
        ),
    )


def _of(speaker: str, turns: Iterable[SpeakerTurn]) -> tuple[SpeakerTurn, ...]:
    return tuple(turn for turn in turns if turn.speaker == speaker)


def _tick_s(duration: float) -> int:
    """Seconds from one mark of the time axis to the next, so that their labels have 40 pixels each."""
    return 1 if duration <= 8 else 5 if duration <= 60 else 30
