"""A voice that may begin to speak a text before it is certain that this is what will be said."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import chain, islice

from speech_pipeline.voices.voice import Speech


@dataclass(frozen=True, slots=True)
class _Begun:
    """A text whose first part was spoken, and what came of it."""

    text: str
    parts: Iterator[Speech]
    error: Exception | None = None


class HeadStart:
    """Speaks one text after another; the next one may be guessed, and a guess that does not come is not heard."""

    def __init__(self, speak: Callable[[str], Iterator[Speech]]) -> None:
        """Take over a way to speak a text in parts; equal texts give equal parts."""
        self._speak = speak
        self._begun: _Begun | None = None

    def guess(self, text: str) -> None:
        """Speak the first part of a text that is likely to come next; an error waits until the text does come."""
        parts = self._speak(text)
        try:
            self._begun = _Begun(text, chain(list(islice(parts, 1)), parts))
        except Exception as error:
            self._begun = _Begun(text, parts, error)

    def stream(self, text: str) -> Iterator[Speech]:
        """The parts of a text, the first one at once where it was guessed.

        Raises:
            Exception: whatever speaking the text raises.
        """
        begun, self._begun = self._begun, None
        if begun is None or begun.text != text:
            return self._speak(text)
        if begun.error is not None:
            raise begun.error
        return begun.parts
