"""Text -> the words that are compared, so that spelling, punctuation and ways to write numbers are no errors.

The rules are those of the Whisper paper (Radford et al. 2022, appendix C), as transformers has them: the English ones
for English, the basic ones for the rest. Added to them are numbers: digits that stand side by side are one number, as
Whisper's English rules have it for number words ("one two three" and "1 2 3" are both "123"), and number words of other
languages become digits where text2num knows the language.
"""

import json
import re
from collections.abc import Callable
from functools import cache
from importlib.resources import files
from itertools import groupby

SPACELESS_LANGUAGES = frozenset({"ja", "lo", "my", "th", "yue", "zh"})
"""Languages written without spaces between words, by Whisper's code; they are compared by character."""

NUMBER_WORD_LANGUAGES = frozenset({"da", "de", "es", "fr", "it", "nl", "pt"})
"""Languages besides English whose number words text2num turns into digits."""

Normalizer = Callable[[str], str]
"""Text to words parted by single spaces; to characters parted by spaces in languages without them."""


def normalizer(*languages: str) -> Normalizer:
    """The rules of a language.

    Args:
        languages: codes of the languages that are spoken; none where they are not known. Of several, number words of
            each become digits, and the rest follows the basic rules.
    """
    if languages == ("en",):
        return _english()
    if len(languages) == 1 and languages[0] in SPACELESS_LANGUAGES:
        return _basic(split_letters=True)
    basic = _basic(split_letters=False)
    counting = [language for language in languages if language == "en" or language in NUMBER_WORD_LANGUAGES]

    def normalize(text: str) -> str:
        for language in counting:
            text = _digits(text, language)
        return _join_digits(basic(_join_thousands(text)))

    return normalize


@cache
def _english() -> Normalizer:
    from transformers.models.whisper.english_normalizer import EnglishTextNormalizer

    # The mapping of British to American spelling is a file of the Whisper models, which not every model folder holds.
    spelling = (files("whisper_normalizer") / "normalizers" / "english.json").read_text(encoding="utf-8")
    english = EnglishTextNormalizer(json.loads(spelling))

    def normalize(text: str) -> str:
        # Whisper's rule writes a 1 that stands alone as a word; beside digits it is one of them.
        words = re.sub(r"\bone\b(?= \d)|(?<=\d )one\b", "1", english(text))
        # A full stop of an ellipsis at the end, or a sign of money or per cent alone, is left over.
        return _join_digits(" ".join(word for word in words.split() if any(map(str.isalnum, word))))

    return normalize


@cache
def _basic(*, split_letters: bool) -> Normalizer:
    from transformers.models.whisper.english_normalizer import BasicTextNormalizer

    basic = BasicTextNormalizer(split_letters=split_letters)
    return lambda text: " ".join(basic(text).split())


def _digits(text: str, language: str) -> str:
    """Number words as digits; articles that are number words too ("una") also, on both sides alike."""
    from text_to_num import alpha2digit

    return str(alpha2digit(text.lower(), language, threshold=0))


def _join_thousands(text: str) -> str:
    """``1.000``, ``1,000`` and ``1'000`` as ``1000``; also with a space that does not break the line."""
    return re.sub(r"(?<=\d)[.,'’\u00a0\u202f](?=\d{3}(?!\d))", "", text)


def _join_digits(text: str) -> str:
    """Numbers that stand side by side as one."""
    runs = groupby(text.split(), key=str.isdecimal)
    return " ".join("".join(run) if decimal else " ".join(run) for decimal, run in runs)
