"""Text that an engine can be given: nothing in it but what is spoken, and not too much at once."""

import re
import unicodedata
from collections.abc import Iterator

_MARKUP = re.compile(
    r"<!--.*?-->|<[/?!]?[A-Za-z][\w:.-]*(?:\s+[\w:.-]+\s*=\s*(?:\"[^\"<>]*\"|'[^'<>]*'))*\s*[/?]?>", re.DOTALL
)
"""Tags and comments of HTML and SSML; ``a < b`` is none."""

_PARAGRAPHS = re.compile(r"\s*\n\s*\n\s*")
_REPEATED_MARK = re.compile(r"([^\w\s])\1{3,}")

_ENDS = (
    re.compile(r"[.!?…]['\"”’»)\]]*\s|[。！？｡]['\"”’」』）]*"),
    re.compile(r"[,;:]\s|\s[—–-]+\s|[，、；：]"),
    re.compile(r"\s"),
)
"""Where a text may be cut, best first: behind a sentence, behind a clause, between words."""

_WIDE_CHARACTER = 3
"""A Chinese or Korean character takes about as long to say as three letters."""


def speakable(text: str) -> str:
    """Leave out what is not spoken: control characters, tags, emoji and other pictures; white space becomes one space.

    Paragraphs stay apart by an empty line. A text without any letter or digit becomes empty.
    """
    text = unicodedata.normalize("NFC", text.replace("\r\n", "\n").replace("\r", "\n").replace("\u2029", "\n\n"))
    text = "".join(map(_spoken, _MARKUP.sub(" ", text)))
    text = _REPEATED_MARK.sub(r"\1", text)
    paragraphs = (" ".join(paragraph.split()) for paragraph in _PARAGRAPHS.split(text))
    return "\n\n".join(paragraph for paragraph in paragraphs if any(map(str.isalnum, paragraph)))


def cut(text: str, longest: int) -> Iterator[str]:
    """Cut a speakable text into pieces for an engine, behind a sentence where possible, never within a paragraph's end.

    Args:
        text: what :func:`speakable` returned.
        longest: characters of a piece at most, where a wide character counts as three.

    Yields:
        Pieces without white space at their ends; joined, they are the text but for white space.
    """
    for paragraph in text.split("\n\n"):
        rest = paragraph.strip()
        while rest:
            end = _end_of_piece(rest, longest)
            if piece := rest[:end].strip():
                yield piece
            rest = rest[end:].lstrip()


def _end_of_piece(text: str, longest: int) -> int:
    room = _characters_within(text, longest)
    if room == len(text):
        return room
    for ends in _ENDS:
        found = [match.end() for match in ends.finditer(text, 0, room)]
        if found:
            return found[-1]
    while room > 1 and unicodedata.combining(text[room]):
        room -= 1
    return room


def _characters_within(text: str, longest: int) -> int:
    """How many characters fit; at least one."""
    width = 0
    for number, character in enumerate(text):
        width += _WIDE_CHARACTER if unicodedata.east_asian_width(character) in "WF" else 1
        if width > longest:
            return max(1, number)
    return len(text)


def _spoken(character: str) -> str:
    """The character as it is said, or a space."""
    if character < "\u007f":
        return character if character.isprintable() or character == "\n" else " "
    category = unicodedata.category(character)
    if category == "So" and character > "\u218f":  # pictures; °, © and № lie below
        plain = unicodedata.normalize("NFKC", character)  # ㎏ and Ⓐ are letters in disguise
        return plain if plain != character and any(map(str.isalnum, plain)) else " "
    if category in ("Cc", "Cs", "Co", "Cn", "Zl", "Zp") or (category == "Sk" and character > "\u1000"):
        return " "
    if category in ("Cf", "Me") or "\ufe00" <= character <= "\ufe0f" or character > "\U000e0000":
        return ""  # joiners and variation selectors stand within words
    return character
