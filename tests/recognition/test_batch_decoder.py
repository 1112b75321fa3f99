"""Fallback and guards, each on audio that provokes it."""

from pathlib import Path

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from transformers import WhisperForConditionalGeneration

from speech_pipeline.recognition.batch_decoder import BatchDecoder
from speech_pipeline.recognition.decoding import SPARE_TOKENS, TOKENS_PER_SECOND
from speech_pipeline.recognition.whisper import WhisperRecognizer
from speech_pipeline.recognition.windows import Window
from tests.recognition.listening import (
    attempts,
    decoded_rows,
    recognize,
    recorded_passes,
    samples_of,
    text_of,
    tokens_of,
    whole_window,
)

TEMPERATURES = (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)


@pytest.fixture(scope="module")
def call(sample_call: Path) -> NDArray[np.float32]:
    return samples_of(sample_call)


@pytest.fixture(scope="module")
def hello_loop(call: NDArray[np.float32]) -> Window:
    """One "hello" of the call six times over, 3.6 s; the text repeats more than speech may."""
    return whole_window(np.tile(call[105_600:115_200], 6))


def masked(call: NDArray[np.float32], level: float) -> Window:
    """7 s of the call under white noise of a standard deviation of ``level``."""
    speech = call[105_600:216_000]
    return whole_window(speech + np.random.default_rng(0).normal(0, level, len(speech)))


def noise() -> NDArray[np.float64]:
    return np.random.default_rng(0).normal(0, 0.1, 80_000)


def chord() -> NDArray[np.float64]:
    time = np.arange(80_000) / 16_000
    return sum(0.1 * np.sin(2 * np.pi * pitch * time) for pitch in (262, 330, 392)) * (1 + np.sin(4 * np.pi * time))


def beeps() -> NDArray[np.float64]:
    time = np.arange(80_000) / 16_000
    return 0.3 * np.sin(2 * np.pi * 800 * time) * (np.sin(2 * np.pi * time) > 0)


class TestNoSpeech:
    SOUNDS = (noise, chord, beeps)

    def test_text_of_sounds_that_are_no_speech_is_dropped(
        self, recognizer: WhisperRecognizer, model: WhisperForConditionalGeneration, call_windows: list[Window]
    ) -> None:
        windows = [call_windows[1], *(whole_window(sound()) for sound in self.SOUNDS)]
        with recorded_passes(model) as passes:
            spoken, *others = recognize(recognizer, windows, language="en")
        assert spoken.segments
        assert [other.segments for other in others] == [()] * len(others)
        assert not any(other.warnings for other in others)
        assert attempts(passes) == [len(windows)], "silence is not tried again at other temperatures"

    def test_text_is_kept_without_the_guard(self, recognizer: WhisperRecognizer) -> None:
        windows = [whole_window(sound()) for sound in self.SOUNDS]
        kept = recognize(recognizer, windows, language="en", no_speech_threshold=None, temperature=[0.0])
        assert all(text_of([each]) for each in kept)
        assert all(each.segments[0].no_speech_probability > 0.6 for each in kept)
        assert all("doubtful" in each.warnings[0] for each in kept)

    def test_the_guard_alone_keeps_what_the_model_is_sure_of(
        self, recognizer: WhisperRecognizer, call_windows: list[Window]
    ) -> None:
        """Whatever its probability of silence is, text that the model is sure of is speech."""
        (recognition,) = recognize(recognizer, call_windows[1:2], no_speech_threshold=0.0)
        assert text_of([recognition])


class TestRepetition:
    def test_is_tried_again_at_each_temperature(
        self, decoder: BatchDecoder, model: WhisperForConditionalGeneration, hello_loop: Window
    ) -> None:
        with recorded_passes(model) as passes:
            (row,) = decoded_rows(decoder, [hello_loop], language="en")
        assert row.best is not None
        assert attempts(passes) == [1] * len(TEMPERATURES)
        assert row.best.compression_ratio > 2.4
        assert row.doubtful

    def test_that_never_ends_costs_no_more_than_its_audio_could_hold(
        self, decoder: BatchDecoder, call: NDArray[np.float32]
    ) -> None:
        """Of eight "hellos" in 4.8 s greedy decoding makes more than a hundred."""
        loop = whole_window(np.tile(call[105_600:115_200], 8))
        (row,) = decoded_rows(decoder, [loop], language="en", temperature=[0.0])
        assert 50 < len(tokens_of(row)) <= SPARE_TOKENS + 4.8 * TOKENS_PER_SECOND

    def test_is_decoded_once_without_the_guard(
        self, decoder: BatchDecoder, model: WhisperForConditionalGeneration, hello_loop: Window
    ) -> None:
        with recorded_passes(model) as passes:
            (row,) = decoded_rows(decoder, [hello_loop], language="en", compression_ratio_threshold=None)
        assert row.best is not None
        assert row.best.compression_ratio > 2.4
        assert attempts(passes) == [1]
        assert not row.doubtful

    def test_ends_at_the_first_temperature_that_does_not_repeat(
        self, decoder: BatchDecoder, model: WhisperForConditionalGeneration, hello_loop: Window
    ) -> None:
        (loop,) = decoded_rows(decoder, [hello_loop], language="en", temperature=[0.0])
        assert loop.best is not None
        limit = loop.best.compression_ratio - 0.01
        with recorded_passes(model) as passes:
            (row,) = decoded_rows(decoder, [hello_loop], language="en", compression_ratio_threshold=limit)
        assert row.best is not None
        assert row.best.compression_ratio <= limit
        assert row.best.temperature > 0
        assert row.best.temperature == TEMPERATURES[len(attempts(passes)) - 1]
        assert not row.doubtful

    def test_of_one_window_leaves_the_others_as_they_are(
        self,
        recognizer: WhisperRecognizer,
        model: WhisperForConditionalGeneration,
        hello_loop: Window,
        call_windows: list[Window],
    ) -> None:
        options = {"language": "en", "temperature": [0.0, 0.8]}
        with recorded_passes(model) as passes:
            mixed = recognize(recognizer, [call_windows[0], hello_loop, call_windows[1]], **options)
        assert attempts(passes) == [3, 1]
        assert "doubtful" in mixed[1].warnings[0]
        alone = recognize(recognizer, call_windows[:2], **options)
        assert [text_of([each]) for each in (mixed[0], mixed[2])] == [text_of([each]) for each in alone]
        assert {segment.temperature for each in alone for segment in each.segments} == {0.0}


