"""Voices made of others, shown on scripted engines."""

import pytest

from speech_pipeline.errors import UnknownVoice, UnsupportedByModel
from speech_pipeline.voices.combined import VoicePerLanguage, VoiceWithFallback
from speech_pipeline.voices.engine_voice import EngineVoice
from tests.voices.scripted_engine import ScriptedEngine


@pytest.fixture
def main() -> ScriptedEngine:
    return ScriptedEngine({"en": ("ann",)}, name="main")


@pytest.fixture
def other() -> ScriptedEngine:
    return ScriptedEngine({"en": ("otto",), "fr": ("default", "f1")}, name="other")


def test_the_fallback_speaks_what_the_main_voice_cannot_and_says_so(
    main: ScriptedEngine, other: ScriptedEngine
) -> None:
    voice = VoiceWithFallback(EngineVoice(main), EngineVoice(other))
    warnings = voice.synthesize("Bonjour.", "fr").warnings
    assert [call[1:3] for call in other.calls] == [("fr", "default")]
    assert len(warnings) == 1
    assert "main" in warnings[0]
    assert "other" in warnings[0]
    assert [piece.warnings for piece in voice.stream("Bonjour.", "fr")] == [warnings]


def test_the_main_voice_speaks_its_own_languages_without_a_warning(main: ScriptedEngine, other: ScriptedEngine) -> None:
    voice = VoiceWithFallback(EngineVoice(main), EngineVoice(other))
    assert voice.synthesize("Hello.", "en").warnings == ()
    assert [piece.warnings for piece in voice.stream("Hello.", "en")] == [()]
    assert main.calls
    assert not other.calls
    assert dict(voice.voices) == {"en": ("ann",), "fr": ("default", "f1")}
    assert voice.name == "main"


def test_a_name_of_the_main_voice_becomes_the_default_of_the_fallback(
    main: ScriptedEngine, other: ScriptedEngine
) -> None:
    voice = VoiceWithFallback(EngineVoice(main), EngineVoice(other))
    voice.synthesize("Bonjour.", "fr", "ann")
    voice.synthesize("Bonjour.", "fr", "f1")
    assert [call[2] for call in other.calls] == ["default", "f1"]
    with pytest.raises(UnknownVoice, match="default, f1"):
        voice.synthesize("Bonjour.", "fr", "nobody")
    with pytest.raises(UnknownVoice, match="ann"):
        voice.synthesize("Hello.", "en", "otto")


def test_a_language_that_neither_speaks_is_refused(main: ScriptedEngine, other: ScriptedEngine) -> None:
    with pytest.raises(UnsupportedByModel):
        VoiceWithFallback(EngineVoice(main), EngineVoice(other)).stream("안녕", "ko")


def test_each_language_has_its_own_voice(main: ScriptedEngine, other: ScriptedEngine) -> None:
    voice = VoicePerLanguage({"en": EngineVoice(main), "fr": EngineVoice(other)})
    voice.synthesize("Hello.", "en")
    list(voice.stream("Bonjour.", "fr", "f1"))
    assert [call[1] for call in main.calls] == ["en"]
    assert [call[1:3] for call in other.calls] == [("fr", "f1")]
    assert dict(voice.voices) == {"en": ("ann",), "fr": ("default", "f1")}
    assert voice.name == "main and other"
    with pytest.raises(UnsupportedByModel, match="en, fr"):
        voice.stream("안녕", "ko")
