"""The recognition stage: windows of speech to segments with words, in batches, through one Whisper model."""

import threading
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import torch
from transformers import PreTrainedTokenizerBase, WhisperFeatureExtractor, WhisperForConditionalGeneration

from config import InferenceConfig
from speech_pipeline.errors import AssistantUnavailable, OutOfMemory, UnsupportedByModel
from speech_pipeline.languages import language_name
from speech_pipeline.progress import Progress, no_progress
from speech_pipeline.recognition.assistant import Assistant
from speech_pipeline.recognition.batch_decoder import BatchDecoder
from speech_pipeline.recognition.guards import is_silence
from speech_pipeline.recognition.language import vote
from speech_pipeline.recognition.rows import Row, batches
from speech_pipeline.recognition.segments import split_segments
from speech_pipeline.recognition.windows import Window
from speech_pipeline.recognition.word_times import time_words
from speech_pipeline.transcript import Segment

VOTERS = 5
"""Windows of a recording that vote on its language, spread evenly over it."""


@dataclass(frozen=True, slots=True)
class Recognition:
    """What was recognised in one window.

    Attributes:
        segments: in order of time; empty where nobody speaks.
        language: code of the language it was decoded in.
        warnings: sentences for the caller.
    """

    segments: tuple[Segment, ...]
    language: str
    warnings: tuple[str, ...] = ()


