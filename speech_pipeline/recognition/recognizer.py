"""What every recogniser does: windows in, words out; and how recognitions of parts become those of whole windows."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from config import InferenceConfig
from speech_pipeline.listener import Listener
from speech_pipeline.progress import Progress, no_progress
from speech_pipeline.recognition.rows import Row
from speech_pipeline.recognition.windows import Window
from speech_pipeline.stopwatch import Stopwatch
from speech_pipeline.transcript import Segment


@dataclass(frozen=True, slots=True)
class Recognition:
    """What was recognised in one window.

    Attributes:
        segments: in order of time; empty where nobody speaks.
        language: code of the language it was decoded in.
        warnings: sentences for the caller.
    """

    segments: tuple[Segment, ...]
    language: str
    warnings: tuple[str, ...] = ()


class Recognizer(Protocol):
    """Windows to words. Safe to call from several threads at once."""

    @property
    def languages(self) -> tuple[str, ...]:
        """Codes of the languages it recognises."""

    def check(self, config: InferenceConfig) -> None:
        """Refuse what cannot be done, before any work.

        Raises:
            SpeechError: what cannot be done, and why.
        """

    def recognize(
        self,
        items: Sequence[tuple[Window, InferenceConfig]],
        progress: Progress = no_progress,
        stopwatch: Stopwatch | None = None,
        listener: Listener | None = None,
    ) -> list[Recognition]:
        """Recognise windows, each with its own options.

        Windows that carry the same ``InferenceConfig`` object belong to one recording, whose windows of one channel
        vote on its language together.

        Args:
            items: (window, options) in any order.
            progress: told the share of windows that are done.
            stopwatch: told how long ``mel``, ``encoder``, ``decoder`` and ``alignment`` take.
            listener: told of segments as windows finish; may cancel the call.

        Returns:
            One recognition a window, in the order of ``items``.

        Raises:
            OutOfMemory: a single window does not fit in memory.
            RequestCancelled: the listener has left.
            SpeechError: see :meth:`check`.
        """


Halves = tuple[Row, Row]
"""A window that is to be heard again in two parts: rows with the ``place`` of the whole, in order of time."""


class Assembly:
    """Puts together the recognitions of a call's windows, some of which were heard again in parts."""

    def __init__(self, windows: int) -> None:
        """Wait for as many windows as rows have a ``place``."""
        self._parts: list[list[Recognition]] = [[] for _ in range(windows)]
        self._missing = [1] * windows
        self._languages: list[str | None] = [None] * windows
        self._unfinished = windows

    @property
    def share(self) -> float:
        """What part of the windows is done, from 0 to 1."""
        return 1 - self._unfinished / len(self._parts) if self._parts else 1.0

    @property
    def complete(self) -> bool:
        """Whether all windows are done."""
        return self._unfinished == 0

    def add(self, row: Row, outcome: Recognition | Halves) -> Recognition | None:
        """Take what became of a row.

        Returns:
            The recognition of its window, where that is done now.
        """
        place = row.place
        if not isinstance(outcome, Recognition):
            self._missing[place] += 1
            self._languages[place] = self._languages[place] or row.language
            return None
        self._parts[place].append(outcome)
        self._missing[place] -= 1
        if self._missing[place]:
            return None
        self._unfinished -= 1
        return self.result(place)

    def result(self, place: int) -> Recognition:
        """The recognition of a window that is done."""
        parts = self._parts[place]
        if len(parts) == 1:
            return parts[0]
        # A window is cut at one place, so that no two parts overlap; parts without segments say nothing but warnings.
        segments = sorted((segment for part in parts for segment in part.segments), key=lambda each: each.start)
        warnings = [warning for part in parts for warning in part.warnings]
        return Recognition(tuple(segments), self._languages[place] or parts[0].language, tuple(warnings))
