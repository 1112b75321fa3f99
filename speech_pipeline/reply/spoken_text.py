"""Written text made ready for a voice: no Markdown, no emoji, and in words whatever is written in figures and signs."""

import re
import unicodedata
from collections.abc import Mapping
from types import MappingProxyType

from speech_pipeline.reply.abbreviations import expand_abbreviations
from speech_pipeline.reply.markdown_text import MarkdownReader
from speech_pipeline.reply.measures import say_measures
from speech_pipeline.reply.number_words import say_numbers

SYMBOLS: Mapping[str, Mapping[str, str]] = MappingProxyType(
    {
        "en": {"&": "and", "+": "plus", "=": "equals", "×": "times", "÷": "divided by", "±": "plus or minus",
               "≈": "about", "<": "less than", ">": "greater than", "≤": "at most", "≥": "at least", "→": "to",
               "№": "number", "#": "number", "@": "at", ".": "dot", "%": "percent", "²": "squared"},
        "fr": {"&": "et", "+": "plus", "=": "égale", "×": "fois", "÷": "divisé par", "±": "plus ou moins",
               "≈": "environ", "<": "inférieur à", ">": "supérieur à", "≤": "au plus", "≥": "au moins", "→": "vers",
               "№": "numéro", "#": "numéro", "@": "arobase", ".": "point", "%": "pour cent", "²": "au carré"},
        "es": {"&": "y", "+": "más", "=": "es igual a", "×": "por", "÷": "dividido por", "±": "más o menos",
               "≈": "aproximadamente", "<": "menor que", ">": "mayor que", "≤": "como máximo", "≥": "al menos",
               "→": "a", "№": "número", "#": "número", "@": "arroba", ".": "punto", "%": "por ciento",
               "²": "al cuadrado"},
        "zh": {"&": "和", "+": "加", "=": "等于", "×": "乘以", "÷": "除以", "±": "正负", "≈": "约", "<": "小于",
               ">": "大于", "≤": "不超过", "≥": "不少于", "→": "到", "№": "第", "#": "第", "@": "艾特", ".": "点",
               "%": "百分比", "²": "的平方"},
        "ja": {"&": "と", "+": "たす", "=": "は", "×": "かける", "÷": "わる", "±": "プラスマイナス", "≈": "約",
               "<": "は次より小さい、", ">": "は次より大きい、", "≤": "以下", "≥": "以上", "→": "から", "№": "ナンバー",
               "#": "ナンバー", "@": "アット", ".": "ドット", "%": "パーセント", "²": "の二乗"},
        "ko": {"&": "그리고", "+": "더하기", "=": "는", "×": "곱하기", "÷": "나누기", "±": "플러스마이너스", "≈": "약",
               "<": "보다 작은", ">": "보다 큰", "≤": "이하", "≥": "이상", "→": "에서", "№": "번호", "#": "번호",
               "@": "골뱅이", ".": "점", "%": "퍼센트", "²": "제곱"},
    }
)  # fmt: skip
"""What signs are read as."""

_NARROW = {wide: wide - 0xFEE0 for wide in (*range(0xFF10, 0xFF1A), *range(0xFF21, 0xFF3B), *range(0xFF41, 0xFF5B))}
"""Full-width digits and letters to those of ASCII."""

