"""Quantities with a symbol, times and dates, written with the names people say; the numbers in them stay digits.

Names of units and dates come from the Unicode CLDR through Babel.
"""

import datetime
import re
from collections.abc import Mapping
from decimal import Decimal
from functools import cache
from types import MappingProxyType

from babel import Locale
from babel.dates import format_date
from babel.units import format_unit

from speech_pipeline.reply.number_words import LANGUAGES, WITHOUT_SPACES

UNITS: Mapping[str, str] = MappingProxyType(
    {
        "km/h": "speed-kilometer-per-hour", "kph": "speed-kilometer-per-hour", "mph": "speed-mile-per-hour",
        "m/s": "speed-meter-per-second",
        "km²": "area-square-kilometer", "m²": "area-square-meter", "cm²": "area-square-centimeter",
        "km2": "area-square-kilometer", "m2": "area-square-meter", "ha": "area-hectare",
        "m³": "volume-cubic-meter", "m3": "volume-cubic-meter", "cm³": "volume-cubic-centimeter",
        "km": "length-kilometer", "m": "length-meter", "cm": "length-centimeter", "mm": "length-millimeter",
        "nm": "length-nanometer", "ft": "length-foot", "mi": "length-mile", "yd": "length-yard",
        "kg": "mass-kilogram", "g": "mass-gram", "mg": "mass-milligram", "lb": "mass-pound", "lbs": "mass-pound",
        "oz": "mass-ounce",
        "L": "volume-liter", "l": "volume-liter", "ml": "volume-milliliter", "mL": "volume-milliliter",
        "cl": "volume-centiliter", "tsp": "volume-teaspoon", "tbsp": "volume-tablespoon",
        "°C": "temperature-celsius", "℃": "temperature-celsius", "°F": "temperature-fahrenheit",
        "℉": "temperature-fahrenheit", "°": "angle-degree",
        "kB": "digital-kilobyte", "KB": "digital-kilobyte", "MB": "digital-megabyte", "GB": "digital-gigabyte",
        "TB": "digital-terabyte",
        "Hz": "frequency-hertz", "kHz": "frequency-kilohertz", "MHz": "frequency-megahertz",
        "GHz": "frequency-gigahertz",
        "kWh": "energy-kilowatt-hour", "kW": "power-kilowatt", "MW": "power-megawatt", "W": "power-watt",
        "V": "electric-volt", "kcal": "energy-kilocalorie",
        "ms": "duration-millisecond", "s": "duration-second", "sec": "duration-second", "min": "duration-minute",
        "h": "duration-hour", "hr": "duration-hour", "hrs": "duration-hour",
        "%": "concentr-percent", "％": "concentr-percent", "‰": "concentr-permille",
    }
)  # fmt: skip
"""CLDR's name of the unit that a symbol after a number stands for."""

CURRENCIES: Mapping[str, Mapping[str, tuple[str, str]]] = MappingProxyType(
    {
        "en": {"$": ("dollar", "dollars"), "€": ("euro", "euros"), "£": ("pound", "pounds"), "¥": ("yen", "yen"),
               "₩": ("won", "won"), "c": ("cent", "cents")},
        "fr": {"$": ("dollar", "dollars"), "€": ("euro", "euros"), "£": ("livre", "livres"), "¥": ("yen", "yens"),
               "₩": ("won", "wons"), "c": ("centime", "centimes")},
        "es": {"$": ("dólar", "dólares"), "€": ("euro", "euros"), "£": ("libra", "libras"), "¥": ("yen", "yenes"),
               "₩": ("won", "wones"), "c": ("céntimo", "céntimos")},
        "zh": {"$": ("美元",) * 2, "€": ("欧元",) * 2, "£": ("英镑",) * 2, "¥": ("元",) * 2, "₩": ("韩元",) * 2},
        "ja": {"$": ("ドル",) * 2, "€": ("ユーロ",) * 2, "£": ("ポンド",) * 2, "¥": ("円",) * 2, "₩": ("ウォン",) * 2},
        "ko": {"$": ("달러",) * 2, "€": ("유로",) * 2, "£": ("파운드",) * 2, "¥": ("엔",) * 2, "₩": ("원",) * 2},
    }
)  # fmt: skip
"""One and several of each currency; CLDR's names say of which country each time."""

_CURRENCY_CODES = {"USD": "$", "US$": "$", "EUR": "€", "GBP": "£", "JPY": "¥", "CNY": "¥", "KRW": "₩", "￥": "¥"}
_TIMES = {
    "en": ("{0} o'clock", "{0} oh {1}", "{0} {1}"),
    "fr": ("{0} heures", "{0} heures {1}", "{0} heures {1}"),
    "es": ("{0} en punto", "{0} y {1}", "{0} y {1}"),
    "zh": ("{0}点", "{0}点零{1}分", "{0}点{1}分"),
    "ja": ("{0}時", "{0}時{1}分", "{0}時{1}分"),
    "ko": ("{0}시", "{0}시 {1}분", "{0}시 {1}분"),
}
"""A full hour, minutes below ten, other minutes."""

