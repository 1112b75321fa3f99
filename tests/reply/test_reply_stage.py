"""Answers and voices on scripted stages: what comes out, and what is kept when something fails."""

import io
import logging
import threading

import numpy as np
import pytest
import soundfile

from speech_pipeline.errors import (
    InvalidText,
    OutOfMemory,
    ReplyFailed,
    ReplyUnavailable,
    SpeechError,
    SynthesisFailed,
    UnknownVoice,
    UnsupportedByModel,
)
from speech_pipeline.reply.language_model import Message
from speech_pipeline.reply.reply_stage import ReplyStage
from speech_pipeline.reply.text_language import TextLanguageDetector
from speech_pipeline.voices.voice import SENTENCE_PAUSE_S
from tests.reply.scripted import RATE, ScriptedLanguageModel, ScriptedVoice, tokens_of
from tests.reply.stages import ANSWER, TIMEOUT_S, duration, options, stage


class TestAnswer:
    def test_is_written_and_spoken(self, detector: TextLanguageDetector) -> None:
        voice = ScriptedVoice()
        reply = stage(detector, voice=voice).answer("Why is the sky blue?", "en", options())
        first, second = "It is blue.", "The air scatters light, most of all short waves."
        assert reply.text == ANSWER
        assert (reply.language, reply.complete, reply.warnings) == ("en", True, ())
        assert [text for text, *_ in voice.said] == [first, second]
        assert reply.audio is not None
        assert reply.audio.duration == pytest.approx(duration(first, second), abs=0.01)
        samples, rate = soundfile.read(io.BytesIO(reply.audio.data))
        assert rate == reply.audio.sampling_rate == RATE
        assert len(samples) / rate == pytest.approx(reply.audio.duration, abs=0.01)
        pause = samples[int(len(first) / 100 * rate) + 80 : int((len(first) / 100 + SENTENCE_PAUSE_S) * rate) - 80]
        assert np.abs(pause).max() < 1e-3

    def test_timings_are_in_the_order_of_the_work(self, detector: TextLanguageDetector) -> None:
        timings = stage(detector).answer("Why?", "en", options()).timings
        moments = [timings[name] for name in ("first_token", "first_sentence", "first_audio", "total")]
        assert moments == sorted(moments)
        assert 0 <= timings["synthesis"] <= timings["total"]

    def test_options_reach_the_model_and_the_voice(self, detector: TextLanguageDetector) -> None:
        model, voice = ScriptedLanguageModel(["Oui."]), ScriptedVoice()
        history = [{"role": "user", "content": "Bonjour"}, {"role": "assistant", "content": "Bonjour !"}]
        stage(detector, model, voice).answer(
            "Ça va ?",
            "fr",
            options(
                **{"system_prompt": "Be kind.", "messages": history, "max_reply_tokens": 7, "seed": 3, "speed": 1.5},
                **{"reply_temperature": 0.5, "voice": "bob"},
            ),
        )
        (messages, asked), (said,) = model.asked[0], voice.said
        assert messages[0].content.startswith("Be kind.")
        said_before = [Message("user", "Bonjour"), Message("assistant", "Bonjour !")]
        assert messages[1:] == [*said_before, Message("user", "Ça va ?")]
        assert asked == {"max_tokens": 7, "temperature": 0.5, "seed": 3}
        assert said == ("Oui.", "fr", "bob", 1.5)

    @pytest.mark.parametrize(
        ("question", "language"),
        [
            ("Why is the sky blue?", "en"),
            ("Pourquoi le ciel est-il bleu ?", "fr"),
            ("¿Por qué el cielo es azul?", "es"),
            ("天为什么是蓝的？", "zh"),
            ("空はなぜ青いのですか？", "ja"),
            ("하늘은 왜 파란가요?", "ko"),
            ("42", "en"),
            ("😀", "en"),
        ],
    )
    def test_language_of_a_text_is_told_from_it(
        self, detector: TextLanguageDetector, question: str, language: str
    ) -> None:
        model, voice = ScriptedLanguageModel(["OK."]), ScriptedVoice()
        reply = stage(detector, model, voice).answer(question, None, options())
        assert reply.language == voice.said[0][1] == language

    def test_the_answer_may_be_in_another_language(self, detector: TextLanguageDetector) -> None:
        model = ScriptedLanguageModel(["Bonjour."])
        reply = stage(detector, model).answer("Hello", "en", options(reply_language="French"))
        assert reply.language == "fr"
        assert "français" in model.asked[0][0][0].content

    @pytest.mark.parametrize(("audio_format", "magic"), [("wav", b"RIFF"), ("flac", b"fLaC"), ("opus", b"OggS")])
    def test_formats(self, detector: TextLanguageDetector, audio_format: str, magic: bytes) -> None:
        audio = stage(detector).answer("Why?", "en", options(audio_format=audio_format)).audio
        assert audio is not None
        assert audio.format == audio_format
        assert audio.data.startswith(magic)

    def test_mp3(self, detector: TextLanguageDetector) -> None:
        audio = stage(detector).answer("Why?", "en", options(audio_format="mp3")).audio
        assert audio is not None
        assert len(soundfile.read(io.BytesIO(audio.data))[0]) > 0.5 * audio.duration * audio.sampling_rate

    def test_parts_of_a_sentence_have_no_pause_between_them(self, detector: TextLanguageDetector) -> None:
        whole = stage(detector).answer("Why?", "en", options()).audio
        parts = stage(detector, voice=ScriptedVoice(parts=3)).answer("Why?", "en", options()).audio
        assert whole is not None
        assert parts is not None
        assert parts.duration == pytest.approx(whole.duration, abs=0.01)

    @pytest.mark.parametrize("text", ["👍", "```\nx = 1\n```", "***"])
    def test_without_anything_to_say_there_is_no_audio(self, detector: TextLanguageDetector, text: str) -> None:
        reply = stage(detector, ScriptedLanguageModel([text])).answer("Well?", "en", options())
        assert (reply.text, reply.audio) == (text, None)
        assert "spoken" in reply.warnings[0]

    def test_what_is_no_unicode_does_not_stop_it(self, detector: TextLanguageDetector) -> None:
        reply = stage(detector, ScriptedLanguageModel(["Good \ud800 day."])).answer("Well?", "en", options())
        assert reply.text == "Good ? day."
        assert reply.complete


