"""VITS voices, shown on small networks with random weights."""

import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from transformers import VitsModel, VitsTokenizer

from speech_pipeline.errors import InvalidSettings, ModelUnavailable
from speech_pipeline.voices import vits
from speech_pipeline.voices.engine_voice import EngineVoice
from speech_pipeline.voices.loading import load_voice
from speech_pipeline.voices.vits import VitsEngine
from tests.voices.difficult_texts import DIFFICULT_TEXTS
from tests.voices.small_vits import write_folder

CPU = torch.device("cpu")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_folder(tmp_path_factory.mktemp("vits"))


@pytest.fixture(scope="module")
def engine(folder: Path) -> VitsEngine:
    return VitsEngine(VitsModel.from_pretrained(folder).eval(), VitsTokenizer.from_pretrained(folder), "en")


def test_the_language_comes_from_the_tokenizer(folder: Path) -> None:
    voice = load_voice(str(folder), token=None, device=CPU)
    assert dict(voice.voices) == {"en": ("default",)}
    assert voice.name == "vits"
    assert len(voice.synthesize("hello there", "en").samples) > 0


def test_equal_calls_give_equal_samples_and_leave_the_seed_of_others_alone(engine: VitsEngine) -> None:
    torch.manual_seed(1)
    state = torch.get_rng_state()
    first = engine.speak("hello there", "en", "default", 1.0).samples
    assert torch.equal(torch.get_rng_state(), state)
    torch.manual_seed(2)
    np.testing.assert_array_equal(engine.speak("hello there", "en", "default", 1.0).samples, first)
    assert first.std() > 0


def test_speed_changes_the_length_and_lasts_for_one_call(engine: VitsEngine) -> None:
    text = "the train to the city leaves at nine"
    usual = len(engine.speak(text, "en", "default", 1.0).samples)
    assert len(engine.speak(text, "en", "default", 0.5).samples) > 1.5 * usual
    assert len(engine.speak(text, "en", "default", 1.0).samples) == usual


def test_calls_side_by_side_keep_their_own_speed(engine: VitsEngine) -> None:
    voice = EngineVoice(engine)
    speeds = [0.5, 1.0, 1.5, 2.0] * 2
    expected = [voice.synthesize("hello there", "en", speed=speed).samples for speed in speeds]
    with ThreadPoolExecutor(4) as threads:
        spoken = list(threads.map(lambda speed: voice.synthesize("hello there", "en", speed=speed).samples, speeds))
    for samples, alone in zip(spoken, expected, strict=True):
        np.testing.assert_array_equal(samples, alone)


def test_speakers_are_voices(tmp_path: Path) -> None:
    voice = load_voice(str(write_folder(tmp_path, num_speakers=3)), token=None, device=CPU)
    assert voice.voices["en"] == ("0", "1", "2")
    spoken = {voice.synthesize("hello there", "en", name).samples.tobytes() for name in ("0", "1", "2")}
    assert len(spoken) == 3


def test_what_has_no_symbol_is_left_out_with_a_warning(engine: VitsEngine) -> None:
    voice = EngineVoice(engine)
    assert voice.synthesize("Hello, there!", "en").warnings == ()
    (warning,) = voice.synthesize("Room 42", "en").warnings
    assert "42" in warning
    speech = voice.synthesize("你好", "en")
    assert len(speech.samples) == 0
    assert "你好" in speech.warnings[0]


@pytest.mark.parametrize("text", DIFFICULT_TEXTS.values(), ids=DIFFICULT_TEXTS)
def test_difficult_text_is_spoken_or_left_out(engine: VitsEngine, text: str) -> None:
    speech = EngineVoice(engine).synthesize(text, "en")
    assert np.isfinite(speech.samples).all()
    assert np.abs(speech.samples).max(initial=0.0) <= 1.0


def test_each_language_may_have_a_model(folder: Path, tmp_path: Path) -> None:
    french = write_folder(tmp_path, language=None)
    voice = load_voice(f"en={folder},french={french}", token=None, device=CPU)
    assert set(voice.voices) == {"en", "fr"}
    assert len(voice.synthesize("bonjour", "fr").samples) > 0


def test_other_scripts_are_romanized_where_the_model_was_trained_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_folder(tmp_path, language="kor", is_uroman=True)
    monkeypatch.setattr(vits, "is_uroman_available", lambda: True)
    romanizer = SimpleNamespace(romanize_string=lambda text: text.replace("안녕", "annyeong"))
    monkeypatch.setitem(sys.modules, "uroman", SimpleNamespace(Uroman=lambda: romanizer))
    voice = load_voice(str(tmp_path), token=None, device=CPU)
    korean, romanized = (voice.synthesize(text, "ko") for text in ("안녕", "annyeong"))
    assert korean.warnings == ()
    assert len(korean.samples) > 0
    np.testing.assert_array_equal(korean.samples, romanized.samples)


def test_english_phonemes_are_spoken_where_the_model_was_trained_so(tmp_path: Path) -> None:
    pytest.importorskip("phonemizer", reason="phonemizer is under the GPL and not among the requirements")
    voice = load_voice(str(write_folder(tmp_path, language=None, phonemize=True)), token=None, device=CPU)
    assert set(voice.voices) == {"en"}
    with ThreadPoolExecutor(4) as threads:
        first, *others = threads.map(lambda _: voice.synthesize("The year 1999", "en"), range(4))
    assert first.duration > 0.01
    assert first.warnings == ()
    for speech in others:
        np.testing.assert_array_equal(speech.samples, first.samples)


@pytest.mark.parametrize("package", ["uroman", "phonemizer"])
def test_a_package_that_the_model_needs_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, package: str) -> None:
    write_folder(tmp_path, is_uroman=package == "uroman", phonemize=package == "phonemizer")
    monkeypatch.setattr(vits, f"is_{package}_available", lambda: False)
    with pytest.raises(ModelUnavailable, match=f"pip install {package}"):
        load_voice(str(tmp_path), token=None, device=CPU)


def test_a_folder_below_the_home_folder_may_be_named_as_in_a_shell(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_folder(tmp_path / "voice")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert set(load_voice("fr=~/voice", token=None, device=CPU).voices) == {"fr"}


@pytest.mark.parametrize("language", [None, "xyz", ""])
def test_a_model_that_does_not_say_its_language_needs_it_in_the_setting(tmp_path: Path, language: str | None) -> None:
    write_folder(tmp_path, language=language)
    with pytest.raises(InvalidSettings, match="TTS_MODEL"):
        load_voice(str(tmp_path), token=None, device=CPU)


def test_damaged_and_other_models_are_refused_without_their_path(folder: Path, tmp_path: Path) -> None:
    empty, other, damaged = (tmp_path / name for name in ("empty", "other", "damaged"))
    empty.mkdir()
    other.mkdir()
    (other / "config.json").write_text('{"model_type": "bert"}')
    write_folder(damaged)
    (damaged / "model.safetensors").write_bytes(b"no weights")
    for path, error in ((empty, ModelUnavailable), (other, InvalidSettings), (damaged, ModelUnavailable)):
        with pytest.raises(error, match="TTS_MODEL") as caught:
            load_voice(str(path), token=None, device=CPU)
        assert str(tmp_path) not in str(caught.value)
