"""The language of short texts."""

import pytest

from speech_pipeline.reply.text_language import TextLanguageDetector

TEXTS = {
    "en": [
        "What time is it?",
        "Tell me a joke",
        "How far is the moon?",
        "What does 你好 mean?",
        "Hello",
        "OK",
        "42",
        "👍",
    ],
    "fr": ["Quelle heure est-il ?", "Raconte-moi une blague", "Bonjour", "Où est Paris ?"],
    "es": ["¿Qué hora es?", "Cuéntame un chiste", "Gracias", "Buenos días"],
    "zh": ["现在几点？", "你好", "iPhone 多少钱？"],
    "ja": ["今何時ですか？", "こんにちは", "カタカナ", "iPhoneはいくらですか"],
    "ko": ["지금 몇 시예요?", "안녕하세요"],
}


@pytest.mark.parametrize(("language", "text"), [(language, text) for language in TEXTS for text in TEXTS[language]])
def test_six_languages(detector: TextLanguageDetector, language: str, text: str) -> None:
    assert detector.detect(text) == language


def test_only_languages_to_choose_from_are_told() -> None:
    english = TextLanguageDetector(("en",))
    assert [english.detect(text) for text in ("Où est Paris ?", "你好", "")] == ["en"] * 3
    assert TextLanguageDetector(("fr",)).detect("你好") == "fr"
    assert TextLanguageDetector(("ja", "fr")).detect("空はなぜ青い？") == "ja"


def test_there_must_be_something_to_choose_from() -> None:
    with pytest.raises(ValueError, match="language"):
        TextLanguageDetector(())
