"""Tokens to words."""

from collections.abc import Sequence
from dataclasses import dataclass

from speech_pipeline.recognition.vocabulary import Vocabulary

WITHOUT_SPACES = frozenset({"zh", "ja", "th", "lo", "my", "km", "bo", "yue"})
"""Languages whose writing has no spaces between words; each unit of text is a word there."""

_OPENING = "\"'“‘¿¡([{-«「『《〈（【"
_CLOSING = "\"'.。,，!！?？:：”’)]}、»」』》〉）】…;；"


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

    Joining the texts of the words gives the text of ``ids``.
    """
    units = _units(vocabulary, ids)
    if language not in WITHOUT_SPACES:
        units = _by_spaces(units)
    return _attach_punctuation(units)


def _units(vocabulary: Vocabulary, ids: Sequence[int]) -> list[TokenWord]:
    """The shortest runs of tokens that are whole characters."""
    whole = vocabulary.decode(ids)
    units: list[TokenWord] = []
    first, written = 0, 0
    for position in range(len(ids)):
        text = vocabulary.decode(ids[first : position + 1])
        # Part of a character decodes to U+FFFD, unless the text has that very character there.
        if "\ufffd" in text and whole[written : written + len(text)] != text:
            continue
        units.append(_unit(text, first, position + 1))
        first, written = position + 1, written + len(text)
    if first < len(ids):
        units.append(_unit(whole[written:], first, len(ids)))
    return units


def _by_spaces(units: list[TokenWord]) -> list[TokenWord]:
    words: list[TokenWord] = []
    for unit in units:
        if not words or unit.text.startswith(" ") or not unit.spoken or not words[-1].spoken:
            words.append(unit)
        else:
            words[-1] = _merged(words[-1], unit)
    return words


def _attach_punctuation(words: list[TokenWord]) -> list[TokenWord]:
    """Opening marks go to the word after them, all others to the word before them."""
    attached: list[TokenWord] = []
    opening: TokenWord | None = None
    for word in words:
        mark = word.text.strip()
        if opening is not None:
            word, opening = _merged(opening, word), None
        if mark and all(c in _OPENING for c in mark) and (word.text.startswith(" ") or mark not in _CLOSING):
            opening = word
        elif attached and (not mark or all(c in _CLOSING for c in mark)):
            attached[-1] = _merged(attached[-1], word)
        else:
            attached.append(word)
    if opening is not None:
        if attached:
            attached[-1] = _merged(attached[-1], opening)
        else:
            attached.append(opening)
    return attached


def _unit(text: str, start: int, stop: int) -> TokenWord:
    silent = all(character in _OPENING or character in _CLOSING for character in text.strip())
    return TokenWord(text, range(start, stop), range(stop, stop) if silent else range(start, stop))


def _merged(left: TokenWord, right: TokenWord) -> TokenWord:
    if left.spoken and right.spoken:
        spoken = range(left.spoken.start, right.spoken.stop)
    else:
        spoken = left.spoken or right.spoken or left.spoken
    return TokenWord(left.text + right.text, range(left.tokens.start, right.tokens.stop), spoken)