_ADDRESS = re.compile(
    r"(?:https?://|(?=www\.))(?:www\.)?([\w-]+(?:\.[\w-]+)+)(?::[0-9]+)?(?:[/?#][^\s)\]>]*(?<![.,!?;:]))?"
)
_MAIL = re.compile(r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+")
_BARE_HOST = re.compile(
    r"(?<![\w.@])[a-z0-9-]+(?:\.[a-z0-9-]+)*\.(?:com|org|net|edu|gov|info|io|ai|dev|fr|es|cn|jp|kr|eu|uk)(?![\w.-]*\w)"
)
_TIMES_SIGN = re.compile(r"(?<=[0-9])\s?[*x]\s?(?=[0-9])")
_ABOUT = re.compile(r"[~～](?=[0-9])")
_TILDE = re.compile(r"[~〜～]+")
_NUMBER_SIGN = re.compile(r"#(?=[0-9])")
_HASHTAG = re.compile(r"#(?=\w)")
_COMPARISON = re.compile(r"(?<=[\w)])\s?([<>=+])\s?(?=[\w(])")
_SLASH = re.compile(r"(?<=\w)/(?=\w)")
_SMILEY = re.compile(r"(?<![\w.])(?:[:;]['’]?-?[)(DPpOo|/\\\]\[*]|=-?[)DP])(?!\w)|(?<!\w)<3(?=\s*[.!?]*\Z)|\^_?\^")
_SPACE_BEFORE_MARK = re.compile(r"\s+(?=[.,!?)\]}。，、！？])")
_SPACE_BETWEEN_WIDE = re.compile(r"(?<=[\u3000-\u9fff\uff00-\uffef])\s+(?=[\u3000-\u9fff\uff00-\uffef])")
_LEADING_MARKS = re.compile(r"\A[\s.,;:!?…、。，！？·•|/\\)\]}>»”’-]+")


class SpokenText:
    """Turns one text, piece by piece, into what a voice should say."""

    def __init__(self, language: str | None) -> None:
        """Begin a text.

        Args:
            language: code of its language; figures and signs are put in words in en, fr, es, zh, ja and ko.
        """
        self._language = language or ""
        self._markdown = MarkdownReader()

    def say(self, piece: str) -> str:
        """What to say for the next piece; empty where there is nothing to say."""
        text = unicodedata.normalize("NFC", piece).translate(_NARROW)
        text = _in_words(self._markdown.read(text), self._language)
        return text if any(character.isalnum() for character in text) else ""


def spoken_text(text: str, language: str | None) -> str:
    """What a voice should say for a text that is there as a whole."""
    return SpokenText(language).say(text)


def _in_words(text: str, language: str) -> str:
    symbols = SYMBOLS.get(language, {})
    text = _addresses(text, symbols)
    text = _SMILEY.sub("", text)
    text = expand_abbreviations(text, language)
    text = say_measures(text, language)
    text = _signs(text, symbols)
    text = _SLASH.sub(" ", say_numbers(_without_pictures(text), language))
    text = _SPACE_BEFORE_MARK.sub("", " ".join(text.split()))
    if language in ("zh", "ja"):
        text = _SPACE_BETWEEN_WIDE.sub("", text)
    return _LEADING_MARKS.sub("", text)


def _addresses(text: str, symbols: Mapping[str, str]) -> str:
    """Addresses as they are dictated; of a web address only the host."""
    at, dot = (f" {symbols.get(sign, sign)} " for sign in "@.")

    def mail(match: re.Match[str]) -> str:
        return match[0].replace("@", at).replace(".", dot)

    text = _MAIL.sub(mail, text)
    text = _ADDRESS.sub(lambda match: match[1].replace(".", dot), text)
    return _BARE_HOST.sub(lambda match: match[0].replace(".", dot), text)


def _signs(text: str, symbols: Mapping[str, str]) -> str:
    text = _TILDE.sub("", _ABOUT.sub("≈", _TIMES_SIGN.sub("×", text)))
    if symbols:
        text = _NUMBER_SIGN.sub(f"{symbols['#']} ", text)
        text = _COMPARISON.sub(lambda match: f" {symbols[match[1]]} ", text)
        for sign in "&×÷±≈≤≥→№%²":
            text = text.replace(sign, f" {symbols[sign]} ")
    return _HASHTAG.sub("", text)


def _without_pictures(text: str) -> str:
    """Without emoji, other pictures, and characters that cannot be seen; ``½`` as ``1/2``."""
    kept = []
    for character in text:
        category = unicodedata.category(character)
        if category in ("So", "Cn", "Co", "Cs", "Cc", "Cf", "Me") or "\ufe00" <= character <= "\ufe0f":
            kept.append(" " if character.isspace() or category == "So" else "")
        elif category == "Sk" and character > "\u1000":  # skin tones
            continue
        else:
            kept.append(unicodedata.normalize("NFKC", character) if category == "No" else character)
    return "".join(kept)
