"""The language of a text: scripts tell Chinese, Japanese and Korean apart, py3langid the rest."""

import unicodedata
from collections.abc import Collection

from py3langid.langid import MODEL_FILE, LanguageIdentifier

DEFAULT_LANGUAGE = "en"
"""What is taken where a text tells nothing, if it may be."""

MIN_PROBABILITY = 0.5
"""Below this probability the text tells nothing; greetings of one word do that."""

_LETTERS_PER_CHARACTER = 3
"""What one East Asian character weighs beside letters of names such as iPhone."""


class TextLanguageDetector:
    """Tells which of a few languages a text is in."""

    def __init__(self, languages: Collection[str]) -> None:
        """Load the model of py3langid, about half a second.

        Args:
            languages: codes of the languages to choose from, such as those of a voice; one at least.
        """
        if not languages:
            raise ValueError("there must be a language to choose")
        self._languages = frozenset(languages)
        self._default = DEFAULT_LANGUAGE if DEFAULT_LANGUAGE in self._languages else sorted(self._languages)[0]
        self._identifier = LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)
        known = self._languages & set(self._identifier.labels) - {"zh", "ja", "ko"}
        self._identifier.set_languages(sorted(known) or None)

    def detect(self, text: str) -> str:
        """The likeliest of the languages."""
        by_script = _by_script(text)
        if by_script in self._languages:
            return str(by_script)
        language, probability = self._identifier.classify(text)
        return str(language) if probability >= MIN_PROBABILITY and language in self._languages else self._default


def _by_script(text: str) -> str | None:
    """The language of the East Asian script most letters are in; kana among Chinese characters make Japanese."""
    scripts = [unicodedata.name(character, "").partition(" ")[0] for character in text if character.isalpha()]
    han, kana, hangul = (
        sum(script in names for script in scripts)
        for names in (("CJK",), ("HIRAGANA", "KATAKANA", "HALFWIDTH"), ("HANGUL",))
    )
    east_asian = han + kana + hangul
    if _LETTERS_PER_CHARACTER * east_asian <= len(scripts) - east_asian:
        return None
    if hangul > han + kana:
        return "ko"
    return "ja" if kana else "zh"