class TestFailures:
    def test_a_model_that_fails_half_way_leaves_what_it_wrote(self, detector: TextLanguageDetector) -> None:
        model, voice = ScriptedLanguageModel(["One. ", "Two ", RuntimeError("secret words")]), ScriptedVoice()
        reply = stage(detector, model, voice).answer("Count.", "en", options())
        assert reply.text == "One. Two"
        assert [text for text, *_ in voice.said] == ["One.", "Two"]
        assert reply.audio is not None
        assert not reply.complete
        assert reply.warnings[0].startswith("[reply_failed] ")

    @pytest.mark.parametrize(
        ("error", "kind"),
        [
            (RuntimeError("secret"), ReplyFailed),
            (OutOfMemory("It does not fit."), OutOfMemory),
            (ReplyFailed("No."), ReplyFailed),
        ],
    )
    def test_a_model_that_writes_nothing_is_an_error(
        self, detector: TextLanguageDetector, error: Exception, kind: type[SpeechError]
    ) -> None:
        with pytest.raises(kind) as raised:
            stage(detector, ScriptedLanguageModel([error])).answer("Count.", "en", options())
        assert "secret" not in str(raised.value)

    @pytest.mark.parametrize("tokens", [[], ["", " ", "\n"]])
    def test_an_empty_answer_is_an_error(self, detector: TextLanguageDetector, tokens: list[str]) -> None:
        with pytest.raises(ReplyFailed):
            stage(detector, ScriptedLanguageModel(tokens)).answer("Count.", "en", options())

    @pytest.mark.parametrize(
        ("error", "code"),
        [
            (RuntimeError("secret"), "synthesis_failed"),
            (SynthesisFailed("The engine died."), "synthesis_failed"),
            (OutOfMemory("It does not fit."), "out_of_memory"),
        ],
    )
    def test_a_voice_that_fails_half_way_leaves_the_text_and_what_it_said(
        self, detector: TextLanguageDetector, error: Exception, code: str
    ) -> None:
        voice = ScriptedVoice(fails_at=1, error=error)
        model = ScriptedLanguageModel(["One. ", "Two. ", "Three. ", "Four."])
        reply = stage(detector, model, voice).answer("Count.", "en", options())
        assert reply.text == "One. Two. Three. Four."
        assert reply.audio is not None
        assert reply.audio.duration == pytest.approx(duration("One."), abs=0.01)
        assert len(voice.said) == 2
        assert not reply.complete
        assert [warning.startswith(f"[{code}] ") for warning in reply.warnings] == [True]

    def test_a_voice_that_fails_at_once_leaves_the_text(self, detector: TextLanguageDetector) -> None:
        reply = stage(detector, voice=ScriptedVoice(fails_at=0)).answer("Why?", "en", options())
        assert reply.text == ANSWER
        assert reply.audio is None
        assert reply.warnings[0].startswith("[synthesis_failed] ")

    def test_an_answer_that_is_cut_off_says_so(self, detector: TextLanguageDetector) -> None:
        model = ScriptedLanguageModel(["Once upon a "], complete=False)
        reply = stage(detector, model).answer("Tell me a story.", "en", options(max_reply_tokens=4))
        assert not reply.complete
        assert "max_reply_tokens" in reply.warnings[0]
        assert reply.audio is not None

    def test_messages_that_were_left_out_are_named(self, detector: TextLanguageDetector) -> None:
        reply = stage(detector, ScriptedLanguageModel(["Yes."], dropped_messages=4)).answer("Well?", "en", options())
        assert reply.complete
        assert "4 messages" in reply.warnings[0]

    def test_a_model_that_never_ends_a_sentence_is_spoken_all_the_same(self, detector: TextLanguageDetector) -> None:
        voice = ScriptedVoice()
        reply = stage(detector, ScriptedLanguageModel(["word "] * 1_000, complete=False), voice).answer(
            "Go on.", "en", options()
        )
        assert reply.text.count("word") == 1_000
        assert len(voice.said) > 10
        assert " ".join(text for text, *_ in voice.said).count("word") == 1_000

    def test_logs_say_where_and_never_what(
        self, detector: TextLanguageDetector, caplog: pytest.LogCaptureFixture
    ) -> None:
        with caplog.at_level(logging.DEBUG):
            stage(
                detector,
                ScriptedLanguageModel(["Secret answer. ", RuntimeError("secret words")]),
                ScriptedVoice(fails_at=0),
            ).answer("A secret question", "en", options(system_prompt="secret prompt"))
        assert "RuntimeError" in caplog.text
        assert "secret" not in caplog.text.lower()


