"""What the scheduler needs of a recogniser: recognition in steps."""

from collections.abc import Callable, Sequence
from typing import Protocol

from config import InferenceConfig
from speech_pipeline.recognition.election import Ballot, Election
from speech_pipeline.recognition.recognizer import Halves, Recognition
from speech_pipeline.recognition.rows import Row
from speech_pipeline.recognition.windows import Window
from speech_pipeline.stopwatch import Stopwatch


class RecognitionSteps(Protocol):
    """See :class:`speech_pipeline.recognition.whisper.WhisperRecognizer`, which says what each step does.

    ``check``, ``prepare`` and ``call_elections`` are called in threads of requests, the others in one thread only.
    """

    @property
    def languages(self) -> tuple[str, ...]:
        """Codes of the languages it recognises."""

    def check(self, config: InferenceConfig) -> None:
        """Refuse what the model cannot do."""

    def prepare(self, items: Sequence[tuple[Window, InferenceConfig]]) -> list[Row]:
        """Rows of the windows of one call."""

    def call_elections(self, rows: Sequence[Row]) -> list[Election]:
        """The votes that are to be held before rows are decoded."""

    def ballot(self, row: Row, stopwatch: Stopwatch) -> Ballot:
        """What a window says in an election."""

    def decode(self, rows: Sequence[Row], stopwatch: Stopwatch, interlude: Callable[[], None]) -> None:
        """Write the texts of a batch."""

    def finish(self, row: Row, stopwatch: Stopwatch) -> Recognition | Halves:
        """What a decoded row says, or two rows that are to be decoded in its place."""
