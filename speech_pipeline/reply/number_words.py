"""Numbers in words, by the rules of the Unicode CLDR, and the few rules of use that it leaves to the writer."""

import re
from functools import cache

from unicode_rbnf import FormatPurpose, RbnfEngine

LANGUAGES = ("en", "fr", "es", "zh", "ja", "ko")
"""Languages whose numbers can be said."""

WITHOUT_SPACES = frozenset({"zh", "ja", "ko"})
"""Those that write no space beside a number."""

MAX_DIGITS = 15
"""Longer numbers are read digit by digit."""

_DECIMAL_WORDS = {"en": "point", "fr": "virgule", "es": "coma", "zh": "点", "ja": "点", "ko": "점"}
_MINUS_WORDS = {"en": "minus", "fr": "moins", "es": "menos", "zh": "负", "ja": "マイナス", "ko": "마이너스"}
_GROUP_MARKS = {"en": ",", "fr": "\u00a0\u202f ", "es": ".\u00a0\u202f ", "zh": ",", "ja": ",", "ko": ","}
_DECIMAL_MARKS = {"en": ".", "fr": ",.", "es": ",.", "zh": ".", "ja": ".", "ko": "."}
_ORDINAL_SUFFIXES = {
    "en": {"st": "ordinal", "nd": "ordinal", "rd": "ordinal", "th": "ordinal"},
    "fr": {
        **dict.fromkeys(("er", "e", "ème", "eme"), "ordinal-masculine"),
        **dict.fromkeys(("re", "ère"), "ordinal-feminine"),
    },
    "es": {
        **dict.fromkeys((".º", "º", ".er", "er"), "ordinal-masculine"),
        **dict.fromkeys((".ª", "ª"), "ordinal-feminine"),
    },
    "ko": {"번째": "ordinal-native-count"},
}
"""Ends of the names of CLDR's rule sets by what follows the digits."""

_PARTS = {
    "en": {2: "half", 4: "quarter"},
    "fr": {2: "demi", 3: "tiers", 4: "quart"},
    "es": {2: "medio", 3: "tercio", 4: "cuarto"},
}
"""Denominators that are no ordinals."""

_PART_OF = {"zh": "{1}分之{0}", "ja": "{1}分の{0}", "ko": "{1}분의 {0}"}

_MEASURES_AFTER_TWO = "个只本张条位次天年周小辆座杯块元米公千升度"
"""Characters that begin a Chinese measure word, before which two is 两."""

_FEMININE = {
    "fr": re.compile(r"\s+(?:heure|minute|seconde|livre|tonne|page|personne|fois|semaine|année)"),
    "es": re.compile(r"\s+(?:hora|libra|milla|tonelada|página|persona|vez|semana|onza)"),
}
"""Frequent feminine words after a number."""

_NATIVE_COUNTERS = re.compile(
    r"\s*(?:개(?!월)|명|살|마리|권|잔|대|장|병|사람|번(?!호)|가지|군데|그루|켤레|시간|시(?!속))"
)
"""Korean counters, which take native numbers."""


def say_numbers(text: str, language: str) -> str:
    """Replace every number of a text, its sign and the suffix of an ordinal, by words; other languages are left alone.

    Numbers are read as the language writes them: ``1,234.5`` in English is ``1.234,5`` in Spanish.
    """
    if language not in LANGUAGES:
        return text
    space = "" if language in WITHOUT_SPACES else " "

    def said(match: re.Match[str]) -> str:
        before, after = match.string[: match.start()], match.string[match.end() :]
        words = _words(match, language, after)
        left = space if before[-1:].isalpha() else ""
        right = space if after[:1].isalpha() else ""
        return left + (_MINUS_WORDS[language] + space if match["minus"] else "") + words + right

    return _pattern(language).sub(said, text)


def cardinal(digits: str, language: str, form: str = "") -> str:
    """A whole number in words, digit by digit where it begins with 0 or is very long.

    Args:
        digits: decimal digits.
        language: one of :data:`LANGUAGES`.
        form: end of the name of one of CLDR's rule sets, such as ``cardinal-masculine``.
    """
    if len(digits) > MAX_DIGITS or (len(digits) > 1 and digits.startswith("0")):
        space = "" if language in WITHOUT_SPACES else " "
        return space.join(cardinal(digit, language) for digit in digits)
    form = form or ("cardinal-sinokorean" if language == "ko" else "numbering")
    words = _engine(language).format_number(int(digits)).text_by_ruleset[f"spellout-{form}"]
    return words.replace("〇", "ゼロ" if language == "ja" else "零")


