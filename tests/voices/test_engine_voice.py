"""What every voice does, whichever engine speaks, shown on an engine whose work is scripted."""

import numpy as np
import pytest

from speech_pipeline.errors import (
    InvalidParameters,
    OutOfMemory,
    SpeechError,
    SynthesisFailed,
    TextTooLong,
    UnknownVoice,
    UnsupportedByModel,
)
from speech_pipeline.voices.engine_voice import EngineVoice
from speech_pipeline.voices.voice import MAX_TEXT_CHARACTERS, SENTENCE_PAUSE_S, Speech
from tests.voices.scripted_engine import RATE, ScriptedEngine

TEXT = "The first sentence is here. And here is the second sentence. The third."


def test_the_default_voice_speaks_what_was_cleaned() -> None:
    engine = ScriptedEngine()
    speech = EngineVoice(engine).synthesize("Hello\0 <b>there</b> 😀!", "en")
    assert engine.calls == [("Hello there !", "en", "ann", 1.0)]
    assert speech.sampling_rate == RATE
    assert speech.samples.dtype == np.float32
    assert len(speech.samples) > 0


def test_the_voice_and_the_speed_that_are_asked_for_reach_the_engine() -> None:
    engine = ScriptedEngine()
    EngineVoice(engine).synthesize("Hello.", "en", "bob", 1.5)
    assert engine.calls == [("Hello.", "en", "bob", 1.5)]


def test_long_text_is_spoken_in_pieces_with_pauses_between() -> None:
    engine = ScriptedEngine()
    pieces = list(EngineVoice(engine).stream(TEXT, "en"))
    assert [text for text, *_ in engine.calls] == [
        "The first sentence is here.",
        "And here is the second sentence.",
        "The third.",
    ]
    pause = round(SENTENCE_PAUSE_S * RATE)
    assert np.abs(pieces[0].samples[: pause // 2]).max() > 0
    for piece in pieces[1:]:
        assert not piece.samples[:pause].any()
        assert np.abs(piece.samples[pause : 2 * pause]).max() > 0


def test_joined_pieces_are_what_is_spoken_at_once() -> None:
    voice = EngineVoice(ScriptedEngine())
    streamed = np.concatenate([piece.samples for piece in voice.stream(TEXT, "en")])
    np.testing.assert_array_equal(streamed, voice.synthesize(TEXT, "en").samples)


def test_a_piece_is_there_before_the_next_is_spoken() -> None:
    engine = ScriptedEngine()
    stream = EngineVoice(engine).stream(TEXT, "en")
    assert not engine.calls
    next(stream)
    assert len(engine.calls) == 1


@pytest.mark.parametrize("text", ["", " \n\n ", "😀", "\0", "<speak></speak>", "?!"])
def test_text_with_nothing_to_say_gives_no_samples(text: str) -> None:
    engine = ScriptedEngine()
    speech = EngineVoice(engine).synthesize(text, "en")
    assert len(speech.samples) == 0
    assert speech.sampling_rate == RATE
    assert list(EngineVoice(engine).stream(text, "en")) == []
    assert not engine.calls


def test_the_longest_text_is_spoken_and_a_longer_one_refused() -> None:
    voice = EngineVoice(ScriptedEngine(longest_text=400))
    assert len(voice.synthesize("a" * MAX_TEXT_CHARACTERS, "en").samples) > 0
    with pytest.raises(TextTooLong, match=str(MAX_TEXT_CHARACTERS)):
        voice.stream("a" * 100_000, "en")


@pytest.mark.parametrize(
    ("arguments", "error", "said"),
    [
        (("Hi", "ko"), UnsupportedByModel, "en, fr"),
        (("Hi", ""), UnsupportedByModel, "en, fr"),
        (("Hi", "english"), UnsupportedByModel, "en, fr"),
        (("Hi", "en", "chloé"), UnknownVoice, "ann, bob"),
        (("Hi", "en", ""), UnknownVoice, "ann, bob"),
        (("Hi", "en", "x" * 10_000), UnknownVoice, "ann, bob"),
        (("Hi", "en", None, 0.49), InvalidParameters, "0.5 to 2"),
        (("Hi", "en", None, 2.01), InvalidParameters, "0.5 to 2"),
        (("Hi", "en", None, float("nan")), InvalidParameters, "0.5 to 2"),
        (("Hi", "en", None, float("inf")), InvalidParameters, "0.5 to 2"),
    ],
)
def test_wrong_arguments_are_refused_before_anything_is_spoken(
    arguments: tuple[str, str], error: type[SpeechError], said: str
) -> None:
    engine = ScriptedEngine()
    for call in (EngineVoice(engine).synthesize, EngineVoice(engine).stream):
        with pytest.raises(error, match=said) as caught:
            call(*arguments)
        assert len(str(caught.value)) < 300
    assert not engine.calls


def test_warnings_of_all_pieces_are_collected_once() -> None:
    def script(text: str) -> Speech:
        return Speech(np.zeros(0 if "third" in text else 4_000, np.float32) + 0.1, RATE, ("a", text[:3]))

    assert EngineVoice(ScriptedEngine(script=script)).synthesize(TEXT, "en").warnings == ("a", "The", "And")


@pytest.mark.parametrize(
    ("failure", "error"),
    [
        (ValueError("secret text"), SynthesisFailed),
        (KeyError("secret text"), SynthesisFailed),
        (MemoryError("secret text"), OutOfMemory),
        (OutOfMemory("no room"), OutOfMemory),
    ],
)
def test_an_engine_that_fails_half_way_leaves_what_was_spoken(failure: Exception, error: type[SpeechError]) -> None:
    engine = ScriptedEngine()

    def script(text: str) -> Speech:
        if len(engine.calls) == 2:
            raise failure
        return ScriptedEngine().speak(text, "en", "ann", 1.0)

    engine._script = script
    stream = EngineVoice(engine).stream(TEXT, "en")
    assert len(next(stream).samples) > 0
    with pytest.raises(error) as caught:
        next(stream)
    assert "secret" not in str(caught.value)
    engine.calls.clear()
    with pytest.raises(error):
        EngineVoice(engine).synthesize(TEXT, "en")


def test_an_engine_that_failed_speaks_the_next_text() -> None:
    def script(text: str) -> Speech:
        if text == "Fail.":
            raise ValueError
        return ScriptedEngine().speak(text, "en", "ann", 1.0)

    voice = EngineVoice(ScriptedEngine(script=script))
    with pytest.raises(SynthesisFailed):
        voice.synthesize("Fail.", "en")
    assert len(voice.synthesize("Hello.", "en").samples) > 0


def test_a_message_lists_few_of_many_voices() -> None:
    voice = EngineVoice(ScriptedEngine({"en": tuple(map(str, range(900)))}))
    with pytest.raises(UnknownVoice, match=r"0, 1, 2, .*\.\.\.") as caught:
        voice.synthesize("Hello.", "en", "nobody")
    assert len(str(caught.value)) < 300


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_samples_that_are_no_numbers_are_a_failure(value: float) -> None:
    def script(text: str) -> Speech:
        samples = np.full(8_000, 0.1, np.float32)
        samples[4_000] = value
        return Speech(samples, RATE)

    with pytest.raises(SynthesisFailed):
        EngineVoice(ScriptedEngine(script=script)).synthesize("Hello.", "en")
