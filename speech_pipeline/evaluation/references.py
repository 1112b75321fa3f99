"""Reference files of the NIST scoring tools: RTTM (who speaks when) and STM (who says what when)."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from speech_pipeline.transcript import SpeakerTurn

T = TypeVar("T")

_RTTM_TYPES = (
    *("SPEAKER", "SPKR-INFO", "SEGMENT", "NOSCORE", "NO_RT_METADATA", "LEXEME", "NON-LEX", "NON-SPEECH", "FILLER"),
    *("EDIT", "IP", "SU", "CB", "A/P"),
)


@dataclass(frozen=True, slots=True)
class Utterance:
    """One speaker says ``text`` from ``start`` to ``end`` (seconds)."""

    speaker: str
    start: float
    end: float
    text: str


def read_rttm(file: Path) -> tuple[SpeakerTurn, ...]:
    """Speaker turns of one recording, ordered by start.

    Lines are ``SPEAKER <recording> <channel> <start> <duration> <NA> <NA> <speaker> ...``, times in seconds; lines of
    other types are left out. A file of several recordings gives the turns of the one that has the file's name.

    Raises:
        ValueError: a line is not of that form, or none of several recordings has the file's name.
        OSError: the file cannot be read.
    """
    turns = []
    for number, line in _lines(file):
        fields = line.split()
        if fields[0] not in _RTTM_TYPES:
            raise ValueError(f"line {number} must begin with a type of RTTM, such as SPEAKER")
        if fields[0] != "SPEAKER":
            continue
        if len(fields) < 8:
            raise ValueError(f"line {number} must be SPEAKER, recording, channel, start, duration, <NA>, <NA>, speaker")
        start, duration = _seconds(number, fields[3:5])
        turns.append((fields[1], SpeakerTurn(fields[7], start, start + duration)))
    return tuple(sorted(_of_one_recording(file, turns), key=lambda turn: turn.start))


def read_stm(file: Path) -> tuple[Utterance, ...]:
    """Utterances of one recording, ordered by start.

    Lines are ``<recording> <channel> <speaker> <start> <end> [<label>] <text>``, times in seconds; ``;;`` begins a
    comment. Segments that are not to be scored (speaker ``inter_segment_gap``, text ``ignore_time_segment_in_scoring``)
    are left out. A file of several recordings gives the utterances of the one that has the file's name.

    Raises:
        ValueError: a line is not of that form, or none of several recordings has the file's name.
        OSError: the file cannot be read.
    """
    utterances = []
    for number, line in _lines(file):
        fields = line.split(maxsplit=5)
        if len(fields) < 5:
            raise ValueError(f"line {number} must be recording, channel, speaker, start, end, text")
        start, end = _seconds(number, fields[3:5])
        if end < start:
            raise ValueError(f"line {number} must not end before it starts")
        text = fields[5] if len(fields) == 6 else ""
        if text.startswith("<") and ">" in text:  # the optional label of conditions, such as <o,f0,female>
            text = text.partition(">")[2].strip()
        if fields[2] != "inter_segment_gap" and text.lower() != "ignore_time_segment_in_scoring":
            utterances.append((fields[0], Utterance(fields[2], start, end, text)))
    return tuple(sorted(_of_one_recording(file, utterances), key=lambda utterance: utterance.start))


def _lines(file: Path) -> Iterator[tuple[int, str]]:
    """Lines that say something, with their numbers from 1."""
    for number, line in enumerate(file.read_text(encoding="utf-8-sig").splitlines(), start=1):
        if line.strip() and not line.lstrip().startswith(";;"):
            yield number, line


def _seconds(number: int, fields: Sequence[str]) -> tuple[float, float]:
    try:
        first, second = (float(field) for field in fields)
    except ValueError:
        first = second = math.nan
    if not (0 <= first < math.inf and 0 <= second < math.inf):
        raise ValueError(f"line {number} must have its times in seconds, at least 0")
    return first, second


def _of_one_recording(file: Path, entries: Sequence[tuple[str, T]]) -> list[T]:
    names = {name for name, _ in entries}
    if len(names) > 1 and file.stem not in names:
        raise ValueError(f"it holds {len(names)} recordings; one of them must be named {file.stem}")
    return [entry for name, entry in entries if len(names) == 1 or name == file.stem]