@cache
def _pattern(language: str) -> re.Pattern[str]:
    group, decimal = re.escape(_GROUP_MARKS[language]), re.escape(_DECIMAL_MARKS[language])
    suffixes = sorted(_ORDINAL_SUFFIXES.get(language, {"(?!)": ""}), key=len, reverse=True)
    suffix = "|".join(suffix.replace(".", r"\.") for suffix in suffixes)
    after = "" if language in WITHOUT_SPACES else r"(?!\w)"
    return re.compile(
        r"(?P<minus>(?<![\w)\].,-])[-−])?(?:"
        r"(?P<version>[0-9]+(?:\.[0-9]+){2,})"
        r"|(?P<numerator>(?<![0-9/])[1-9])[/⁄](?P<denominator>10|[2-9])(?![0-9/])"
        rf"|(?P<whole>[0-9]{{1,3}}(?:[{group}][0-9]{{3}})+(?![0-9])|[0-9]+)(?:[{decimal}](?P<fraction>[0-9]+))?"
        rf"(?:\s?(?P<suffix>{suffix}){after}|(?<=[0-9]0)(?P<decade>{'s' if language == 'en' else '(?!)'})(?!\w))?)"
    )


def _words(match: re.Match[str], language: str, after: str) -> str:
    space, point = "" if language in WITHOUT_SPACES else " ", _DECIMAL_WORDS[language]
    if match["version"]:
        return f"{space}{point}{space}".join(cardinal(part, language) for part in match["version"].split("."))
    if match["numerator"]:
        return _fraction(match["numerator"], match["denominator"], language)
    whole = re.sub(r"[^0-9]", "", match["whole"])
    if match["fraction"]:
        digits = (cardinal(digit, language) for digit in match["fraction"])
        return space.join([cardinal(whole, language), point, *digits])
    if match["decade"]:
        return re.sub(r"y\Z", "ie", _whole(whole, language, after, grouped=False)) + "s"
    if match["suffix"]:
        form = _ORDINAL_SUFFIXES[language][match["suffix"]]
        return _engine(language).format_number(int(whole), FormatPurpose.ORDINAL).text_by_ruleset[f"spellout-{form}"]
    return _whole(whole, language, after, grouped=whole != match["whole"])


def _whole(digits: str, language: str, after: str, *, grouped: bool) -> str:
    """A whole number, in the form that what follows it asks for."""
    if language == "en" and not grouped and re.fullmatch(r"1[1-9]\d\d|20\d\d", digits):
        return _engine("en").format_number(int(digits), FormatPurpose.YEAR).text
    if language in _FEMININE and _FEMININE[language].match(after):
        return cardinal(digits, language, "cardinal-feminine")
    if language == "es" and re.match(r"\s+[^\W\d]", after):
        return cardinal(digits, "es", "cardinal-masculine")  # un libro, veintiún libros
    if language == "ko" and 0 < len(digits) < 3 and _NATIVE_COUNTERS.match(after):
        is_24_hour_time = int(digits) > 12 and re.match(r"\s*시(?!간)", after)
        return cardinal(digits, "ko", "" if is_24_hour_time else "cardinal-native-attributive")
    if language == "zh" and len(digits) == 4 and after.startswith("年"):
        return "".join(cardinal(digit, "zh") for digit in digits)
    if language == "zh" and digits == "2" and after[:1] in tuple(_MEASURES_AFTER_TWO):
        return "两"
    return cardinal(digits, language)


def _fraction(numerator: str, denominator: str, language: str) -> str:
    """``3/4`` as people say it."""
    if language in _PART_OF:
        return _PART_OF[language].format(cardinal(numerator, language), cardinal(denominator, language))
    plural = int(numerator) > 1
    part = _PARTS[language].get(int(denominator))
    if part is None:
        form = "ordinal" if language == "en" else "ordinal-masculine"
        ordinals = _engine(language).format_number(int(denominator), FormatPurpose.ORDINAL).text_by_ruleset
        part = ordinals[f"spellout-{form}"]
    if plural:
        part = "halves" if part == "half" else part if part.endswith("s") else part + "s"
    one = "un" if language in ("fr", "es") else "one"
    return f"{cardinal(numerator, language) if plural else one} {part}"


@cache
def _engine(language: str) -> RbnfEngine:
    return RbnfEngine.for_language(language)
