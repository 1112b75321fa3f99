"""Languages as people write them, and the codes Whisper knows them by."""

import re
from collections.abc import Iterable
from functools import cache

from speech_pipeline.transcript import Segment

_ALIASES = {
    "cmn": "zh", "fil": "tl", "in": "id", "iw": "he", "jv": "jw", "mo": "ro", "nb": "no",
    "ara": "ar", "ces": "cs", "chi": "zh", "cze": "cs", "dan": "da", "deu": "de", "dut": "nl", "ell": "el", "eng": "en",
    "fas": "fa", "fin": "fi", "fra": "fr", "fre": "fr", "ger": "de", "gre": "el", "heb": "he", "hin": "hi", "hun": "hu",
    "ind": "id", "ita": "it", "jpn": "ja", "kor": "ko", "nld": "nl", "nor": "no", "per": "fa", "pol": "pl", "por": "pt",
    "ron": "ro", "rum": "ro", "rus": "ru", "spa": "es", "swe": "sv", "tha": "th", "tur": "tr", "ukr": "uk", "urd": "ur",
    "vie": "vi", "zho": "zh",
}  # fmt: skip
"""Codes in use (retired ones, macro-languages, ISO 639-2 of large languages) that Whisper has under another code."""


def language_code(language: str) -> str:
    """The code Whisper uses for a language.

    Args:
        language: an ISO 639 code, an English name, a BCP 47 tag or a POSIX locale, in any case: ``EN``, ``english``,
            ``pt-BR``, ``zh_CN``, ``de_DE.UTF-8``, ``<|fr|>``.

    Returns:
        A code such as ``en``, ``pt`` or ``yue``.

    Raises:
        ValueError: the language is unknown to Whisper.
    """
    names = _codes_by_name()
    wanted = language.strip().lower().removeprefix("<|").removesuffix("|>").strip()
    for candidate in (wanted, re.split(r"[-_.@]", wanted, maxsplit=1)[0]):
        code = _ALIASES.get(candidate, candidate)
        if code in names.values():
            return code
        if candidate in names:
            return names[candidate]
    raise ValueError("must be a language Whisper knows, as a code ('en'), a name ('english') or a tag ('pt-BR')")


def language_name(code: str) -> str:
    """The English name, in lower case, of a code that :func:`language_code` returned."""
    return next(name for name, known in _codes_by_name().items() if known == code)


def language_codes() -> tuple[str, ...]:
    """Codes of all languages a Whisper model may know."""
    return tuple(dict.fromkeys(_codes_by_name().values()))


def most_spoken(segments: Iterable[Segment]) -> str | None:
    """The language most of the speech is in; None where no segment has one."""
    seconds: dict[str, float] = {}
    for segment in segments:
        if segment.language:
            seconds[segment.language] = seconds.get(segment.language, 0.0) + segment.end - segment.start
    return max(seconds, key=lambda language: seconds[language]) if seconds else None


@cache
def _codes_by_name() -> dict[str, str]:
    # transformers takes seconds to import, so that a command that needs no model does without it.
    from transformers.models.whisper.tokenization_whisper import TO_LANGUAGE_CODE

    return dict(TO_LANGUAGE_CODE)
