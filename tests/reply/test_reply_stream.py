"""An answer in the making, on scripted stages: what happens before what, what is kept, and how it is ended."""

import itertools
import threading

import pytest

from speech_pipeline.reply import reply_stream
from speech_pipeline.reply.reply_stream import MAX_WAITING_PIECES
from speech_pipeline.reply.text_language import TextLanguageDetector
from tests.reply.scripted import ScriptedLanguageModel, ScriptedVoice, tokens_of
from tests.reply.stages import TIMEOUT_S, duration, options, stage, waiting


@pytest.fixture
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tokens come in time, however slow the machine is."""
    monkeypatch.setattr(reply_stream, "PATIENCE_S", TIMEOUT_S)


class TestOrder:
    def test_the_first_sentence_is_spoken_while_the_second_is_written(self, detector: TextLanguageDetector) -> None:
        spoken = threading.Event()
        model = ScriptedLanguageModel(["One. ", "Two ", "three ", "four."], before=waiting(spoken, 3))
        voice = ScriptedVoice()
        pieces = []
        for piece in stage(detector, model, voice).stream("Count.", "en", options()):
            pieces.append(piece.text)
            spoken.set()
        assert pieces == ["One. ", "Two three four."]

    @pytest.mark.usefixtures("patient")
    def test_the_first_sentence_is_begun_before_the_next_token_makes_it_certain(
        self, detector: TextLanguageDetector
    ) -> None:
        begun = threading.Event()
        voice = ScriptedVoice(before=lambda number: begun.set())
        model = ScriptedLanguageModel(["One", ".", " Two."], before=waiting(begun, 2))
        reply = stage(detector, model, voice).answer("Count.", "en", options())
        assert [said for said, *_ in voice.said] == ["One.", "Two."]
        assert reply.audio is not None
        assert reply.audio.duration == pytest.approx(duration("One.", "Two."), abs=0.01)

    def test_the_first_sentence_is_heard_when_the_next_token_is_slow(self, detector: TextLanguageDetector) -> None:
        heard = threading.Event()
        model = ScriptedLanguageModel(["One", ".", " Two."], before=waiting(heard, 2))
        pieces = []
        for piece in stage(detector, model).stream("Count.", "en", options()):
            pieces.append(piece.text)
            heard.set()
        assert pieces == ["One.", " Two."]

    def test_a_sentence_that_goes_on_too_late_is_heard_in_two(self, detector: TextLanguageDetector) -> None:
        heard = threading.Event()
        voice = ScriptedVoice()
        model = ScriptedLanguageModel(["Ask Books", ".", "com now. ", "Fine."], before=waiting(heard, 2))
        stream = stage(detector, model, voice).stream("Whom?", "en", options())
        pieces = []
        for piece in stream:
            pieces.append(piece.text)
            heard.set()
        assert "".join(pieces) == stream.text == "Ask Books.com now. Fine."
        assert [said for said, *_ in voice.said] == ["Ask Books.", "com now.", "Fine."]
        assert stream.complete

    @pytest.mark.usefixtures("patient")
    @pytest.mark.parametrize("parts", [1, 3])
    def test_what_turns_out_to_go_on_is_not_heard_in_part(self, detector: TextLanguageDetector, parts: int) -> None:
        begun = threading.Event()
        voice = ScriptedVoice(before=lambda number: begun.set(), parts=parts)
        model = ScriptedLanguageModel(["Ask Books", ".", "com now. ", "Fine."], before=waiting(begun, 2))
        stream = stage(detector, model, voice).stream("Whom?", "en", options())
        pieces = list(stream)
        assert "".join(piece.text for piece in pieces) == stream.text == "Ask Books.com now. Fine."
        assert [said for said, *_ in voice.said] == ["Ask Books.", "Ask Books.com now.", "Fine."]
        heard = sum(piece.speech.duration for piece in pieces if piece.speech is not None)
        assert heard == pytest.approx(duration("Ask Books.com now.", "Fine."), abs=0.01)

    @pytest.mark.usefixtures("patient")
    def test_a_voice_that_fails_over_a_wrong_guess_only_is_no_failure(self, detector: TextLanguageDetector) -> None:
        begun = threading.Event()
        voice = ScriptedVoice(before=lambda number: begun.set(), fails_at=0)
        model = ScriptedLanguageModel(["Ask Books", ".", "com now. "], before=waiting(begun, 2))
        reply = stage(detector, model, voice).answer("Whom?", "en", options())
        assert (reply.complete, reply.warnings) == (True, ())
        assert reply.audio is not None

    def test_the_second_sentence_is_written_while_the_first_is_spoken(self, detector: TextLanguageDetector) -> None:
        written = threading.Event()

        def write(number: int) -> None:
            if number == 3:
                written.set()

        def speak(number: int) -> None:
            if number == 0:
                assert written.wait(TIMEOUT_S)

        model = ScriptedLanguageModel(["One. ", "Two ", "three ", "four."], before=write)
        reply = stage(detector, model, ScriptedVoice(before=speak)).answer("Count.", "en", options())
        assert reply.text == "One. Two three four."
        assert reply.complete

    def test_the_model_waits_for_a_slow_listener(self, detector: TextLanguageDetector) -> None:
        model = ScriptedLanguageModel(lambda: (f"Number {number}. " for number in itertools.count()))
        pieces = iter(stage(detector, model).stream("Count.", "en", options()))
        next(pieces)
        next(pieces)
        assert not model.ended.wait(0.3)
        assert model.written <= MAX_WAITING_PIECES + 6
        pieces.close()
        assert model.ended.wait(TIMEOUT_S)

    def test_a_long_first_sentence_is_spoken_from_its_first_clause_on(self, detector: TextLanguageDetector) -> None:
        voice = ScriptedVoice()
        text = "The sky looks blue to all of us down here, because the air scatters light."
        stage(detector, ScriptedLanguageModel(tokens_of(text)), voice).answer("Why?", "en", options())
        assert [said for said, *_ in voice.said] == [text[:42], text[43:]]


class TestCancellation:
    def test_leaving_the_loop_ends_the_writing(self, detector: TextLanguageDetector) -> None:
        model = ScriptedLanguageModel(lambda: (f"Number {number}. " for number in itertools.count()))
        stream = stage(detector, model).stream("Count.", "en", options())
        for _ in stream:
            break
        assert model.ended.wait(TIMEOUT_S)

    def test_cancelling_from_another_thread_ends_the_loop(self, detector: TextLanguageDetector) -> None:
        model = ScriptedLanguageModel(lambda: (f"Number {number}. " for number in itertools.count()))
        stream = stage(detector, model).stream("Count.", "en", options())
        for heard, _ in enumerate(stream):
            if heard == 3:
                threading.Thread(target=stream.cancel).start()
            assert heard < 10_000
        assert model.ended.wait(TIMEOUT_S)
        assert not stream.complete
        assert stream.text.startswith("Number 0.")

    def test_cancelling_does_not_wait_for_a_silent_model(self, detector: TextLanguageDetector) -> None:
        released = threading.Event()

        def hang(number: int) -> None:
            if number == 2:
                assert released.wait(TIMEOUT_S)

        model = ScriptedLanguageModel(["One. ", "Two. ", "Three."], before=hang)
        stream = stage(detector, model).stream("Count.", "en", options())
        pieces = iter(stream)
        assert next(pieces).text == "One. "
        canceller = threading.Timer(0.1, stream.cancel)
        canceller.start()
        assert list(pieces) == []
        assert not stream.complete
        assert not model.ended.is_set()
        released.set()
        assert model.ended.wait(TIMEOUT_S)

    def test_cancelling_what_is_over_does_nothing(self, detector: TextLanguageDetector) -> None:
        stream = stage(detector).stream("Why?", "en", options())
        assert list(stream)
        stream.cancel()
        assert stream.complete
