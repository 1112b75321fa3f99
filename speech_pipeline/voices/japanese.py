"""Japanese text -> the kana it is read as."""

import threading
import unicodedata

from fugashi import Tagger

_SPOKEN_PARTICLES = {"ハ": "ワ", "ヘ": "エ", "ヲ": "オ"}
"""Particles are not said as they are written."""


class JapaneseReading:
    """Reads Japanese with MeCab and UniDic (fugashi, unidic-lite)."""

    def __init__(self) -> None:
        self._tagger = Tagger()
        self._lock = threading.Lock()  # a tagger reads one text at a time

    def kana(self, text: str) -> str:
        """The text in katakana; what has no reading, such as Latin letters, digits and punctuation, stays."""
        with self._lock:
            return "".join(_reading(word) for word in self._tagger(unicodedata.normalize("NFKC", text)))


def _reading(word: object) -> str:
    feature = word.feature  # type: ignore[attr-defined]
    kana = str(feature.kana or "")
    if feature.pos1 == "助詞":
        kana = _SPOKEN_PARTICLES.get(kana, kana)
    return str(word.white_space) + (kana if kana.strip() else str(word.surface))  # type: ignore[attr-defined]