_RANGES = {"en": " to ", "fr": " à ", "es": " a ", "zh": "到", "ja": "から", "ko": "에서 "}
_DIGITS = r"[0-9]+(?:[.,\u00a0\u202f][0-9]+)*"
_NUMBER = rf"(?<![A-Za-z0-9.,])(?:(?<![\w).\],-])[-−])?{_DIGITS}"
_NOT_WITHIN = r"(?<![A-Za-z0-9:.,/-])"
"""What stands before figures of their own; other scripts put no space there."""
_MAGNITUDE = r"(?:\s(?:hundred|thousand|million|billion|trillion)\b)?"
_CURRENCY = "|".join(map(re.escape, [*_CURRENCY_CODES, "$", "€", "£", "¥", "₩"]))

_DATE = re.compile(_NOT_WITHIN + r"([12][0-9]{3})-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])(?![A-Za-z0-9-])")
_TIME = re.compile(
    _NOT_WITHIN
    + r"([01]?[0-9]|2[0-3])(?::|\s?h\s?)([0-5][0-9])(?![A-Za-z0-9:])(?:\s?([AaPp])\.?[Mm]\b\.?(?!\s+[A-Z]))?"
)
_RANGE = re.compile(_NOT_WITHIN + r"([0-9]+)\s?[–~〜～-]\s?([0-9]+)(?![A-Za-z0-9/-]|[.,][0-9])")
_BEFORE = re.compile(rf"(?<![\w$])({_CURRENCY})\s?({_DIGITS}{_MAGNITUDE})")
_AFTER = re.compile(rf"({_NUMBER})\s?({_CURRENCY})(?!\w)")
_UNIT_SYMBOLS = "|".join(sorted(map(re.escape, UNITS), key=len, reverse=True))
_UNIT = re.compile(rf"({_NUMBER})([ \u00a0\u202f]?)({_UNIT_SYMBOLS})(?![A-Za-z0-9À-ɏ])")


def say_measures(text: str, language: str) -> str:
    """Write dates, times, ranges, sums of money and quantities of a text in words, but for their numbers.

    Languages other than those of :mod:`.number_words` are left alone.
    """
    if language not in LANGUAGES:
        return text
    text = _DATE.sub(lambda match: _date(match, language), text)
    text = _TIME.sub(lambda match: _time(match, language), text)
    text = _BEFORE.sub(lambda match: _money(match[2], match[1], language), text)
    text = _AFTER.sub(lambda match: _money(match[1], match[2], language), text)
    text = _UNIT.sub(lambda match: _quantity(match, language), text)
    return _RANGE.sub(lambda match: _range(match, language), text)


def _date(match: re.Match[str], language: str) -> str:
    try:
        date = datetime.date(int(match[1]), int(match[2]), int(match[3]))
    except ValueError:
        return match[0]
    words = format_date(date, "long", locale=_locale(language))
    suffix = "th" if language == "en" else "er" if language == "fr" and date.day == 1 else ""
    return re.sub(rf"\b{date.day}\b", f"{date.day}{suffix}", words, count=1)


def _time(match: re.Match[str], language: str) -> str:
    hour, minute = int(match[1]), int(match[2])
    template = _TIMES[language][0 if not minute else 1 if minute < 10 else 2]
    half = {"a": " AM", "p": " PM"}[match[3].lower()] if match[3] else ""
    words = str(hour) if half and not minute else template.format(hour, minute)
    return (words.replace("heures", "heure") if hour < 2 else words) + half


def _range(match: re.Match[str], language: str) -> str:
    if int(match[1]) >= int(match[2]) or (len(match[1]) != len(match[2]) and len(match[1]) > 2):
        return match[0]  # a telephone number
    return f"{match[1]}{_RANGES[language]}{match[2]}"


def _money(number: str, symbol: str, language: str) -> str:
    names = CURRENCIES[language]
    one, several = names[_CURRENCY_CODES.get(symbol, symbol)]
    space = "" if language in WITHOUT_SPACES else " "
    cents = re.fullmatch(r"([0-9]+)[.,]([0-9]{2})", number)
    if cents and "c" in names:
        part = names["c"][cents[2] != "01"]
        if int(cents[1]) == 0:
            return f"{int(cents[2])} {part}"
        name = one if int(cents[1]) == 1 else several
        return f"{cents[1]} {name}" + (f" {int(cents[2])}" if int(cents[2]) else "")
    if language in WITHOUT_SPACES:
        number = re.sub(r"(\.[0-9]*?)0+\Z", r"\1", number).rstrip(".")
    return f"{number}{space}{one if _is_one(number, language) else several}"


def _quantity(match: re.Match[str], language: str) -> str:
    number, space, symbol = match.groups()
    if symbol == "s" and not space and re.fullmatch(r"[0-9]{3}0", number):
        return match[0]  # the 1990s
    if language in ("zh", "ko") and symbol in "%％":  # CLDR leaves the sign
        return f"百分之{number}" if language == "zh" else f"{number}퍼센트"
    value = Decimal(1 if _is_one(number, language) else 2)
    # The name of the unit in its right form; the number stays as it was written.
    return format_unit(value, UNITS[symbol], "long", locale=_locale(language)).replace(str(value), number, 1)


def _is_one(number: str, language: str) -> bool:
    """Whether the name of what is counted is in the singular."""
    digits = number.lstrip("-−").replace(",", ".")
    return digits == "1" or (language == "fr" and digits.partition(".")[0] in ("0", "1") and digits.count(".") < 2)


@cache
def _locale(language: str) -> Locale:
    return Locale.parse("zh_Hans" if language == "zh" else language)
