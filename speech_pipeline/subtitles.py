"""Transcript -> subtitle cues: what is on the screen when, and where its lines break.

Limits follow common broadcasting practice: two lines of 42 columns, about 20 columns a second, 0.8 to 7 seconds a cue.
Chinese, Japanese and Korean characters count for more columns, so that 18 of them fill a line.
"""

import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, groupby, pairwise

from speech_pipeline.punctuation import ends_clause, ends_sentence
from speech_pipeline.transcript import Segment, Transcript

LINE_WIDTH = 42.0
"""Columns of a line."""

WIDE_CHARACTER_WIDTH = LINE_WIDTH / 18
"""Columns a Chinese, Japanese or Korean character counts for."""

READING_SPEED = 20.0
"""Columns a viewer reads in a second."""

MIN_CUE_S = 0.8
MAX_CUE_S = 7.0
FRAME_S = 0.04
"""The shortest cue, for when many words have the same time."""

PAUSE_S = 1.5
"""Silence between two words that always ends a cue."""

SENTENCE_BREAK = 12.0
CLAUSE_BREAK = 6.0
"""Columns by which the two lines may differ more where the first ends with a sentence or clause."""

_TOKEN = re.compile(r"\S+")
_UNSPACED_SCRIPT = re.compile("[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff]{2}")  # Thai, Lao, Burmese, Khmer
_NO_LINE_START = frozenset(".,;:?!…。．，、？！；：)]}」』）】》〉”’»ーっゃゅょッャュョァィゥェォぁぃぅぇぉ々")
_NO_LINE_END = frozenset("([{「『（【《〈“‘«\u200d")


@dataclass(frozen=True, slots=True)
class Cue:
    """Text on the screen from ``start`` to ``end`` (seconds), one or two lines, without any markup."""

    start: float
    end: float
    lines: tuple[str, ...]
    speaker: str | None = None


@dataclass(frozen=True, slots=True)
class _Token:
    """What is never broken: a word with its punctuation, or one wide character."""

    text: str
    start: float
    end: float
    spaced: bool
    speaker: str | None

    @property
    def width(self) -> float:
        return display_width(self.text)


def layout(transcript: Transcript, *, name_speakers: bool = False) -> tuple[Cue, ...]:
    """Cues in order of time, none overlapping another; no cue holds two speakers.

    Only a single word wider than a line makes a line longer than the limit. A cue stays on in the silence after it
    until it can be read.

    Args:
        transcript: times come from its words, or are spread over its segments where those have none.
        name_speakers: begin each cue with ``"SPEAKER_00: "`` where the speaker is known.
    """
    segments = transcript.speaker_segments or transcript.segments
    tokens = [token for segment in segments for token in _tokens(segment)]
    cues: list[Cue] = []
    for run in _runs(tokens):
        speaker = run[0].speaker
        label = [_Token(f"{' '.join(speaker.split())}:", 0.0, 0.0, True, speaker)] if name_speakers and speaker else []
        while run:
            taken = _cue_length(label, run)
            start, end = run[0].start, run[taken - 1].end
            cues.append(Cue(start, max(start, end), _lines([*label, *run[:taken]]), speaker))
            run = run[taken:]
    return _timed(cues, transcript.duration)


def display_width(text: str) -> float:
    """Columns the text takes on the screen; combining marks take none."""
    if text.isascii():
        return float(len(text))
    return sum(
        WIDE_CHARACTER_WIDTH if _is_wide(c) else 0.0 if unicodedata.category(c) in ("Mn", "Me", "Cf") else 1.0
        for c in text
    )


def _is_wide(character: str) -> bool:
    return unicodedata.east_asian_width(character) in "WF"


def _tokens(segment: Segment) -> Iterator[_Token]:
    """The words of a segment, or its text with its time spread by display width."""
    spoken = segment.words if "".join(word.text for word in segment.words) == segment.text else ()
    token: _Token | None = None
    for part in spoken or (segment,):
        pieces = list(_pieces(part.text))
        widths = list(accumulate((display_width(text) for text, _ in pieces), initial=0.0))
        scale = max(0.0, part.end - part.start) / (widths[-1] or 1.0)
        for (text, spaced), (before, after) in zip(pieces, pairwise(widths), strict=True):
            start, end = part.start + before * scale, part.start + after * scale
            if token is None:
                token = _Token(text, start, end, spaced or not _is_wide(text[0]), segment.speaker)
            elif spaced or _breaks(token.text[-1], text[0], between_words=True):
                yield token
                token = _Token(text, start, end, spaced, segment.speaker)
            else:
                token = replace(token, text=token.text + text, end=end)
    if token is not None:
        yield token


