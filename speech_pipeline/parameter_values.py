"""Values of requests and settings as people write them, and what is said about those that are wrong."""

import re
import unicodedata
from typing import Any

from pydantic import ValidationError

from speech_pipeline.languages import language_code

_PRIVATE = frozenset({"prompt", "hotwords", "system_prompt", "messages"})
"""Parameters that hold the caller's own text."""


def is_null(value: Any) -> bool:
    """Whether a value means "not given", in one of its spellings."""
    return value is None or (isinstance(value, str) and value.strip().lower() in ("", "none", "null"))


def lower(value: Any) -> Any:
    """Text without white space at its ends and in lower case; anything else as it is."""
    return value.strip().lower() if isinstance(value, str) else value


def switch(value: Any) -> Any:
    """``auto``, or a boolean in one of its spellings."""
    value = lower(value)
    if isinstance(value, (str, int)) and value in ("auto", "true", "false", "1", "0", "yes", "no", "on", "off", 0, 1):
        return value
    raise ValueError("must be true, false or 'auto'")


def number(value: Any) -> Any:
    """Refuse booleans, which pydantic would take for 0 and 1."""
    if isinstance(value, bool):
        raise ValueError("must be a number")
    return value.strip() if isinstance(value, str) else value


def listed(value: Any) -> Any:
    """A text of values parted by commas as a tuple of them; anything else as it is."""
    return tuple(item.strip() for item in value.split(",") if item.strip()) if isinstance(value, str) else value


def joined(value: Any) -> Any:
    """A list of texts as one text; anything else as it is."""
    if isinstance(value, (list, tuple)) and all(isinstance(word, str) for word in value):
        return " ".join(value)
    return value


def temperatures(value: Any) -> Any:
    """A list of temperatures as it is; a single number as the one to begin with, in steps of 0.2."""
    if isinstance(value, (list, tuple)):
        return tuple(number(item) for item in value)
    try:
        start = float(number(value))
    except (TypeError, ValueError, OverflowError):
        raise ValueError("must be a number from 0 to 1, or a list of them to try in turn") from None
    if not 0 <= start <= 1:
        raise ValueError("must be from 0 to 1")
    steps = round((1 - start) / 0.2 + 1e-6)
    return tuple(round(min(start + 0.2 * step, 1.0), 3) for step in range(steps + 1))


def text(value: str | None) -> str | None:
    """Refuse text that cannot be encoded (lone surrogates); blank text counts as none."""
    if value is None or not value.strip():
        return None
    try:
        value.encode()
    except UnicodeEncodeError:
        raise ValueError("must be valid Unicode text") from None
    return value.strip()


def plain_text(value: str | None) -> str | None:
    """:func:`text` without control characters other than ends of lines and tabs."""
    return value and text("".join(sign for sign in value if sign in "\n\t" or unicodedata.category(sign) != "Cc"))


def language_or_auto(value: Any) -> str | None:
    """The code of a language however it is written; ``auto`` counts as none."""
    if value is None or lower(value) == "auto":
        return None
    if not isinstance(value, str):
        raise ValueError("must be a language such as 'en', 'english' or 'pt-BR'")
    return language_code(value)


def kind(value: Any) -> str:
    """What a value is, in the words of JSON."""
    names = {str: "a string", list: "a list", bool: "a boolean", int: "a number", float: "a number", bytes: "bytes"}
    return names.get(type(value), type(value).__name__)


def sentences(error: ValidationError, *, upper: bool = False) -> str:
    """What is wrong with each field: pydantic's first finding, without its documentation links."""
    clauses: dict[str, str] = {}
    for problem in error.errors(include_url=False, include_context=False):
        name = str(problem["loc"][0]) if problem["loc"] else "parameters"
        message = re.sub(r"^(Value error,|Input|String|Tuple) ", "", problem["msg"])
        clauses.setdefault(name, f"{name.upper() if upper else name}: {message}{_shown(name, problem['input'])}")
    return "; ".join(clauses.values()) + "."


def _shown(name: str, value: Any) -> str:
    """A short value as it was given; no text of the caller's, and no number with thousands of digits."""
    if name in _PRIVATE or not isinstance(value, (str, int, float)):
        return ""
    if isinstance(value, int) and abs(value) > 10**60:
        return ""
    return f", got {value!r}" if len(repr(value)) <= 60 else ""
