"""A stream of text cut into pieces that can be spoken, each as soon as it is certain to be complete.

Where sentences end is decided by the library sentencex, which knows the abbreviations of many languages. It is asked
only once the next character is known: without it the period of ``3.`` could go on as a decimal, and that of ``Hello.``
be followed by a quotation mark.
"""

import re
import unicodedata
from collections.abc import Iterable

import sentencex

from speech_pipeline.punctuation import CLAUSE_ENDS, CLOSING, SENTENCE_ENDS
from speech_pipeline.reply.abbreviations import goes_on

FIRST_CLAUSE_WIDTH = 40
"""From this width on the first piece may end at a comma, so that the voice begins early."""

CLAUSE_WIDTH = 220
"""From this width on every piece may."""

MAX_WIDTH = 320
"""No piece is wider, whatever the text is. About 20 seconds of speech.

Widths are in columns: a character of a script without spaces counts as two, as it holds about as much speech.
"""

_WITHOUT_SPACES = frozenset("。！？｡，、；：､")
"""Marks that need no space after them."""

_EMPHASIS = "*_`~"
"""Marks of Markdown that may follow the end of a sentence."""

_CLOSING = CLOSING + _EMPHASIS
_AMBIGUOUS = "\"'”’" + _EMPHASIS
"""Marks that close something where they follow a character, and open something where they follow a space."""

_WITHOUT_EMPHASIS = str.maketrans("", "", _EMPHASIS)

_UNFINISHED_NUMBER = re.compile(r"[0-9]\.\Z")

_SPACES = " \u00a0\u202f"

_PAIRS = ("()", "[]", "«»", "“”", "「」", "『』", "（）", "《》", "【】", "〈〉")

_JAPANESE_AFTER_A_QUOTE = frozenset("とっはがをにでものやへなら")
"""First characters of what goes on with a sentence after a quotation that has a full stop of its own."""


class SentenceSplitter:
    """Cuts one text. Joined, the pieces are the text; how it was chopped up on its way here makes no difference."""

    def __init__(self, language: str | None) -> None:
        """Begin a text.

        Args:
            language: code such as ``en``; an unknown one is cut by the rules of English.
        """
        self._language = language or "en"
        self._pending = ""
        self._first = True

    def feed(self, text: str) -> list[str]:
        """Take in the next characters.

        Returns:
            The pieces that are complete now, with the white space after them.
        """
        pieces = []
        for character in text:
            cut = self._cut_before(character)
            if cut:
                pieces.append(self._pending[:cut])
                self._pending = self._pending[cut:]
                self._first = False
            self._pending += character
        return pieces

    def likely(self) -> str:
        """What is pending where it is a sentence if another one begins next, which is not certain; else nothing."""
        text = self._pending.rstrip()
        if not _has_words(text) or _UNFINISHED_NUMBER.search(text):
            return ""
        return text if self._ends_here(text, True, "A") else ""

    def cut_at(self, likely: str) -> str:
        """The first piece, where it is still the one that was likely, cut off now; else nothing."""
        if not self._first or self.likely() != likely:
            return ""
        piece, self._pending, self._first = self._pending, "", False
        return piece

    def finish(self) -> list[str]:
        """What is left when the text is over: one piece or none."""
        rest, self._pending, self._first = self._pending, "", True
        return [rest] if rest else []

    def _cut_before(self, character: str) -> int:
        """Length of the piece that is complete now that ``character`` is known to come next; 0 for none."""
        pending = self._pending
        if not pending or character.isspace():
            return 0
        text = pending.rstrip()
        spaced = len(text) < len(pending)
        if _has_words(text):
            if "\n" in pending[len(text) :]:
                return len(pending)
            if self._ends_here(text, spaced, character):
                return len(pending)
        width = _width(pending)
        if width >= (FIRST_CLAUSE_WIDTH if self._first else CLAUSE_WIDTH) and _clause_ends_here(
            text, spaced, character
        ):
            return len(pending)
        return _forced_cut(pending, character) if width >= MAX_WIDTH else 0

    def _ends_here(self, text: str, spaced: bool, following: str) -> bool:
        """Whether a sentence ends between ``text``, less its white space, and the character that follows."""
        body = text.rstrip(_CLOSING + _SPACES)  # French has a space before the closing quotation mark
        if body[-1:] not in SENTENCE_ENDS or following in SENTENCE_ENDS:
            return False
        if not _may_follow(body[-1], spaced, following) or _closes(spaced, following):
            return False
        if following.islower() or (len(body) < len(text) and not spaced and following in _JAPANESE_AFTER_A_QUOTE):
            return False
        if self._language == "ko" and len(body) < len(text) and not spaced:  # a particle follows the quotation
            return False
        if body[-1] == "." and goes_on(body, self._language, following):
            return False
        if _is_inside_a_pair(text) and _width(text) < CLAUSE_WIDTH:
            return False
        # A quotation mark that nothing follows yet would be taken for a closing one.
        next_sentence = following if following.isalnum() else "A"
        plain = text.translate(_WITHOUT_EMPHASIS)
        sentences: Iterable[str] = sentencex.segment(self._language, plain + (" " if spaced else "") + next_sentence)
        return list(sentences)[-1].strip() == next_sentence


def split_sentences(text: str, language: str | None) -> list[str]:
    """The pieces of a text that is there as a whole."""
    splitter = SentenceSplitter(language)
    return [*splitter.feed(text), *splitter.finish()]


def _has_words(text: str) -> bool:
    """Whether there is more than numbers and marks, such as the ``1.`` of a list."""
    return any(character.isalpha() for character in text)


def _may_follow(mark: str, spaced: bool, following: str) -> bool:
    """Whether a sentence may begin right here: after a space, or in a script that does without."""
    return spaced or mark in _WITHOUT_SPACES or (mark in "!?…" and _is_wide(following))


def _closes(spaced: bool, following: str) -> bool:
    """Whether the character still belongs to what is before it."""
    return following in _CLOSING and not (spaced and following in _AMBIGUOUS)


def _clause_ends_here(text: str, spaced: bool, following: str) -> bool:
    mark = text.rstrip(_CLOSING)[-1:]
    if mark not in CLAUSE_ENDS or following in CLAUSE_ENDS or following in SENTENCE_ENDS or _closes(spaced, following):
        return False
    return (spaced or mark in _WITHOUT_SPACES) and not _is_inside_a_pair(text)


def _is_inside_a_pair(text: str) -> bool:
    """Whether a bracket or a quotation is open at the end of the text."""
    return text.count('"') % 2 == 1 or any(text.count(pair[0]) > text.count(pair[1]) for pair in _PAIRS)


def _forced_cut(pending: str, following: str) -> int:
    """Where to cut what has no end: behind white space in its second half, or else here, in no character's middle."""
    for position in range(len(pending), len(pending) // 2, -1):
        if pending[position - 1].isspace():
            return position
    joined = unicodedata.combining(following) or following in "\u200d\ufe0f" or pending[-1] == "\u200d"
    return 0 if joined and len(pending) < 2 * MAX_WIDTH else len(pending)


def _is_wide(character: str) -> bool:
    return unicodedata.east_asian_width(character) in "WF"


def _width(text: str) -> int:
    return sum(2 if _is_wide(character) else 1 for character in text)