def _pieces(text: str) -> Iterator[tuple[str, bool]]:
    """Unbreakable pieces and whether white space stands before each."""
    for match in _TOKEN.finditer(text):
        spaced = match.start() > 0
        piece = ""
        for character in match.group():
            if piece and _breaks(piece[-1], character):
                yield piece, spaced
                piece, spaced = "", False
            piece += character
        yield piece, spaced


def _breaks(before: str, after: str, *, between_words: bool = False) -> bool:
    """Whether a line may break between two characters without white space.

    It may beside Chinese and Japanese characters, and between words of the other scripts that write no spaces.
    """
    if before in _NO_LINE_END or after in _NO_LINE_START or display_width(after) == 0:
        return False
    if between_words and _UNSPACED_SCRIPT.match(before + after):
        return True
    return any(_is_wide(character) and not "\uac00" <= character <= "\ud7a3" for character in (before, after))


def _runs(tokens: Sequence[_Token]) -> Iterator[list[_Token]]:
    """Tokens cut at changes of speaker and at long pauses."""
    for _, same_speaker in groupby(tokens, key=lambda token: token.speaker):
        run: list[_Token] = []
        for token in same_speaker:
            if run and token.start - run[-1].end >= PAUSE_S:
                yield run
                run = []
            run.append(token)
        yield run


def _cue_length(label: list[_Token], run: Sequence[_Token]) -> int:
    """How many tokens go into the next cue: up to a sentence end in the second line, else as many as fit well."""
    width = 0.0
    for count in range(1, len(run)):
        width += run[count - 1].width + run[count - 1].spaced
        if width > LINE_WIDTH and ends_sentence(run[count - 1].text):
            return count
        too_long = run[count].end - run[0].start > MAX_CUE_S
        if too_long or not _fits([*label, *run[: count + 1]]):
            candidates = range(max(1, count // 3), count + 1)
            return max(candidates, key=lambda length: (_break_quality(run[length - 1], run[length]), length))
    return len(run)


def _break_quality(before: _Token, after: _Token) -> float:
    """How well a cue ends between two tokens: sentence end, then pause, then comma; never inside a wide-script word."""
    pause = max(0.0, after.start - before.end)
    if ends_sentence(before.text):
        return 10.0
    return min(pause, PAUSE_S) * 4 + (2.0 if ends_clause(before.text) else 1.0 if after.spaced else 0.0)


def _fits(tokens: Sequence[_Token]) -> bool:
    return all(display_width(line) <= LINE_WIDTH for line in _lines(tokens))


def _lines(tokens: Sequence[_Token]) -> tuple[str, ...]:
    """One line if the tokens fit in it, else two: of about the same width, or broken after punctuation."""
    whole = _join(tokens)
    total = display_width(whole)
    if len(tokens) == 1 or total <= LINE_WIDTH:
        return (whole,)
    best, lowest = 1, float("inf")
    for index, width in enumerate(accumulate(token.width + token.spaced for token in tokens[:-1]), start=1):
        wider = max(width, total - width)
        text = tokens[index - 1].text
        bonus = SENTENCE_BREAK if ends_sentence(text) else CLAUSE_BREAK if ends_clause(text) else 0.0
        badness = wider - bonus if wider <= LINE_WIDTH and index > 1 else wider
        if badness < lowest:
            best, lowest = index, badness
    return (_join(tokens[:best]), _join(tokens[best:]))


def _join(tokens: Sequence[_Token]) -> str:
    return "".join(" " * (token.spaced and index > 0) + token.text for index, token in enumerate(tokens))


def _timed(cues: Sequence[Cue], duration: float) -> tuple[Cue, ...]:
    """The cues with times in order, long enough to be read where the next cue and the recording leave the time."""
    starts: list[float] = []
    for index, cue in enumerate(cues):
        earliest = 0.0
        if index:
            earliest = starts[-1] + min(max(cues[index - 1].end - starts[-1], FRAME_S), MIN_CUE_S)
        starts.append(max(cue.start, earliest))
    timed = []
    for index, (cue, start) in enumerate(zip(cues, starts, strict=True)):
        reading = sum(map(display_width, cue.lines)) / READING_SPEED
        limit = starts[index + 1] if index + 1 < len(cues) else max(duration, cue.end, start + FRAME_S)
        end = max(cue.end, start + max(reading, MIN_CUE_S))
        timed.append(replace(cue, start=round(start, 3), end=round(min(end, start + MAX_CUE_S, limit), 3)))
    return tuple(timed)
