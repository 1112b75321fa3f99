"""The starter voice."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from speech_pipeline.errors import UnknownVoice, UnsupportedByModel
from speech_pipeline.voices.engine_voice import EngineVoice
from speech_pipeline.voices.hibari import HibariEngine
from tests.voices.difficult_texts import DIFFICULT_TEXTS

SENTENCE = "The train to the city leaves at nine in the morning."


@pytest.fixture(scope="module")
def voice() -> EngineVoice:
    return EngineVoice(HibariEngine())


def test_it_speaks_english_at_a_usual_pace(voice: EngineVoice) -> None:
    speech = voice.synthesize(SENTENCE, "en")
    assert speech.sampling_rate == 24_000
    assert 2.0 < speech.duration < 5.0
    assert speech.warnings == ()


def test_equal_calls_give_equal_samples_from_several_threads(voice: EngineVoice) -> None:
    expected = voice.synthesize(SENTENCE, "en").samples
    with ThreadPoolExecutor(4) as threads:
        for speech in threads.map(lambda _: voice.synthesize(SENTENCE, "en"), range(8)):
            np.testing.assert_array_equal(speech.samples, expected)


def test_speed_changes_the_length(voice: EngineVoice) -> None:
    slow, usual, fast = (voice.synthesize(SENTENCE, "en", speed=speed).duration for speed in (0.5, 1.0, 2.0))
    assert slow > 1.5 * usual
    assert fast < 0.67 * usual


@pytest.mark.parametrize("text", DIFFICULT_TEXTS.values(), ids=DIFFICULT_TEXTS)
def test_difficult_text_is_spoken_or_left_out(voice: EngineVoice, text: str) -> None:
    speech = voice.synthesize(text, "en")
    assert np.isfinite(speech.samples).all()
    assert np.abs(speech.samples).max(initial=0.0) <= 1.0
    assert speech.duration < 600


@pytest.mark.parametrize("number", ["9" * 37, "1," + "234," * 12 + "567", "$" + "8" * 40, "0" * 30, "①ß", "x²é", "❷s"])
def test_numbers_that_its_package_cannot_read_are_spoken(voice: EngineVoice, number: str) -> None:
    assert voice.synthesize(number, "en").duration > 0.3


@given(st.text(st.characters(codec="utf-8"), max_size=20))
@settings(deadline=None)
def test_no_text_makes_it_fail(voice: EngineVoice, text: str) -> None:
    assert np.isfinite(voice.synthesize(text, "en").samples).all()


def test_other_languages_and_voices_are_refused(voice: EngineVoice) -> None:
    assert voice.voices["en"][0] == "heart"
    with pytest.raises(UnsupportedByModel, match="speaks en"):
        voice.synthesize("Bonjour.", "fr")
    with pytest.raises(UnknownVoice, match="heart"):
        voice.synthesize(SENTENCE, "en", "nobody")