class TestDoubtfulWindow:
    def test_is_heard_again_in_halves(self, recognizer: WhisperRecognizer, call: NDArray[np.float32]) -> None:
        """Where phrases come again and again, the rest of the window is not lost with them."""
        loop, speech = np.tile(call[105_600:115_200], 20), call[224_000:416_000]
        window = whole_window(np.concatenate([loop, speech]))
        (whole,) = recognize(recognizer, [whole_window(loop[:144_000])], language="en", temperature=[0.0])
        assert "doubtful" in whole.warnings[0], "too short to be halved"
        (recognition,) = recognize(recognizer, [window], language="en", temperature=[0.0])
        assert "there is not much difference" in text_of([recognition])
        late = [segment for segment in recognition.segments if segment.start > 13]
        assert late
        assert all(segment.compression_ratio < 2.4 for segment in late)
        assert all(float(warning.split(" s ")[0].split()[-1]) < 12 for warning in recognition.warnings)


class TestAverageLogProbability:
    def test_speech_under_noise_is_tried_again_until_the_model_is_surer(
        self, decoder: BatchDecoder, model: WhisperForConditionalGeneration, call: NDArray[np.float32]
    ) -> None:
        window = masked(call, 0.03)
        (greedy,) = decoded_rows(decoder, [window], language="en", temperature=[0.0])
        assert greedy.best is not None
        assert greedy.best.average_log_probability < -1.0
        assert greedy.doubtful
        limit = greedy.best.average_log_probability + 0.01
        with recorded_passes(model) as passes:
            (row,) = decoded_rows(decoder, [window], language="en", logprob_threshold=limit)
        assert row.best is not None
        assert not row.doubtful
        assert row.best.average_log_probability >= limit
        assert row.best.temperature == TEMPERATURES[len(attempts(passes)) - 1] > 0

    def test_text_that_stays_doubtful_comes_with_a_warning(
        self, recognizer: WhisperRecognizer, call: NDArray[np.float32]
    ) -> None:
        (recognition,) = recognize(recognizer, [masked(call, 0.07)], language="en", temperature=[0.0, 1.0])
        assert recognition.segments
        assert recognition.segments[0].average_log_probability < -1.0
        assert recognition.warnings == (
            "The text from 0.0 s to 6.9 s is doubtful: the model repeats itself or is unsure.",
        )

    def test_without_the_guard_one_attempt_is_enough(
        self, decoder: BatchDecoder, model: WhisperForConditionalGeneration, call: NDArray[np.float32]
    ) -> None:
        with recorded_passes(model) as passes:
            (row,) = decoded_rows(decoder, [masked(call, 0.03)], language="en", logprob_threshold=None)
        assert attempts(passes) == [1]
        assert not row.doubtful


class TestSampling:
    def test_of_a_window_is_the_same_each_time_and_in_any_company(
        self, decoder: BatchDecoder, call_windows: list[Window]
    ) -> None:
        options = {"language": "en", "temperature": [1.0], "logprob_threshold": None}
        together = decoded_rows(decoder, call_windows[:3], **options)
        (alone,) = decoded_rows(decoder, call_windows[1:2], **options)
        (greedy,) = decoded_rows(decoder, call_windows[1:2], language="en", temperature=[0.0])
        assert tokens_of(alone) == tokens_of(together[1]) != tokens_of(greedy)

    def test_leaves_the_generator_of_torch_alone(self, decoder: BatchDecoder, call_windows: list[Window]) -> None:
        before = torch.random.get_rng_state()
        decoded_rows(decoder, call_windows[1:2], language="en", temperature=[1.0])
        assert torch.equal(torch.random.get_rng_state(), before)
