"""A recogniser whose windows say what they are, for order, faults and timing without models."""

import threading
from collections.abc import Callable, Iterable, Sequence

import numpy as np

from config import InferenceConfig
from speech_pipeline.recognition.election import Ballot, Election, elections
from speech_pipeline.recognition.recognizer import Halves, Recognition
from speech_pipeline.recognition.rows import Row
from speech_pipeline.recognition.windows import Piece, Window, halve
from speech_pipeline.stopwatch import Stopwatch
from speech_pipeline.transcript import Segment

RATE = 16_000
SPOKEN = ("en", "de", "fr")
"""Languages of windows, by their number."""


def window(number: int, duration_s: float = 5.0, start: float = 0.0, channel: int | None = None) -> Window:
    """A window whose samples all are its number."""
    samples = np.full(round(duration_s * RATE), number, np.float32)
    return Window(samples, (Piece(start, start + duration_s, 0.0),), channel)


def recording(numbers: Iterable[int], duration_s: float = 30.0) -> list[Window]:
    """Windows one after the other."""
    return [window(number, duration_s, place * duration_s) for place, number in enumerate(numbers)]


def items(windows: Iterable[Window], **parameters: object) -> list[tuple[Window, InferenceConfig]]:
    """One request for the windows."""
    config = InferenceConfig.from_request(parameters)[0]
    return [(each, config) for each in windows]


def number_of(row: Row) -> int:
    return int(row.window.samples[0])


class ScriptedRecognizer:
    """Recognition in steps. The text of a window is its number and its place in time.

    Attributes:
        begun: numbers of the windows of every batch that was begun, failed ones included.
        ended: the same of those that were decoded to the end.
        halved: numbers of windows of at least 10 s that are to be heard again in halves.
        faults: what decoding a batch raises that holds the number.
        finish_faults: what finishing a row of the number raises.
        room: rows that fit in memory.
        ballots: numbers of the windows that were asked for their language.
    """

    languages = SPOKEN

    def __init__(self, before: Callable[[list[int]], None] = lambda numbers: None) -> None:
        """``before`` is called, in the thread that owns the model, when a batch begins."""
        self.begun: list[list[int]] = []
        self.ended: list[list[int]] = []
        self.halved: set[int] = set()
        self.faults: dict[int, Exception] = {}
        self.finish_faults: dict[int, Exception] = {}
        self.room = 1_000
        self.ballots: list[int] = []
        self._before = before

    def check(self, config: InferenceConfig) -> None:
        """Takes everything."""

    def prepare(self, items: Sequence[tuple[Window, InferenceConfig]]) -> list[Row]:
        return [
            Row(window, config, [0] * len(config.prompt or ""), place=place)
            for place, (window, config) in enumerate(items)
        ]

    def call_elections(self, rows: Sequence[Row]) -> list[Election]:
        return elections(rows, multilingual=True)

    def ballot(self, row: Row, stopwatch: Stopwatch) -> Ballot:
        self.ballots.append(number_of(row))
        return {language: float(SPOKEN[number_of(row) % 3] == language) for language in SPOKEN}, row.window.duration

    def decode(self, rows: Sequence[Row], stopwatch: Stopwatch, interlude: Callable[[], None] = lambda: None) -> None:
        numbers = [number_of(row) for row in rows]
        self.begun.append(numbers)
        self._before(numbers)
        for _ in rows:
            interlude()
        if len(rows) > self.room:
            raise RuntimeError("CUDA out of memory.")
        for number in numbers:
            if number in self.faults:
                raise self.faults[number]
        for row in rows:
            row.language = row.elected or SPOKEN[number_of(row) % 3]
        self.ended.append(numbers)

    def finish(self, row: Row, stopwatch: Stopwatch) -> Recognition | Halves:
        number = number_of(row)
        if number in self.finish_faults:
            raise self.finish_faults[number]
        if number in self.halved and row.window.duration >= 10:
            first, second = (
                Row(half, row.config, row.previous, place=row.place, elected=row.language) for half in halve(row.window)
            )
            return first, second
        text = f"{number} from {row.window.start:.2f} to {row.window.end:.2f}"
        segment = Segment(text=text, start=row.window.start, end=row.window.end, language=row.language)
        return Recognition((segment,), row.language)


class Gate:
    """Holds a recogniser at the beginning of chosen batches.

    Attributes:
        reached: set when a batch is held.
    """

    def __init__(self, number: int) -> None:
        """Hold every batch that has a window of the number, until :meth:`open`."""
        self.reached = threading.Event()
        self._number = number
        self._open = threading.Event()

    def open(self) -> None:
        self._open.set()

    def __call__(self, numbers: list[int]) -> None:
        if self._number in numbers:
            self.reached.set()
            assert self._open.wait(20)
