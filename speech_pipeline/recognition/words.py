"""Tokens to words."""

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise

from speech_pipeline.punctuation import CLAUSE_ENDS, CLOSING, SENTENCE_ENDS
from speech_pipeline.recognition.vocabulary import Vocabulary

WITHOUT_SPACES = frozenset({"zh", "ja", "th", "lo", "my", "km", "bo", "yue"})
"""Languages whose writing has no spaces between words; each character, or each token of several, is a word there."""

_OPENING_BRACKETS = "「『《〈（【"
_OPENING = "\"'“‘„¿¡([{-«" + _OPENING_BRACKETS
_ENDS = "".join(sorted(SENTENCE_ENDS | CLAUSE_ENDS))
_CLOSING = CLOSING + _ENDS
_MARKS = _OPENING + _CLOSING

_HAN_AND_KANA = (
    "\u2e80-\u2fdf\u3005-\u3007\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uff66-\uff9f"
    "\U00020000-\U0003ffff"
)
_BEYOND_LATIN = "\u0250-\U0010ffff"


@dataclass(frozen=True, slots=True)
class TokenWord:
    """A word and the tokens it is made of.

    Attributes:
        text: the word with the white space before it and its punctuation.
        tokens: positions of its tokens in the text.
        spoken: positions of the tokens that are heard: those that are not punctuation.
    """

    text: str
    tokens: range
    spoken: range


def split_words(vocabulary: Vocabulary, ids: Sequence[int], language: str) -> list[TokenWord]:
    """Words of a decoded text, punctuation attached to the word it belongs to.

    Joining the texts of the words gives the text of ``ids``, and every token is part of one word. None for no text.
    """
    text = vocabulary.decode(ids)
    starts = _word_starts(text, language)
    words: list[TokenWord] = []
    written = 0
    for unit in _units(vocabulary, ids, text):
        if words and (written not in starts or not words[-1].spoken):
            words[-1] = _merged(words[-1], unit)
        else:
            words.append(unit)
        written += len(unit.text)
    return words


def _units(vocabulary: Vocabulary, ids: Sequence[int], whole: str) -> list[TokenWord]:
    """The shortest runs of tokens that are whole characters."""
    ends = [(0, 0)]
    for stop in range(1, len(ids) + 1):
        # A character that is not complete yet decodes to U+FFFD, which the whole text does not have there.
        text = vocabulary.decode(ids[:stop])
        if len(text) > ends[-1][1] and whole.startswith(text):
            ends.append((stop, len(text)))
    if len(ends) > 1:
        ends[-1] = (len(ids), len(whole))
    return [_unit(whole[begin:end], first, stop) for (first, begin), (stop, end) in pairwise(ends)]


def _word_starts(text: str, language: str) -> frozenset[int]:
    """Positions in the text at which words start. What no word claims belongs to the word before it."""
    starts = (match.start() for match in _word_pattern(language in WITHOUT_SPACES).finditer(text))
    return frozenset(start for start in starts if not unicodedata.category(text[start]).startswith("M"))


@cache
def _word_pattern(without_spaces: bool) -> re.Pattern[str]:
    alone = _BEYOND_LATIN if without_spaces else _HAN_AND_KANA
    marks, opening, closing = re.escape(_MARKS), re.escape(_OPENING), re.escape(_CLOSING)
    spaced_closing = re.escape("".join(set(_CLOSING) - set(_OPENING)))
    # Full stops, commas, hyphens and apostrophes may stand inside a word (3.5, U.S., well-known, don't); these end one.
    ends = re.escape("".join(mark for mark in _ENDS if not mark.isascii()))
    breaks = rf"(?:\.{{2,}}|-{{2,}}|[{ends}])"
    return re.compile(
        rf"""
        [\s{opening}]*                                              # what is attached in front
        (?![{marks}])
        (?: [{alone}]                                               # a character that is a word,
          | \S (?: (?! {breaks} | [{alone}{_OPENING_BRACKETS}] ) \S )* )   # or letters up to a space
        (?: {breaks} | [{closing}] )*                               # what is attached behind
        (?: \s+ [{spaced_closing}]+ (?!\S) )*                       # French: a space before "?"
        """,
        re.VERBOSE,
    )


def _unit(text: str, start: int, stop: int) -> TokenWord:
    silent = all(character in _MARKS or character.isspace() for character in text)
    return TokenWord(text, range(start, stop), range(stop, stop) if silent else range(start, stop))


def _merged(left: TokenWord, right: TokenWord) -> TokenWord:
    if left.spoken and right.spoken:
        spoken = range(left.spoken.start, right.spoken.stop)
    else:
        spoken = left.spoken or right.spoken or left.spoken
    return TokenWord(left.text + right.text, range(left.tokens.start, right.tokens.stop), spoken)
