"""Words to segments of about one sentence."""

import re
from collections.abc import Iterator, Sequence

from speech_pipeline.transcript import Word

PAUSE_S = 1.0
"""A pause at least this long ends a segment, in seconds."""

MAX_SEGMENT_S = 15.0
"""A longer segment is cut at its clearest break, in seconds."""

_SENTENCE_END = re.compile(r"[.?!…。！？।؟][\"'”’)\]»」』]*$")
_CLAUSE_END = re.compile(r"[,;:，、；：،][\"'”’)\]»」』]*$")
_ABBREVIATION = re.compile(
    r"(?:^|[\s(\"'])(?:[A-Za-z]|Mr|Mrs|Ms|Dr|Prof|St|Jr|Sr|vs|etc|No|Nr|Sra?|Dra|Mme|Mlle|bzw|ca|usw|z\.B|e\.g|i\.e)\.$"
)


def split_segments(words: Sequence[Word]) -> Iterator[tuple[Word, ...]]:
    """Cut words, in order of time, into sentences.

    A segment ends after a sentence, at a pause, and, where it would be too long, at its clearest break. Joining the
    segments gives the words.
    """
    begin = 0
    for index in range(1, len(words) + 1):
        if index == len(words) or _is_end(words[index - 1], words[index]):
            yield from _limited(words[begin:index])
            begin = index


def _is_end(word: Word, following: Word) -> bool:
    if following.start - word.end >= PAUSE_S:
        return True
    text = word.text.strip()
    if not _SENTENCE_END.search(text) or _ABBREVIATION.search(text):
        return False
    first = following.text.strip()[:1]
    # "3 p.m. on Monday": a full stop before a small letter ends no sentence; other marks and scripts without case do.
    return not (text.endswith(".") and first.islower())


def _limited(words: Sequence[Word]) -> Iterator[tuple[Word, ...]]:
    """Halve a segment that is too long at the clearest break in its middle half."""
    if len(words) < 4 or words[-1].end - words[0].start <= MAX_SEGMENT_S:
        yield tuple(words)
        return
    quarter = len(words) // 4

    def clarity(index: int) -> tuple[bool, float]:
        left, right = words[index - 1], words[index]
        return bool(_CLAUSE_END.search(left.text.strip())), right.start - left.end

    cut = max(range(max(quarter, 1), len(words) - quarter), key=clarity)
    yield from _limited(words[:cut])
    yield from _limited(words[cut:])
