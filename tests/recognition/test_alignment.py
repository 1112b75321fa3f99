import difflib
import itertools
import json
import re
from collections.abc import Sequence
from pathlib import Path

import hypothesis.strategies as st
import numpy as np
import pytest
import torch
from hypothesis import given, settings
from transformers import WhisperForConditionalGeneration, WhisperTokenizerFast
from transformers.modeling_outputs import BaseModelOutput

from speech_pipeline.audio.voice_activity import VoiceActivityDetector
from speech_pipeline.recognition.alignment import FRAME_S, AttentionMap, Reading, align, alignment_heads, read_texts
from speech_pipeline.recognition.batch_decoder import BatchDecoder
from speech_pipeline.recognition.whisper import WhisperRecognizer
from speech_pipeline.recognition.windows import Window
from speech_pipeline.transcript import Word
from tests.recognition.listening import encoder_states, recognize, speech_windows

CLIPS_WITH_WORD_TIMES = ("speech/en.wav", "speech/es.wav", "speech/de.wav", "speech/it.wav")


def words_of(recognizer: WhisperRecognizer, windows: Sequence[Window], **parameters: object) -> list[Word]:
    recognitions = recognize(recognizer, windows, **parameters)
    return [word for each in recognitions for segment in each.segments for word in segment.words]


def start_errors(words: Sequence[Word], reference: Sequence[tuple[str, float | None]]) -> list[float]:
    """Seconds by which starts differ, of the words that were recognised and have a reference start."""
    heard, said = [plain(word.text) for word in words], [plain(text) for text, _ in reference]
    errors = []
    for block in difflib.SequenceMatcher(None, heard, said, autojunk=False).get_matching_blocks():
        for offset in range(block.size):
            start = reference[block.b + offset][1]
            if start is not None:
                errors.append(abs(words[block.a + offset].start - start))
    return errors


def plain(text: str) -> str:
    return re.sub(r"\W", "", text).lower()


def utterances(stm: Path) -> list[tuple[str, float | None]]:
    """Words of an STM file; the first of each utterance has the start of the utterance."""
    words: list[tuple[str, float | None]] = []
    for line in stm.read_text().splitlines():
        _, _, _, start, _, text = line.split(maxsplit=5)
        first, *rest = text.split()
        words += [(first, float(start)), *((word, None) for word in rest)]
    return words


def check_order(words: Sequence[Word], window: Window) -> None:
    assert words
    times = np.array([(word.start, word.end) for word in words])
    assert np.isfinite(times).all()
    assert (times[:, 0] <= times[:, 1]).all()
    assert (np.diff(times[:, 0]) >= 0).all()
    assert times.min() >= window.start
    assert times.max() <= window.end


