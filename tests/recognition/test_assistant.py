import copy
import functools
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
import torch
from transformers import (
    WhisperConfig,
    WhisperFeatureExtractor,
    WhisperForConditionalGeneration,
    WhisperTokenizerFast,
)

from speech_pipeline.audio.voice_activity import VoiceActivityDetector
from speech_pipeline.errors import AssistantUnavailable, ModelMismatch
from speech_pipeline.recognition.assistant import Assistant
from speech_pipeline.recognition.batch_decoder import BatchDecoder
from speech_pipeline.recognition.whisper import Recognition, WhisperRecognizer
from speech_pipeline.recognition.windows import Window
from speech_pipeline.transcript import Word
from tests.recognition.listening import (
    SPEECH_CLIPS,
    decoded_rows,
    encoder_states,
    recognize,
    recorded_passes,
    request,
    speech_windows,
    text_of,
    tokens_of,
)

OTHER_PASSES = 2
"""Passes of a window beside those that write tokens: the language, and the reading."""


class Trial:
    """Decodes windows with each assistant and without, encoding each window once."""

    def __init__(self, alone: BatchDecoder, assisted: dict[str, BatchDecoder]) -> None:
        self.alone = alone
        self.assisted = assisted
        self._states: dict[int, torch.Tensor] = {}
        self._expected: dict[int, tuple[int, ...]] = {}

    def run(self, kind: str, window: Window) -> tuple[tuple[int, ...], int]:
        """Tokens of a window, and the main model's passes that wrote them."""
        decoder = self.assisted[kind]
        with recorded_passes(decoder.model) as passes:
            (row,) = decoded_rows(decoder, [window], assisted=True, states=self._encoded(window), temperature=[0.0])
        return tokens_of(row), len(passes) - OTHER_PASSES

    def expected(self, window: Window) -> tuple[int, ...]:
        """Tokens of a window without an assistant."""
        if id(window) not in self._expected:
            (row,) = decoded_rows(self.alone, [window], states=self._encoded(window), temperature=[0.0])
            self._expected[id(window)] = tokens_of(row)
        return self._expected[id(window)]

    def check(self, kind: str, windows: Sequence[Window]) -> None:
        """The same tokens, in at most one pass for each and for the end token; far fewer with a good assistant."""
        for window in windows:
            tokens, passes = self.run(kind, window)
            assert tokens == self.expected(window)
            # A good one agrees wherever it is sure enough to propose, and proposals begin at 20 tokens.
            assert passes <= (len(tokens) + 1 if kind == "shallow" else 2 + len(tokens) / 4)

    def _encoded(self, window: Window) -> torch.Tensor:
        if id(window) not in self._states:
            self._states[id(window)] = encoder_states(self.alone, [window])
        return self._states[id(window)]


@pytest.fixture(scope="module")
def clip(detector: VoiceActivityDetector, shared_data: Path) -> Callable[[str], list[Window]]:
    """First and last window of a shared recording, at most 10 s long, cut once."""

    @functools.cache
    def windows(name: str) -> list[Window]:
        cut = speech_windows(detector, shared_data / name, max_duration_s=10.0)
        return [cut[0], cut[-1]] if len(cut) > 1 else cut

    return windows


@pytest.fixture(scope="module")
def assistants(
    model: WhisperForConditionalGeneration, shallow_model: WhisperForConditionalGeneration
) -> dict[str, Assistant]:
    other_encoder = copy.deepcopy(model)
    with torch.no_grad():
        other_encoder.get_encoder().layers[0].fc1.weight[0, 0] += 1
    return {
        "itself": Assistant.fit(copy.deepcopy(model), model),
        "shallow": Assistant.fit(shallow_model, model),
        "other encoder": Assistant.fit(other_encoder, model),
    }


@pytest.fixture(scope="module")
def trial(
    assistants: dict[str, Assistant],
    decoder: BatchDecoder,
    tokenizer: WhisperTokenizerFast,
    feature_extractor: WhisperFeatureExtractor,
) -> Trial:
    assisted = {
        kind: BatchDecoder(decoder.model, tokenizer, feature_extractor, each) for kind, each in assistants.items()
    }
    return Trial(decoder, assisted)


@pytest.fixture(scope="module")
def assisted_recognizer(
    assistants: dict[str, Assistant],
    model: WhisperForConditionalGeneration,
    tokenizer: WhisperTokenizerFast,
    feature_extractor: WhisperFeatureExtractor,
) -> WhisperRecognizer:
    return WhisperRecognizer(model, tokenizer, feature_extractor, assistants["itself"])


@pytest.mark.parametrize("kind", ["itself", "shallow", "other encoder"])
class TestGivesWhatTheModelAloneGives:
    def test_on_the_call(self, kind: str, trial: Trial, call_windows: list[Window]) -> None:
        trial.check(kind, call_windows)

    @pytest.mark.parametrize("name", SPEECH_CLIPS)
    def test_on_a_clip(self, kind: str, name: str, clip: Callable[[str], list[Window]], trial: Trial) -> None:
        trial.check(kind, clip(name))


def test_a_prompt_is_seen_by_the_assistant(trial: Trial, call_windows: list[Window]) -> None:
    decoder, window = trial.assisted["itself"], call_windows[1]
    options = {"prompt": "Dianne talks to Shiela.", "language": "en", "temperature": [0.0]}
    (alone,) = decoded_rows(decoder, [window], **options)
    with recorded_passes(decoder.model) as passes:
        (row,) = decoded_rows(decoder, [window], assisted=True, **options)
    assert tokens_of(row) == tokens_of(alone)
    assert len(passes) - OTHER_PASSES <= 2 + len(tokens_of(row)) / 4


