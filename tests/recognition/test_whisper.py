import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from transformers import WhisperFeatureExtractor, WhisperForConditionalGeneration, WhisperTokenizerFast

from speech_pipeline.audio.voice_activity import VoiceActivityDetector
from speech_pipeline.errors import OutOfMemory, UnsupportedByModel
from speech_pipeline.pipeline import SpeechPipeline
from speech_pipeline.recognition.whisper import Recognition, WhisperRecognizer
from speech_pipeline.recognition.windows import Window
from tests.recognition.listening import (
    recognize,
    recorded_passes,
    request,
    samples_of,
    speech_windows,
    text_of,
    windows_of,
)


@contextmanager
def failing_decoder(
    model: WhisperForConditionalGeneration, error: BaseException, largest: int = 0
) -> Iterator[list[int]]:
    """A decoder that raises ``error`` for batches larger than ``largest``; gives the batches it was asked for."""
    sizes: list[int] = []
    start = model.config.decoder_start_token_id

    def refuse(_module: torch.nn.Module, args: tuple[torch.Tensor, ...]) -> None:
        # Every batch begins with the start token alone.
        if args[0].shape[1] == 1 and bool((args[0] == start).all()):
            sizes.append(len(args[0]))
            if sizes[-1] > largest:
                raise error

    handle = model.get_decoder().embed_tokens.register_forward_pre_hook(refuse)
    try:
        yield sizes
    finally:
        handle.remove()


def texts(recognitions: list[Recognition]) -> list[str]:
    return [text_of([each]) for each in recognitions]


def check_same(one: Recognition, other: Recognition) -> None:
    """The same words, times and scores, but for rounding."""
    assert text_of([one]) == text_of([other])
    assert one.language == other.language
    for segment, twin in zip(one.segments, other.segments, strict=True):
        assert [word.text for word in segment.words] == [word.text for word in twin.words]
        times, twins = ([t for w in s.words for t in (w.start, w.end)] for s in (segment, twin))
        assert times == pytest.approx(twins, abs=0.021)
        assert segment.average_log_probability == pytest.approx(twin.average_log_probability, abs=1e-3)
        assert segment.no_speech_probability == pytest.approx(twin.no_speech_probability, abs=1e-3)
        assert segment.temperature == twin.temperature


class TestResult:
    def test_of_the_call(
        self, recognizer: WhisperRecognizer, model: WhisperForConditionalGeneration, call_windows: list[Window]
    ) -> None:
        told: list[tuple[str, float]] = []
        config = request()
        with recorded_passes(model) as passes:
            recognitions = recognizer.recognize([(w, config) for w in call_windows], lambda *p: told.append(p))
        text = text_of(recognitions)
        for phrase in ("I didn't know you were there", "This is Diane", "in New Jersey", "originally from Chicago"):
            assert phrase in text
        assert {each.language for each in recognitions} == {"en"}
        assert all(segment.language == "en" for each in recognitions for segment in each.segments)
        assert max(rows for rows, _ in passes) == len(call_windows)
        assert told == [("recognition", 1.0)]

    def test_joins_to_the_text_and_lies_in_its_window(
        self, recognizer: WhisperRecognizer, call_windows: list[Window]
    ) -> None:
        recognitions = recognize(recognizer, call_windows[:3], language="en", batch_size=2)
        for window, recognition in zip(call_windows, recognitions, strict=False):
            assert recognition.segments
            for segment in recognition.segments:
                assert "".join(word.text for word in segment.words) == segment.text
                assert window.start <= segment.start <= segment.end <= window.end
                assert all(0 < word.probability <= 1 for word in segment.words)

    def test_of_nothing(self, recognizer: WhisperRecognizer) -> None:
        assert recognizer.recognize([]) == []

    def test_carries_the_channel(self, recognizer: WhisperRecognizer, call_windows: list[Window]) -> None:
        window = replace(call_windows[1], channel=3)
        (recognition,) = recognize(recognizer, [window], language="en")
        assert {segment.channel for segment in recognition.segments} == {3}

    def test_text_is_the_same_with_and_without_word_times(self, pipeline: SpeechPipeline, sample_call: Path) -> None:
        recording = sample_call.read_bytes()
        timed, plain = (pipeline.transcribe(recording, request(word_timestamps=wanted)) for wanted in (True, False))
        assert timed.text == plain.text != ""
        assert [(s.text, s.start, s.end) for s in timed.segments] == [(s.text, s.start, s.end) for s in plain.segments]
        assert timed.words
        assert plain.words == ()