class WhisperRecognizer:
    """Windows to words with a Whisper model of ``transformers``.

    One call runs at a time; calls from several threads wait for each other.
    """

    def __init__(
        self,
        model: WhisperForConditionalGeneration,
        tokenizer: PreTrainedTokenizerBase,
        feature_extractor: WhisperFeatureExtractor,
        assistant: Assistant | None = None,
    ) -> None:
        self._decoder = BatchDecoder(model, tokenizer, feature_extractor, assistant)
        self._vocabulary = self._decoder.vocabulary
        self._device = model.device
        # Those with a shortened decoder (turbo, distil) were trained without translation.
        self._can_translate = (
            self._vocabulary.multilingual and model.config.decoder_layers == model.config.encoder_layers
        )
        self._lock = threading.Lock()

    @property
    def languages(self) -> tuple[str, ...]:
        """Codes of the languages the model recognises."""
        return tuple(self._vocabulary.languages) or ("en",)

    def check(self, config: InferenceConfig) -> None:
        """Refuse what the model cannot do, before any work.

        Raises:
            AssistantUnavailable: assisted decoding without an assistant.
            UnsupportedByModel: a language or a task the model was not trained for.
        """
        if config.assisted is True and self._decoder.assistant is None:
            raise AssistantUnavailable(
                "assisted decoding needs an assistant model and none is loaded; set ASSISTANT_MODEL at deployment, "
                'or leave out assisted (or set it to "auto").'
            )
        if config.language is not None and config.language not in self.languages:
            name = language_name(config.language).title()
            if not self._vocabulary.multilingual:
                raise UnsupportedByModel(f"The loaded model knows English only, not {name}; load a multilingual one.")
            raise UnsupportedByModel(f"The loaded model does not know {name}.")
        if config.task == "translate" and not self._can_translate:
            raise UnsupportedByModel(
                "The loaded model cannot translate; use task=transcribe, or load a multilingual model with a full "
                "decoder, such as openai/whisper-large-v3."
            )

    def recognize(
        self, items: Sequence[tuple[Window, InferenceConfig]], progress: Progress = no_progress
    ) -> list[Recognition]:
        """Recognise windows of any number of requests, each with its own options.

        Windows that carry the same ``InferenceConfig`` object belong to one recording: they vote on its language
        together. Windows whose options fit together share a batch.

        Args:
            items: (window, options) in any order.
            progress: told the share of windows that are done.

        Returns:
            One recognition a window, in the order of ``items``.

        Raises:
            OutOfMemory: a single window does not fit in memory.
            AssistantUnavailable, UnsupportedByModel: see :meth:`check`.
        """
        configs = {id(config): config for _, config in items}
        for config in configs.values():
            self.check(config)
        previous = {key: self._vocabulary.previous(config.hotwords, config.prompt) for key, config in configs.items()}
        windows_of = Counter(id(config) for _, config in items)
        rows = [
            Row(window, config, previous[id(config)], self._is_assisted(config, windows_of[id(config)]))
            for window, config in items
        ]
        done = 0
        with self._lock, torch.inference_mode():
            languages = self._elect_languages(rows)
            for batch in batches(rows):
                for part in self._within_memory(batch, languages):
                    done += len(part)
                    progress("recognition", done / len(rows))
        return [self._recognition(row) for row in rows]

    def _is_assisted(self, config: InferenceConfig, windows: int) -> bool:
        """``auto`` uses the assistant where it pays: for a request of one window."""
        if config.assisted == "auto":
            return self._decoder.assistant is not None and windows == 1 and config.num_beams == 1
        return bool(config.assisted)

    def _elect_languages(self, rows: Sequence[Row]) -> dict[int, str]:
        """Language of each recording by the id of its options: the one asked for, or the winner of a vote.

        A recording of one window needs no vote; its language is found when it is decoded.
        """
        by_recording: dict[int, list[Row]] = {}
        for row in rows:
            by_recording.setdefault(id(row.config), []).append(row)
        elected: dict[int, str] = {}
        for key, own in by_recording.items():
            if not self._vocabulary.languages:
                elected[key] = "en"
            elif own[0].config.language is not None:
                elected[key] = own[0].config.language
            elif len(own) > 1:
                voters = own[:: max(1, len(own) // VOTERS)][:VOTERS]
                elected[key] = vote(
                    [(self._decoder.language_probabilities(row), row.window.duration) for row in voters]
                )
        return elected

    def _within_memory(
        self, rows: Sequence[Row], languages: Mapping[int, str], reduced: bool = False
    ) -> Iterator[Sequence[Row]]:
        """Decode a batch, in halves where it does not fit in memory; yields what was decoded together."""
        try:
            self._decoder.decode(rows, languages)
        except (MemoryError, RuntimeError) as error:
            if not _is_out_of_memory(error):
                raise
            if len(rows) == 1:
                raise OutOfMemory(
                    "Not even one window fits in memory; deploy a smaller model or a larger machine."
                ) from error
        else:
            for row in rows:
                row.batch_size, row.batch_reduced = len(rows), reduced
            yield rows
            return
        # Past this point the failed attempt's frames, and the memory they held, are gone.
        if self._device.type == "cuda":
            torch.cuda.empty_cache()
        middle = len(rows) // 2
        for half in (rows[:middle], rows[middle:]):
            yield from self._within_memory(half, languages, reduced=True)

    def _recognition(self, row: Row) -> Recognition:
        """The kept text as segments, and what the caller should know about it."""
        best = row.best
        assert best is not None
        warnings = []
        if row.batch_reduced:
            warnings.append(f"The batch size was reduced to {row.batch_size}, because more did not fit in memory.")
        if is_silence(row.no_speech_probability, best.average_log_probability, row.config):
            return Recognition((), row.language, tuple(warnings))
        if row.doubtful:
            warnings.append(
                f"The text from {row.window.start:.1f} s to {row.window.end:.1f} s is doubtful: the model repeats "
                "itself or is unsure."
            )
        written = "en" if row.config.task == "translate" else row.language
        words = time_words(self._vocabulary, best.tokens, written, row.window, best.reading)
        segments = tuple(
            Segment(
                text="".join(word.text for word in group),
                start=group[0].start,
                end=group[-1].end,
                words=group,
                language=row.language,
                average_log_probability=best.average_log_probability,
                compression_ratio=best.compression_ratio,
                no_speech_probability=row.no_speech_probability,
                temperature=best.temperature,
                channel=row.window.channel,
            )
            for group in split_segments(words)
        )
        return Recognition(segments, row.language, tuple(warnings))


def _is_out_of_memory(error: BaseException) -> bool:
    """CUDA raises its own type; the CPU allocator raises RuntimeError with a text of its own."""
    return isinstance(error, (torch.OutOfMemoryError, MemoryError)) or "allocate memory" in str(error)