class TestWordTimes:
    def test_of_the_call_are_in_order_and_at_the_utterances(
        self, recognizer: WhisperRecognizer, call_windows: list[Window], sample_call: Path
    ) -> None:
        recognitions = recognize(recognizer, call_windows, language="en")
        words = []
        for window, recognition in zip(call_windows, recognitions, strict=True):
            own = [word for segment in recognition.segments for word in segment.words]
            check_order(own, window)
            words += own
        errors = start_errors(words, utterances(sample_call.with_suffix(".stm")))
        assert len(errors) >= 8
        assert np.median(errors) < 0.12

    def test_of_clips_are_near_the_reference(
        self, recognizer: WhisperRecognizer, detector: VoiceActivityDetector, shared_data: Path
    ) -> None:
        entries = {entry["file"]: entry for entry in json.loads((shared_data / "manifest.json").read_text())}
        errors: list[float] = []
        for name in CLIPS_WITH_WORD_TIMES:
            entry = entries[name]
            (window,) = speech_windows(detector, shared_data / name)
            words = words_of(recognizer, [window], language=entry["language"])
            check_order(words, window)
            errors += start_errors(words, [(word["word"], word["start"]) for word in entry["words"]])
        assert len(errors) >= 25
        assert np.median(errors) < 0.1
        assert np.percentile(errors, 90) < 0.25

    def test_of_a_model_that_names_no_alignment_heads(
        self,
        recognizer: WhisperRecognizer,
        model: WhisperForConditionalGeneration,
        call_windows: list[Window],
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        named = alignment_heads(model)
        monkeypatch.delattr(model.generation_config, "alignment_heads")
        layers = {layer for layer, _ in alignment_heads(model)}
        assert layers == {3, 4, 5}
        assert len(alignment_heads(model)) == 24 > len(named)
        check_order(words_of(recognizer, call_windows[1:2]), call_windows[1])


class TestReadTexts:
    TEXTS = (" This is Diane in New Jersey.", " Hello.", "", " Neither did I. Okay, then I thought you know.")

    @pytest.fixture(scope="class")
    def states(self, decoder: BatchDecoder, call_windows: list[Window]) -> torch.Tensor:
        return encoder_states(decoder, call_windows)

    def read(
        self,
        model: WhisperForConditionalGeneration,
        tokenizer: WhisperTokenizerFast,
        decoder: BatchDecoder,
        states: torch.Tensor,
        texts: Sequence[str],
        frames: int = 400,
    ) -> tuple[list[Reading], torch.Tensor, list[list[int]]]:
        """Readings of texts, the prompts and the token ids they are of."""
        vocabulary = decoder.vocabulary
        ids = [[*tokenizer.encode(text, add_special_tokens=False), vocabulary.end] for text in texts]
        prompts = torch.tensor([vocabulary.prompt(language="en", task="transcribe")] * len(texts))
        with torch.inference_mode():
            readings = read_texts(model, states[: len(texts)], prompts, ids, [frames] * len(texts))
        return readings, prompts, ids

    def test_gives_the_log_probabilities_of_a_plain_forward_pass(
        self,
        model: WhisperForConditionalGeneration,
        tokenizer: WhisperTokenizerFast,
        decoder: BatchDecoder,
        states: torch.Tensor,
    ) -> None:
        readings, prompts, texts = self.read(model, tokenizer, decoder, states, self.TEXTS)
        for row, (reading, ids) in enumerate(zip(readings, texts, strict=True)):
            inputs = torch.cat([prompts[row], torch.tensor(ids)])[None]
            with torch.inference_mode():
                logits = model(encoder_outputs=BaseModelOutput(states[row : row + 1]), decoder_input_ids=inputs).logits[
                    0
                ]
            expected = logits.log_softmax(dim=-1)[prompts.shape[1] - 1 : -1].gather(1, torch.tensor(ids)[:, None])
            np.testing.assert_allclose(reading.log_probabilities, expected[:, 0], atol=1e-3)

    @pytest.mark.parametrize("frames", [1, 3, 400, 1500])
    def test_gives_attention_over_the_frames_of_any_text(
        self,
        frames: int,
        model: WhisperForConditionalGeneration,
        tokenizer: WhisperTokenizerFast,
        decoder: BatchDecoder,
        states: torch.Tensor,
    ) -> None:
        readings, _, texts = self.read(model, tokenizer, decoder, states, self.TEXTS, frames)
        for reading, ids in zip(readings, texts, strict=True):
            for attention in (reading.attention.strength, reading.attention.contrast):
                assert attention.shape == (len(ids), frames)
                assert np.isfinite(attention).all()
            assert (reading.attention.strength >= 0).all()
            spans = align(reading.attention, [range(i, i + 1) for i in range(len(ids) - 1)])
            assert len(spans) == len(ids) - 1
            assert all(0 <= start < end <= frames * FRAME_S + 1e-9 for start, end in spans)

    def test_leaves_no_hooks(
        self,
        model: WhisperForConditionalGeneration,
        tokenizer: WhisperTokenizerFast,
        decoder: BatchDecoder,
        states: torch.Tensor,
    ) -> None:
        def hooks() -> int:
            return sum(len(module._forward_pre_hooks) + len(module._forward_hooks) for module in model.modules())

        before = hooks()
        self.read(model, tokenizer, decoder, states, self.TEXTS)
        with pytest.raises(RuntimeError):
            self.read(model, tokenizer, decoder, states[:, :, :100], self.TEXTS)
        assert hooks() == before


class TestAlign:
    @given(data=st.data())
    @settings(deadline=None)
    def test_words_are_in_order_and_inside(self, data: st.DataObject) -> None:
        words = data.draw(st.lists(st.integers(1, 4), max_size=8), label="tokens of each word")
        frames = data.draw(st.integers(1, 40), label="frames")
        seed = data.draw(st.integers(0, 1000), label="seed")
        borders = np.cumsum([0, *words])
        generator = np.random.default_rng(seed)
        shape = (int(borders[-1]) + 1, frames)
        attention = AttentionMap(
            generator.random(shape, dtype=np.float32), generator.normal(size=shape).astype(np.float32)
        )
        ranges = [range(int(a), int(b)) for a, b in itertools.pairwise(borders)]
        spans = align(attention, ranges)
        assert len(spans) == len(words)
        assert all(0 <= start < end <= frames * FRAME_S + 1e-9 for start, end in spans)
        assert [start for start, _ in spans] == sorted(start for start, _ in spans)

    def test_a_word_starts_where_its_attention_rises(self) -> None:
        """The silence before a word belongs to it on the path, but not to its time."""
        contrast = np.full((3, 40), -1.0, np.float32)
        contrast[0, :10] = contrast[1, 10:30] = contrast[2, 30:] = 1.0
        strength = np.full((3, 40), 0.01, np.float32)
        strength[0, 2:10] = strength[1, 20:30] = 0.5
        spans = align(AttentionMap(strength, contrast), [range(0, 1), range(1, 2)])
        assert np.round(np.array(spans) / FRAME_S).tolist() == [[2, 10], [20, 30]]

    def test_no_words(self) -> None:
        empty = np.zeros((1, 5), np.float32)
        assert align(AttentionMap(empty, empty), []) == []
