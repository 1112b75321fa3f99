"""What the settings name becomes a voice, or an error that says what would be right."""

import importlib.util

import pytest
import torch

from speech_pipeline.errors import InvalidSettings, ModelUnavailable, SpeechError
from speech_pipeline.voices.loading import load_voice

CPU = torch.device("cpu")


@pytest.mark.parametrize(("setting", "name"), [("starter", "hibari"), (" Hibari ", "hibari"), ("ESPEAK", "espeak")])
def test_engines_go_by_their_names(setting: str, name: str) -> None:
    assert load_voice(setting, token=None, device=CPU).name == name


def test_the_fallback_takes_the_other_languages() -> None:
    voice = load_voice("starter", "espeak", token=None, device=CPU)
    assert voice.voices["en"] == ("heart",)
    assert {"fr", "es", "zh", "ja", "ko"} <= set(voice.voices)
    assert voice.synthesize("Hello.", "en").warnings == ()
    assert "espeak" in voice.synthesize("Bonjour.", "fr").warnings[0]


def test_each_language_may_have_its_own_voice() -> None:
    voice = load_voice("en = starter, French=espeak,zh_CN=espeak", token=None, device=CPU)
    assert set(voice.voices) == {"en", "fr", "zh"}
    assert voice.voices["en"] == ("heart",)
    assert voice.synthesize("Bonjour.", "fr").warnings == ()


@pytest.mark.parametrize(
    ("setting", "error", "said"),
    [
        ("en=starter,espeak", InvalidSettings, "en=starter"),
        ("fr=starter", InvalidSettings, "speaks en"),
        ("xx=espeak", InvalidSettings, "language"),
        ("en=", ModelUnavailable, "TTS_MODEL"),
        ("no/such/model/at/all", ModelUnavailable, "TTS_MODEL"),
        ("..", ModelUnavailable, "TTS_MODEL"),
        ("", ModelUnavailable, "TTS_MODEL"),
        ("x" * 5_000, ModelUnavailable, "TTS_MODEL"),
        ("\0", ModelUnavailable, "TTS_MODEL"),
        ("~nobody-of-this-name/voice", InvalidSettings, "user after ~"),
        ("fr=~nobody-of-this-name/voice", InvalidSettings, "user after ~"),
    ],
)
def test_wrong_settings_say_what_would_be_right(setting: str, error: type[SpeechError], said: str) -> None:
    with pytest.raises(error, match=said) as caught:
        load_voice(setting, token=None, device=CPU)
    assert len(str(caught.value)) < 400


@pytest.mark.parametrize("fallback", ["fr=starter", "en=starter,espeak", "xx=espeak", "no/such/model", "\0"])
def test_a_wrong_fallback_is_the_setting_that_is_named(fallback: str) -> None:
    with pytest.raises(SpeechError, match="TTS_FALLBACK") as caught:
        load_voice("starter", fallback, token=None, device=CPU)
    assert "TTS_MODEL" not in str(caught.value)


@pytest.mark.parametrize(
    ("setting", "package"), [("starter", "hibari"), ("espeak", "espeakng_loader"), ("kokoro", "kokoro_onnx")]
)
def test_a_missing_package_is_named(setting: str, package: str, monkeypatch: pytest.MonkeyPatch) -> None:
    find_spec = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name, *rest: None if name == package else find_spec(name))
    with pytest.raises(ModelUnavailable, match="pip install"):
        load_voice(setting, token=None, device=CPU)


def test_without_a_reader_espeak_does_not_offer_japanese(monkeypatch: pytest.MonkeyPatch) -> None:
    find_spec = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name, *rest: None if name == "fugashi" else find_spec(name))
    voices = load_voice("espeak", token=None, device=CPU).voices
    assert "ja" not in voices
    assert "ko" in voices
