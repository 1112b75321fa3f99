"""The part of what a language model writes that is its answer: no reasoning, and nothing after a stop string."""

from collections.abc import Sequence

REASONING_BEGINS, REASONING_ENDS = "<think>", "</think>"
"""Marks around what a reasoning model writes to itself (DeepSeek-R1, Qwen3 and others)."""


class AnswerFilter:
    """Filters one answer as it is written.

    Attributes:
        stopped: whether a stop string has been written.
    """

    def __init__(self, stops: Sequence[str] = (), *, reasoning: bool = False) -> None:
        """Begin an answer.

        Args:
            stops: strings that end it and are no part of it.
            reasoning: whether the prompt ended with the beginning of the reasoning.
        """
        self.stopped = False
        self._stops = tuple(stops)
        self._reasoning = reasoning
        self._held = ""

    def feed(self, text: str) -> str:
        """Take in the next text; returns what is certain to belong to the answer."""
        self._held += text
        certain = ""
        while not self.stopped:
            marks = (REASONING_ENDS,) if self._reasoning else (REASONING_BEGINS, *self._stops)
            found = [(position, mark) for mark in marks if (position := self._held.find(mark)) >= 0]
            if not found:
                length = len(self._held) - _beginning(self._held, marks)
                released, self._held = self._held[:length], self._held[length:]
                return certain if self._reasoning else certain + released
            position, mark = min(found)
            if not self._reasoning:
                certain += self._held[:position]
            self._held = self._held[position + len(mark) :]
            self.stopped = mark in self._stops
            self._reasoning = mark == REASONING_BEGINS
        return certain

    def finish(self) -> str:
        """What was held back, now that the text is over."""
        held, self._held = self._held, ""
        return "" if self._reasoning or self.stopped else held


def _beginning(text: str, marks: Sequence[str]) -> int:
    """Length of the longest end of the text that is the beginning of a mark."""
    longest = max(map(len, marks)) - 1
    for length in range(min(longest, len(text)), 0, -1):
        if any(mark.startswith(text[-length:]) for mark in marks):
            return length
    return 0
