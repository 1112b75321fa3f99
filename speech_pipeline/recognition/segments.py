"""Words to segments of about one sentence."""

import re
from collections.abc import Iterator, Sequence

from speech_pipeline.punctuation import CLOSING, ends_clause, ends_sentence
from speech_pipeline.transcript import Word

PAUSE_S = 1.0
"""A pause at least this long ends a segment, in seconds."""

MAX_SEGMENT_S = 15.0
"""A longer segment is cut at its clearest break, in seconds."""

_QUOTES = "\"'“‘«„([{-"

# Letters with full stops (U.S., p.m., J.R.R.), initials but not the pronoun I, titles. "etc." is none: it often ends a
# sentence, and before a small letter no full stop does.
_ABBREVIATION = re.compile(
    r"(?:[^\W\d_]\.){2,}|[A-HJ-ZÀ-ÞА-ЯΑ-Ω]\.|[b-df-hj-np-tv-xz]\."
    r"|(?:Mr|Mrs|Ms|Dr|Prof|Rev|Hon|St|Ste|Mt|Ft|Jr|Sr|Gen|Col|Capt|Lt|Sgt|Gov|Sen|Rep|Sra|Srta|Dra|Mme|Mlle|Hr|Fr"
    r"|Sig|Dott|Ing|[Vv]s|[Cc]a|bzw|[Bb]spw|[Nn]r)\."
)
_ABBREVIATION_BEFORE_NUMBER = re.compile(
    r"(?:[Nn]os?|[Nn]úm|[Aa]rt|[Ff]ig|[Vv]ol|[Cc]h|[Pp]p|[Aa]pprox|Jan|Feb|Mar|Apr|Jun|Jul|Aug|Sept?|Oct|Nov|Dec)\."
)
_ORDINAL = re.compile(r"\d{1,2}\.")
_AFTER_ORDINAL = re.compile(
    r"(?:Januar|Jänner|Februar|März|April|Mai|Juni|Juli|August|September|Oktober|November|Dezember|Jahrhundert)\b"
)
"""German writes ordinals as 3. and its months and nouns with a capital."""


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
    if _pause(word, following) >= PAUSE_S:
        return True
    if not ends_sentence(word.text):
        return False
    text = word.text.strip().rstrip(CLOSING)
    if not text.endswith((".", "…")):
        return True
    bare = text.lstrip(_QUOTES)
    after = following.text.strip().lstrip(_QUOTES)
    if _ABBREVIATION.fullmatch(bare):
        return False
    if _ABBREVIATION_BEFORE_NUMBER.fullmatch(bare) and after[:1].isdigit():
        return False
    if _ORDINAL.fullmatch(bare) and _AFTER_ORDINAL.match(after):
        return False
    # "Well... maybe": a full stop before a small letter ends no sentence; scripts without case have none.
    return not after[:1].islower()


def _limited(words: Sequence[Word]) -> Iterator[tuple[Word, ...]]:
    """Halve a segment that is too long at the clearest break in its middle half."""
    if len(words) < 4 or words[-1].end - words[0].start <= MAX_SEGMENT_S:
        yield tuple(words)
        return
    quarter = len(words) // 4

    def clarity(index: int) -> tuple[bool, float, int]:
        left, right = words[index - 1], words[index]
        return ends_clause(left.text), _pause(left, right), -abs(2 * index - len(words))

    cut = max(range(quarter, len(words) - quarter), key=clarity)
    yield from _limited(words[:cut])
    yield from _limited(words[cut:])


def _pause(left: Word, right: Word) -> float:
    """Seconds between two words to the millisecond, so that rounding does not tell equal pauses apart."""
    return round(right.start - left.end, 3)
