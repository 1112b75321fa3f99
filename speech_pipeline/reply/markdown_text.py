"""Markdown read as text: what a person who reads it aloud would leave out is left out."""

import re
from functools import cache

from markdown_it import MarkdownIt
from markdown_it.token import Token

_FENCE = re.compile(r"\s*(?:>\s*)*(?:[-*+]\s+)?(```+(?!.*`)|~~~+)")
_RULE = re.compile(r"\s*(?:[-*_=]\s*){3,}\Z|\s*\|?(?:\s*:?-{2,}:?\s*\|?)+\s*\Z")
_LINE_MARKS = re.compile(r"\s*(?:>\s*)*(?:#{1,6}(?=\s|\Z)|(?:[-*+•‣◦▪–]\s+)(?:\[[ xX]\]\s)?)?\s*")
_TABLE_CELLS = re.compile(r"\s*\|\s*")
_FOOTNOTE = re.compile(r"\s*\[\^?\d{1,3}\]")
_EMPHASIS = re.compile(r"\*+(?!\d)|(?<!\d)\*+|(?<![^\W_])_+|_+(?![^\W_])|`+|~~+")
_UNDERSCORES = re.compile(r"(?<=\w)_+(?=\w)")


class MarkdownReader:
    """Reads one text piece by piece; between the pieces it remembers whether a block of code is open."""

    def __init__(self) -> None:
        self._fence = ""

    def read(self, piece: str) -> str:
        """The text of a piece, its lines kept apart.

        Left out are blocks of code, headings' and lists' marks, emphasis, addresses behind links, rules, HTML tags and
        the frames of tables. Emphasis and links that the piece cuts in two lose their marks as well.
        """
        lines = (self._line(line) for line in piece.splitlines())
        return "\n".join(line for line in lines if line)

    def _line(self, line: str) -> str:
        fence = _FENCE.match(line)
        if fence:
            if not self._fence:
                self._fence = fence[1]
            elif fence[1].startswith(self._fence):
                self._fence = ""
            return ""
        if self._fence or _RULE.match(line):
            return ""
        text = line[len(match[0]) :] if (match := _LINE_MARKS.match(line)) else line
        if text.startswith("|"):
            text = ", ".join(cell for cell in _TABLE_CELLS.split(text) if cell)
        tokens = _parser().parseInline(text)[0].children or []
        text = _FOOTNOTE.sub("", "".join(map(_content, tokens)))
        return _UNDERSCORES.sub(" ", _EMPHASIS.sub("", text)).strip()


def _content(token: Token) -> str:
    if token.type in ("text", "text_special", "code_inline"):
        return token.content
    if token.type == "image":
        return "".join(map(_content, token.children or []))
    return " " if token.type in ("softbreak", "hardbreak") else ""


@cache
def _parser() -> MarkdownIt:
    return MarkdownIt("commonmark").enable("strikethrough")
