"""Text and its words -> tokens: the normalised words that are compared, each with its speaker and time."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from speech_pipeline.evaluation.normalization import Normalizer
from speech_pipeline.evaluation.word_errors import align


@dataclass(frozen=True, slots=True)
class Token:
    """A normalised word, or a character in languages without spaces.

    Attributes:
        text: what is compared, without white space.
        speaker: label of who says it; None where it is not known.
        start: seconds; None where it is not known, and for all but the first token of a word.
    """

    text: str
    speaker: str | None = None
    start: float | None = None


def tokenize(text: str, normalize: Normalizer, words: Iterable[Token] = ()) -> tuple[Token, ...]:
    """Normalise a text as a whole, and give each token what is known about its word.

    The whole text is normalised, because a number may take several words. The words are normalised one by one as well,
    and aligned with the tokens: a token that came from several words has speaker and time of the first of them, one
    that came from none has the speaker of the token before it.

    Args:
        text: what is said.
        normalize: the rules of its language.
        words: the words of the text as they are written, with speakers and times.
    """
    words = tuple(words)
    normalised = {written: normalize(written).split() for written in {word.text for word in words}}
    pieces = [
        Token(piece, word.speaker, None if number else word.start)
        for word in words
        for number, piece in enumerate(normalised[word.text])
    ]
    return tuple(_with_sources(normalize(text).split(), pieces))


def _with_sources(texts: Sequence[str], pieces: Sequence[Token]) -> Iterable[Token]:
    source = Token("")
    merged: int | None = None  # first piece of those that have no token yet
    for piece, index in align([piece.text for piece in pieces], texts):
        if index is None:
            merged = piece if merged is None else merged
            continue
        if piece is None:
            source = Token("", source.speaker)
        elif merged is not None and pieces[piece].text != texts[index]:
            source = pieces[merged]
        else:
            source = pieces[piece]
        merged = None
        yield Token(texts[index], source.speaker, source.start)