class TestBatch:
    def test_gives_each_window_what_it_gets_alone(
        self, recognizer: WhisperRecognizer, call_windows: list[Window]
    ) -> None:
        together = recognize(recognizer, call_windows[:3], language="en")
        one_by_one = recognize(recognizer, call_windows[:3], language="en", batch_size=1)
        for one, other in zip(together, one_by_one, strict=True):
            check_same(one, other)

    def test_keeps_the_order_of_its_items(self, recognizer: WhisperRecognizer, call_windows: list[Window]) -> None:
        forwards = recognize(recognizer, call_windows[:3], language="en", batch_size=2)
        backwards = recognize(recognizer, call_windows[2::-1], language="en", batch_size=2)
        assert texts(backwards) == texts(forwards)[::-1]

    def test_of_requests_with_different_options(
        self,
        recognizer: WhisperRecognizer,
        model: WhisperForConditionalGeneration,
        call_windows: list[Window],
    ) -> None:
        """Language, task, temperature and guards share a batch; prompts and beams that do not fit take another."""
        short, longer = call_windows[0], call_windows[1]
        items = [
            (longer, request(language="en")),
            (short, request(language="fr", task="translate", temperature=[0.0])),
            (short, request(language="en", prompt="Dyan and Sheelah")),
            (short, request(language="en", num_beams=2)),
            (longer, request(language="en", temperature=[0.6], logprob_threshold=None)),
            (longer, request()),
        ]
        with recorded_passes(model) as passes:
            together = recognizer.recognize(items)
        assert max(rows for rows, _ in passes) == 4
        for item, recognition in zip(items, together, strict=True):
            (alone,) = recognizer.recognize([item])
            check_same(recognition, alone)
        assert together[4].segments[0].temperature == 0.6

    def test_of_calls_from_several_threads(
        self, recognizer: WhisperRecognizer, model: WhisperForConditionalGeneration, call_windows: list[Window]
    ) -> None:
        expected = texts(recognize(recognizer, call_windows[:2], language="en"))
        results: dict[int, str] = {}

        def work(index: int) -> None:
            results[index] = texts(recognize(recognizer, [call_windows[index]], language="en"))[0]

        threads = [threading.Thread(target=work, args=(index,)) for index in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert [results[0], results[1]] == expected


def test_a_text_longer_than_the_decoder_is_written_in_parts(
    recognizer: WhisperRecognizer, call_windows: list[Window], monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = texts(recognize(recognizer, call_windows, language="en"))
    monkeypatch.setattr("speech_pipeline.recognition.batch_decoder.max_new_tokens", lambda _: 25)
    recognitions = recognize(recognizer, call_windows, language="en")
    heard, wanted = (" ".join(parts).lower() for parts in (texts(recognitions), expected))
    assert "new jersey now" in heard
    assert len(heard) > 0.8 * len(wanted)
    words = [word for recognition in recognitions for segment in recognition.segments for word in segment.words]
    assert [word.start for word in words] == sorted(word.start for word in words)


def test_a_call_in_one_language_reads_the_same_as_where_it_is_told(
    recognizer: WhisperRecognizer, detector: VoiceActivityDetector, sample_call: Path
) -> None:
    windows = speech_windows(detector, sample_call)
    assert all(window.pauses for window in windows)
    assert texts(recognize(recognizer, windows)) == texts(recognize(recognizer, windows, language="en"))


class TestMemory:
    @pytest.mark.parametrize(
        "error",
        [
            torch.OutOfMemoryError("CUDA out of memory."),
            RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried to allocate 1 bytes."),
        ],
    )
    def test_a_batch_that_does_not_fit_is_halved(
        self,
        error: Exception,
        recognizer: WhisperRecognizer,
        model: WhisperForConditionalGeneration,
        call_windows: list[Window],
    ) -> None:
        windows = call_windows[:3]
        expected = recognize(recognizer, windows, language="en")
        told: list[float] = []
        config = request(language="en")
        with failing_decoder(model, error, largest=2) as sizes:
            recognitions = recognizer.recognize([(w, config) for w in windows], lambda _, done: told.append(done))
        assert sizes == [3, 2, 1]
        assert told == sorted(told)
        assert told[-1] == 1.0
        for one, other in zip(recognitions, expected, strict=True):
            check_same(one, other)
            assert other.warnings == ()
            (warning,) = one.warnings
            assert "batch size was reduced to 2" in warning

    def test_one_window_that_does_not_fit_is_an_error(
        self, recognizer: WhisperRecognizer, model: WhisperForConditionalGeneration, call_windows: list[Window]
    ) -> None:
        with failing_decoder(model, torch.OutOfMemoryError("out of memory")) as sizes, pytest.raises(OutOfMemory) as e:
            recognize(recognizer, call_windows[:3], language="en")
        assert sizes == [3, 2, 1]
        assert e.value.code == "out_of_memory"
        assert texts(recognize(recognizer, call_windows[1:2], language="en"))[0], "the next call works"

    def test_while_voting_on_the_language(
        self, recognizer: WhisperRecognizer, model: WhisperForConditionalGeneration, call_windows: list[Window]
    ) -> None:
        with failing_decoder(model, torch.OutOfMemoryError("out of memory")), pytest.raises(OutOfMemory):
            recognize(recognizer, call_windows)

    def test_other_errors_are_not_hidden(
        self, recognizer: WhisperRecognizer, model: WhisperForConditionalGeneration, call_windows: list[Window]
    ) -> None:
        with (
            failing_decoder(model, RuntimeError("shapes differ")) as sizes,
            pytest.raises(RuntimeError, match="shapes"),
        ):
            recognize(recognizer, call_windows, language="en")
        assert sizes == [len(call_windows)]
        assert texts(recognize(recognizer, call_windows[1:2], language="en"))[0], "the next call works"


class TestRefusals:
    def test_by_an_english_model(self, english_recognizer: WhisperRecognizer, call_windows: list[Window]) -> None:
        for options in ({"language": "de"}, {"task": "translate"}, {"task": "translate", "language": "en"}):
            with pytest.raises(UnsupportedByModel) as caught:
                recognize(english_recognizer, call_windows[:1], **options)
            assert caught.value.code == "unsupported_by_model"

    def test_an_english_model_needs_no_language(
        self, english_recognizer: WhisperRecognizer, call_windows: list[Window]
    ) -> None:
        recognitions = recognize(english_recognizer, call_windows)
        assert "New Jersey" in text_of(recognitions)
        assert {each.language for each in recognitions} == {"en"}
        assert english_recognizer.languages == ("en",)
        assert texts(recognize(english_recognizer, call_windows, language="en")) == texts(recognitions)

    def test_of_translation_by_a_shortened_decoder(
        self,
        shallow_model: WhisperForConditionalGeneration,
        tokenizer: WhisperTokenizerFast,
        feature_extractor: WhisperFeatureExtractor,
    ) -> None:
        shortened = WhisperRecognizer(shallow_model, tokenizer, feature_extractor)
        shortened.check(request(language="de"))
        with pytest.raises(UnsupportedByModel, match="cannot translate"):
            shortened.check(request(task="translate"))

    def test_of_a_language_the_model_lacks(self, recognizer: WhisperRecognizer) -> None:
        assert "yue" not in recognizer.languages
        with pytest.raises(UnsupportedByModel, match="Cantonese"):
            recognizer.check(request(language="yue"))

    def test_of_one_item_come_before_any_work(
        self, recognizer: WhisperRecognizer, model: WhisperForConditionalGeneration, call_windows: list[Window]
    ) -> None:
        items = [(call_windows[0], request(language="en")), (call_windows[0], request(assisted=True))]
        with recorded_passes(model) as passes, pytest.raises(Exception, match="assistant"):
            recognizer.recognize(items)
        assert passes == []


class TestOfRealClips:
    """Of the shared recordings."""

    def test_language_is_detected(
        self, recognizer: WhisperRecognizer, windows_of_clip: Callable[[str], list[Window]]
    ) -> None:
        items = [
            (window, request())
            for name in ("de.wav", "en.wav", "es.wav", "it.wav", "jfk.flac", "phone_8k.wav")
            for window in windows_of_clip(f"speech/{name}")
        ]
        languages = [each.language for each in recognizer.recognize(items)]
        assert languages == ["de", "en", "es", "it", "en", "en"]

    def test_language_may_change_within_a_recording(
        self, recognizer: WhisperRecognizer, windows_of_clip: Callable[[str], list[Window]]
    ) -> None:
        recognitions = recognize(recognizer, windows_of_clip("speech/en_then_de.mp3"))
        assert [each.language for each in recognitions] == ["en", "de"]
        english, german = texts(recognitions)
        assert english.startswith("Permission is hereby granted, free of charge, to any person obtaining a copy")
        assert "Das umfasst" in german or "umfasst" in german
        assert "Genehmigung" in german

    @pytest.mark.parametrize("order", [("en", "de"), ("de", "en"), ("en", "de", "en"), ("it", "de", "es")])
    def test_language_may_change_within_a_window(
        self, order: tuple[str, ...], recognizer: WhisperRecognizer, detector: VoiceActivityDetector, shared_data: Path
    ) -> None:
        words = {"en": "apostle of the middle classes", "de": "hinter diesem", "it": "alla radio", "es": "las arenas"}
        clips = [samples_of(shared_data / f"speech/{name}.wav") for name in order]
        (window,) = windows_of(detector, np.concatenate(clips))
        (recognition,) = recognize(recognizer, [window])
        begin = 0.0
        for name, clip in zip(order, clips, strict=True):
            end = begin + len(clip) / 16_000
            inside = [s for s in recognition.segments if begin <= (s.start + s.end) / 2 < end]
            assert {segment.language for segment in inside} == {name}
            assert words[name] in "".join(segment.text for segment in inside).lower()
            begin = end
        starts = [segment.start for segment in recognition.segments]
        assert starts == sorted(starts)
        assert recognition.language in order

    def test_a_short_utterance_before_another_language(
        self, recognizer: WhisperRecognizer, detector: VoiceActivityDetector, shared_data: Path
    ) -> None:
        clips = [samples_of(shared_data / name) for name in ("formats/mono_8_bit.wav", "speech/de.wav")]
        (window,) = windows_of(detector, np.concatenate(clips))
        (recognition,) = recognize(recognizer, [window])
        assert [segment.language for segment in recognition.segments] == ["en", "de"]
        assert recognition.segments[0].end < len(clips[0]) / 16_000 < recognition.segments[1].start

    def test_languages_of_a_window_are_translated_each(
        self, recognizer: WhisperRecognizer, detector: VoiceActivityDetector, shared_data: Path
    ) -> None:
        clips = [samples_of(shared_data / f"speech/{name}.wav") for name in ("es", "it")]
        (recognition,) = recognize(recognizer, windows_of(detector, np.concatenate(clips)), task="translate")
        heard = {word.strip(".,").lower() for word in text_of([recognition]).split()}
        assert {"sand", "little", "radio", "songs"} <= heard
        assert {segment.language for segment in recognition.segments} == {"es", "it"}

    def test_a_language_that_is_asked_for_is_kept(
        self, recognizer: WhisperRecognizer, detector: VoiceActivityDetector, shared_data: Path
    ) -> None:
        clips = [samples_of(shared_data / f"speech/{name}.wav") for name in ("en", "de")]
        (recognition,) = recognize(recognizer, windows_of(detector, np.concatenate(clips)), language="en")
        assert {segment.language for segment in recognition.segments} == {recognition.language} == {"en"}

    def test_memory_may_end_while_listening_for_languages(
        self,
        recognizer: WhisperRecognizer,
        model: WhisperForConditionalGeneration,
        detector: VoiceActivityDetector,
        shared_data: Path,
    ) -> None:
        clips = [samples_of(shared_data / f"speech/{name}.wav") for name in ("en", "de")]
        windows = windows_of(detector, np.concatenate(clips))
        with failing_decoder(model, torch.OutOfMemoryError("out of memory"), largest=1), pytest.raises(OutOfMemory):
            recognize(recognizer, windows)
        (recognition,) = recognize(recognizer, windows)
        assert {segment.language for segment in recognition.segments} == {"en", "de"}

    @pytest.mark.parametrize(
        ("name", "words"),
        [("de", {"portal"}), ("es", {"sand", "little"}), ("it", {"radio", "songs"})],
    )
    def test_translation_to_english(
        self,
        name: str,
        words: set[str],
        recognizer: WhisperRecognizer,
        windows_of_clip: Callable[[str], list[Window]],
    ) -> None:
        (recognition,) = recognize(recognizer, windows_of_clip(f"speech/{name}.wav"), task="translate")
        heard = {word.strip(".,").lower() for word in text_of([recognition]).split()}
        assert words <= heard
        assert "the" in heard
        assert recognition.language == recognition.segments[0].language == name

    def test_hotwords_are_spelt_as_they_are_given(
        self, recognizer: WhisperRecognizer, windows_of_clip: Callable[[str], list[Window]]
    ) -> None:
        windows = windows_of_clip("speech/hotword_comfyui.mp3")
        assert "ComfyUI" not in text_of(recognize(recognizer, windows))
        assert "ComfyUI" in text_of(recognize(recognizer, windows, hotwords="ComfyUI"))

    def test_channels_apart(self, pipeline: SpeechPipeline, shared_data: Path) -> None:
        recording = (shared_data / "speech" / "two_channels.wav").read_bytes()
        transcript = pipeline.transcribe(recording, request(channels="separate"))
        by_channel = {
            channel: "".join(s.text for s in transcript.segments if s.channel == channel) for channel in (0, 1)
        }
        assert "curtain" in by_channel[0]
        assert "horizon" in by_channel[1]
        assert {s.speaker for s in transcript.speaker_segments} == {"CHANNEL_00", "CHANNEL_01"}


def test_a_prompt_teaches_spelling(recognizer: WhisperRecognizer, call_windows: list[Window]) -> None:
    plain, prompted = (
        text_of(recognize(recognizer, call_windows[1:2], language="en", prompt=prompt))
        for prompt in (None, "Dianne and Shiela are talking.")
    )
    assert "Diane " in plain
    assert "Dianne" not in plain
    assert "Dianne" in prompted
