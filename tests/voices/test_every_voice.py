"""The sound of every engine: as loud as the others, no clipped peaks, no clicks, nothing at the ends but speech."""

import numpy as np
import pytest
import torch

from speech_pipeline.errors import InvalidParameters, TextTooLong, UnknownVoice, UnsupportedByModel
from speech_pipeline.voices.finishing import LOUDNESS_LUFS, PEAK_DBTP, loudness, true_peak
from speech_pipeline.voices.loading import load_voice
from speech_pipeline.voices.voice import Speech, Voice
from tests.voices.small_vits import write_folder

SENTENCES = {
    "en": "The train to the city leaves at nine in the morning. You can buy a ticket at the station.",
    "fr": "Le train pour la ville part à neuf heures du matin. Vous pouvez acheter un billet à la gare.",
    "es": "El tren para la ciudad sale a las nueve de la mañana. Puede comprar un billete en la estación.",
    "zh": "去城里的火车早上九点出发。你可以在车站买票。",
    "ja": "町へ行く電車は朝九時に出発します。駅で切符を買うことができます。",
    "ko": "도시로 가는 기차는 아침 아홉 시에 출발합니다. 역에서 표를 살 수 있습니다.",
}
ENGINES = ("hibari", "espeak", "vits")
SPOKEN = (("hibari", "en"), *(("espeak", language) for language in SENTENCES), ("vits", "en"))
"""Engine and language."""


@pytest.fixture(scope="module")
def voices(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Voice]:
    settings = {"hibari": "starter", "espeak": "espeak", "vits": str(write_folder(tmp_path_factory.mktemp("vits")))}
    return {name: load_voice(value, token=None, device=torch.device("cpu")) for name, value in settings.items()}


@pytest.fixture(scope="module", params=SPOKEN, ids="-".join)
def speech(voices: dict[str, Voice], request: pytest.FixtureRequest) -> Speech:
    engine, language = request.param
    return voices[engine].synthesize(SENTENCES[language], language)


@pytest.fixture(scope="module", params=ENGINES)
def voice(voices: dict[str, Voice], request: pytest.FixtureRequest) -> Voice:
    return voices[str(request.param)]


def level(samples: np.ndarray) -> float:
    """In dB relative to full scale."""
    return float(10 * np.log10(np.square(samples, dtype=np.float64).mean() + 1e-12))


def test_it_is_float32_and_as_loud_as_every_other(speech: Speech) -> None:
    assert speech.samples.dtype == np.float32
    assert speech.samples.ndim == 1
    assert loudness(speech.samples, speech.sampling_rate) == pytest.approx(LOUDNESS_LUFS, abs=0.5)


def test_no_peak_is_clipped(speech: Speech) -> None:
    assert true_peak(speech.samples, speech.sampling_rate) <= 1.01 * 10 ** (PEAK_DBTP / 20)


def test_it_begins_and_ends_without_a_click(speech: Speech) -> None:
    millisecond = speech.sampling_rate // 1000
    for end in (speech.samples[:millisecond], speech.samples[-millisecond:]):
        assert np.abs(end).max() < 0.05 * np.abs(speech.samples).max()
    assert abs(speech.samples[0]) < 1e-5
    assert abs(speech.samples[-1]) < 1e-5


def test_nothing_but_speech_is_at_its_ends(speech: Speech) -> None:
    tenth = speech.sampling_rate // 10
    for end in (speech.samples[:tenth], speech.samples[-tenth:]):
        assert level(end) > level(speech.samples) - 45


def test_short_words_are_as_loud_as_sentences(voice: Voice) -> None:
    for word in ("Yes.", "a", "Monday"):
        spoken = voice.synthesize(word, "en")
        assert 0.0 < spoken.duration < 2.0
        assert loudness(spoken.samples, spoken.sampling_rate) == pytest.approx(LOUDNESS_LUFS, abs=1.5)


def test_pieces_of_a_stream_meet_in_silence(voice: Voice) -> None:
    pieces = list(voice.stream(f"{SENTENCES['en']}\n\n{SENTENCES['en']}", "en"))
    assert len(pieces) > 1
    for piece in pieces:
        assert abs(piece.samples[0]) < 1e-5
        assert abs(piece.samples[-1]) < 1e-5
    assert not pieces[1].samples[: pieces[1].sampling_rate // 5].any()


def test_equal_calls_give_equal_samples(voice: Voice) -> None:
    first, second = (voice.synthesize(SENTENCES["en"], "en").samples for _ in range(2))
    np.testing.assert_array_equal(first, second)


@pytest.mark.parametrize("text", ["", "  \n\n ", "😀👍🏽👩‍👩‍👧", "\0\x07\x1b", "<break/>", "?!"])
def test_nothing_to_say_gives_no_samples(voice: Voice, text: str) -> None:
    spoken = voice.synthesize(text, "en")
    assert len(spoken.samples) == 0
    assert spoken.sampling_rate > 0
    assert list(voice.stream(text, "en")) == []


def test_what_it_cannot_do_is_refused(voice: Voice) -> None:
    with pytest.raises(TextTooLong):
        voice.synthesize("a" * 100_000, "en")
    with pytest.raises(UnsupportedByModel):
        voice.synthesize("a", "tlh")
    with pytest.raises(UnknownVoice):
        voice.synthesize("a", "en", "nobody")
    with pytest.raises(InvalidParameters):
        voice.synthesize("a", "en", speed=3.0)