class TestSpeak:
    def test_a_text_is_spoken_as_it_stands(self, detector: TextLanguageDetector) -> None:
        model, voice = ScriptedLanguageModel([]), ScriptedVoice()
        reply = stage(detector, model, voice).speak("**Hello.** It costs $5.", None, options(voice="bob"))
        assert reply.text == "**Hello.** It costs $5."
        assert [(text, name) for text, _, name, _ in voice.said] == [
            ("Hello.", "bob"),
            ("It costs five dollars.", "bob"),
        ]
        assert model.asked == []

    def test_no_language_model_is_needed(self, detector: TextLanguageDetector) -> None:
        assert ReplyStage(None, ScriptedVoice(), detector).speak("Hello.", None, options()).audio is not None

    @pytest.mark.parametrize("text", ["👍", "***", "```\nx\n```", "...", "\u200b"])
    def test_text_without_words_is_refused(self, detector: TextLanguageDetector, text: str) -> None:
        voice = ScriptedVoice()
        with pytest.raises(InvalidText):
            stage(detector, voice=voice).speak(text, "en", options())
        assert voice.said == []

    def test_a_long_text_comes_in_pieces(self, detector: TextLanguageDetector) -> None:
        voice = ScriptedVoice()
        stage(detector, voice=voice).speak("This is a sentence. " * 200, "en", options())
        assert len(voice.said) == 200


class TestRefusals:
    def test_without_models(self, detector: TextLanguageDetector) -> None:
        with pytest.raises(ReplyUnavailable, match="LM_MODEL"):
            ReplyStage(None, ScriptedVoice(), detector).answer("Why?", "en", options())
        with pytest.raises(ReplyUnavailable, match="TTS_MODEL"):
            ReplyStage(ScriptedLanguageModel([]), None, detector).answer("Why?", "en", options())

    @pytest.mark.parametrize("language", ["de", None])
    def test_a_language_the_voice_does_not_speak(self, detector: TextLanguageDetector, language: str | None) -> None:
        model = ScriptedLanguageModel(["Ja."])
        with pytest.raises(UnsupportedByModel, match="en"):
            stage(detector, model).answer(
                "Warum?", language, options(**({} if language else {"reply_language": "German"}))
            )
        assert model.asked == []

    def test_an_unknown_voice(self, detector: TextLanguageDetector) -> None:
        voice = ScriptedVoice({"en": ("anna",), "fr": ("marie",)})
        with pytest.raises(UnknownVoice, match="anna"):
            stage(detector, voice=voice).check(options(voice="nobody"), None)
        with pytest.raises(UnknownVoice, match="anna"):
            stage(detector, voice=voice).check(options(voice="marie"), "en")
        stage(detector, voice=voice).check(options(voice="marie"), None)
        assert voice.said == []


def test_answers_of_several_threads_are_kept_apart(detector: TextLanguageDetector) -> None:
    shared = stage(detector, ScriptedLanguageModel(tokens_of("One. Two. Three."), token_s=0.001))
    replies: list[str] = []
    threads = [
        threading.Thread(target=lambda: replies.append(shared.answer("Count.", "en", options()).text)) for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(TIMEOUT_S)
    assert replies == ["One. Two. Three."] * 8
