"""The eSpeak voice: a process for each text."""

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

from speech_pipeline.errors import SynthesisFailed, UnknownVoice, UnsupportedByModel
from speech_pipeline.voices import espeak, espeak_process
from speech_pipeline.voices.engine_voice import EngineVoice
from speech_pipeline.voices.espeak import EspeakEngine
from tests.voices.difficult_texts import DIFFICULT_TEXTS

SENTENCES = {
    "en": "The train to the city leaves at nine in the morning.",
    "fr": "Le train pour la ville part à neuf heures du matin.",
    "es": "El tren para la ciudad sale a las nueve de la mañana.",
    "zh": "去城里的火车早上九点出发。",
    "ja": "町へ行く電車は朝九時に出発します。",
    "ko": "도시로 가는 기차는 아침 아홉 시에 출발합니다.",
}


@pytest.fixture(scope="module")
def voice() -> EngineVoice:
    return EngineVoice(EspeakEngine())


@pytest.mark.parametrize("language", SENTENCES)
def test_it_speaks_the_language_at_a_usual_pace(voice: EngineVoice, language: str) -> None:
    assert 1.5 < voice.synthesize(SENTENCES[language], language).duration < 7.0


def test_every_language_it_offers_is_spoken(voice: EngineVoice) -> None:
    assert {"en", "fr", "es", "zh", "ja", "ko", "de", "it", "ru", "hi"} <= set(voice.voices)
    with ThreadPoolExecutor(2) as threads:
        spoken = list(threads.map(lambda language: voice.synthesize("1 2 3", language).duration, voice.voices))
    assert min(spoken) > 0.3


@pytest.mark.parametrize("language", ["en", "zh"])
def test_every_voice_it_offers_speaks_in_its_own_way(voice: EngineVoice, language: str) -> None:
    spoken = {voice.synthesize("3", language, name).samples.tobytes() for name in voice.voices[language]}
    assert len(spoken) == len(voice.voices[language])
    assert b"" not in spoken


def test_equal_calls_give_equal_samples_whatever_was_spoken_between(voice: EngineVoice) -> None:
    texts = [(language, sentence) for language, sentence in SENTENCES.items() for _ in range(2)]
    with ThreadPoolExecutor(4) as threads:
        spoken = list(threads.map(lambda pair: voice.synthesize(pair[1], pair[0]).samples, texts))
    for first, second in zip(spoken[::2], spoken[1::2], strict=True):
        np.testing.assert_array_equal(first, second)


def test_speed_changes_the_length(voice: EngineVoice) -> None:
    slow, usual, fast = (voice.synthesize(SENTENCES["en"], "en", speed=speed).duration for speed in (0.5, 1.0, 2.0))
    assert slow > 1.5 * usual
    assert fast < 0.67 * usual


def test_characters_are_read_and_not_spelt_out(voice: EngineVoice) -> None:
    assert voice.synthesize("電車", "ja").duration < 1.5
    assert voice.synthesize("火车", "zh").duration < 1.5


@pytest.mark.parametrize("language", ["en", "zh", "ja", "ko"])
@pytest.mark.parametrize("text", DIFFICULT_TEXTS.values(), ids=DIFFICULT_TEXTS)
def test_difficult_text_is_spoken_or_left_out(voice: EngineVoice, text: str, language: str) -> None:
    speech = voice.synthesize(text, language)
    assert np.isfinite(speech.samples).all()
    assert np.abs(speech.samples).max(initial=0.0) <= 1.0
    assert speech.duration < 3_000


def test_unknown_languages_and_voices_are_refused(voice: EngineVoice) -> None:
    with pytest.raises(UnsupportedByModel):
        voice.synthesize("a", "xx")
    with pytest.raises(UnknownVoice, match="f1"):
        voice.synthesize("a", "en", "../f1")


def test_a_process_that_dies_or_hangs_is_a_failure_of_the_voice(
    voice: EngineVoice, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path_factory.mktemp("programs")
    monkeypatch.setattr(espeak, "_LONGEST_RUN_S", 2.0)
    for name, program in (
        ("dies", "import os, signal; os.kill(os.getpid(), signal.SIGSEGV)"),
        ("hangs", "import time; time.sleep(60)"),
        ("refuses", "import sys; sys.exit('secret text')"),
        ("is silent", ""),
    ):
        path = folder / f"{name}.py"
        path.write_text(program)
        monkeypatch.setattr(espeak_process, "__file__", str(path))
        with pytest.raises(SynthesisFailed) as caught:
            voice.synthesize("secret text", "en")
        assert "secret" not in str(caught.value)


def test_the_text_is_not_among_the_arguments_of_the_process(monkeypatch: pytest.MonkeyPatch) -> None:
    engine = EspeakEngine()
    commands: list[list[str]] = []
    run = subprocess.run

    def recorded(command: list[str], **options: Any) -> subprocess.CompletedProcess[bytes]:
        commands.append(command)
        return run(command, **options)

    monkeypatch.setattr(subprocess, "run", recorded)
    engine.speak("secret", "en", "default", 1.0)
    assert commands[0][0] == sys.executable
    assert "secret" not in " ".join(commands[0])
