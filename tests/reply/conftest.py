"""What the tests of replies share."""

import pytest

from speech_pipeline.reply.text_language import TextLanguageDetector


@pytest.fixture(scope="session")
def detector() -> TextLanguageDetector:
    return TextLanguageDetector(("en", "fr", "es", "zh", "ja", "ko"))