def test_words_and_their_times_are_the_same(
    assisted_recognizer: WhisperRecognizer, recognizer: WhisperRecognizer, call_windows: list[Window]
) -> None:
    assisted = recognize(assisted_recognizer, call_windows[:1], assisted=True)
    alone = recognize(recognizer, call_windows[:1], batch_size=1)
    assert assisted[0].segments
    for ours, theirs in zip(words_of(assisted), words_of(alone), strict=True):
        assert (ours.text, ours.start, ours.end) == (theirs.text, theirs.start, theirs.end)
        # Computed in one pass over the text, and in one step a token.
        assert ours.probability == pytest.approx(theirs.probability, abs=1e-3)


def words_of(recognitions: list[Recognition]) -> list[Word]:
    return [word for recognition in recognitions for segment in recognition.segments for word in segment.words]


def test_passes_do_not_depend_on_earlier_requests(trial: Trial, call_windows: list[Window]) -> None:
    first, second = call_windows[:2]
    before = trial.run("shallow", first)
    trial.run("shallow", second)
    assert trial.run("shallow", first) == before
    assistant = trial.assisted["shallow"].assistant
    assert assistant is not None
    assert assistant.model.generation_config.assistant_confidence_threshold in (None, 0.4)


class TestFit:
    def test_shares_the_encoder_where_it_is_the_same(self, assistants: dict[str, Assistant]) -> None:
        shared = {kind: assistant.shares_encoder for kind, assistant in assistants.items()}
        assert shared == {"itself": True, "shallow": True, "other encoder": False}

    def test_refuses_another_vocabulary(
        self, model: WhisperForConditionalGeneration, english_recognizer: WhisperRecognizer
    ) -> None:
        english = english_recognizer._decoder.model
        with pytest.raises(ModelMismatch, match=r"51864.*51865"):
            Assistant.fit(english, model)

    def test_refuses_other_features(self, model: WhisperForConditionalGeneration) -> None:
        other = tiny_model(vocab_size=model.config.vocab_size, num_mel_bins=128)
        with pytest.raises(ModelMismatch, match=r"128 mel bins.*80"):
            Assistant.fit(other, model)

    def test_takes_an_encoder_of_another_size(self, model: WhisperForConditionalGeneration) -> None:
        other = tiny_model(vocab_size=model.config.vocab_size, num_mel_bins=80)
        assert not Assistant.fit(other, model).shares_encoder


class TestUse:
    def test_needs_an_assistant(self, recognizer: WhisperRecognizer, call_windows: list[Window]) -> None:
        with pytest.raises(AssistantUnavailable) as caught:
            recognize(recognizer, call_windows[:1], assisted=True)
        assert caught.value.code == "assistant_unavailable"

    def test_auto_without_an_assistant_does_without(
        self, recognizer: WhisperRecognizer, call_windows: list[Window]
    ) -> None:
        assert text_of(recognize(recognizer, call_windows[:1], assisted="auto"))

    def test_auto_is_for_a_request_of_one_window(
        self,
        assisted_recognizer: WhisperRecognizer,
        model: WhisperForConditionalGeneration,
        call_windows: list[Window],
    ) -> None:
        one = call_windows[1]
        texts, counts = [], []
        for windows, options in (([one], {"assisted": "auto"}), ([one], {}), (call_windows[1:3], {"assisted": "auto"})):
            with recorded_passes(model) as passes:
                texts.append(text_of(recognize(assisted_recognizer, windows, language="en", **options)[:1]))
            counts.append(len(passes))
        assert texts[0] == texts[1] == texts[2]
        assert counts[0] < counts[1] / 2
        assert counts[2] >= counts[1]

    def test_auto_counts_the_windows_of_each_request(
        self,
        assisted_recognizer: WhisperRecognizer,
        model: WhisperForConditionalGeneration,
        call_windows: list[Window],
    ) -> None:
        """Two requests of one window each are assisted, one after the other, though they share a call."""
        items = [(window, request(assisted="auto", language="en")) for window in call_windows[1:3]]
        with recorded_passes(model) as passes:
            assisted_recognizer.recognize(items)
        assert {rows for rows, _ in passes} == {1}

    def test_the_beam_goes_before_auto(
        self, assisted_recognizer: WhisperRecognizer, recognizer: WhisperRecognizer, call_windows: list[Window]
    ) -> None:
        options = {"num_beams": 2, "language": "en"}
        assert text_of(recognize(assisted_recognizer, call_windows[:1], assisted="auto", **options)) == text_of(
            recognize(recognizer, call_windows[:1], **options)
        )


def tiny_model(*, vocab_size: int, num_mel_bins: int) -> WhisperForConditionalGeneration:
    """A model with random weights."""
    return WhisperForConditionalGeneration(
        WhisperConfig(
            vocab_size=vocab_size,
            num_mel_bins=num_mel_bins,
            d_model=16,
            encoder_layers=1,
            decoder_layers=1,
            encoder_attention_heads=2,
            decoder_attention_heads=2,
            encoder_ffn_dim=16,
            decoder_ffn_dim=16,
        )
    )
