"""The recognition stage: windows of speech to segments with words, in batches, through one Whisper model."""

import threading
from collections import Counter, deque
from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch
from transformers import PreTrainedTokenizerBase, WhisperFeatureExtractor, WhisperForConditionalGeneration

from config import InferenceConfig
from speech_pipeline.errors import AssistantUnavailable, OutOfMemory, UnsupportedByModel
from speech_pipeline.languages import language_name
from speech_pipeline.memory import is_out_of_memory, release_cached_memory
from speech_pipeline.progress import Progress, no_progress
from speech_pipeline.recognition.acceleration import PLAIN, Acceleration
from speech_pipeline.recognition.assistant import Assistant
from speech_pipeline.recognition.batch_decoder import BatchDecoder
from speech_pipeline.recognition.guards import is_silence
from speech_pipeline.recognition.language_finder import LanguageFinder
from speech_pipeline.recognition.rows import Row, batches
from speech_pipeline.recognition.segments import split_segments
from speech_pipeline.recognition.windows import Window, halve
from speech_pipeline.recognition.word_times import time_words
from speech_pipeline.stopwatch import Stopwatch
from speech_pipeline.transcript import Segment

MIN_HALF_S = 1.0
"""A window whose text was cut is not cut into shorter parts than this, in seconds."""


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
        acceleration: Acceleration = PLAIN,
    ) -> None:
        self._decoder = BatchDecoder(model, tokenizer, feature_extractor, assistant, acceleration)
        self._languages = LanguageFinder(self._decoder)
        self._vocabulary = self._decoder.vocabulary
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
        self,
        items: Sequence[tuple[Window, InferenceConfig]],
        progress: Progress = no_progress,
        stopwatch: Stopwatch | None = None,
    ) -> list[Recognition]:
        """Recognise windows of any number of requests, each with its own options.

        Windows that carry the same ``InferenceConfig`` object belong to one recording, whose windows of one channel
        vote on its language together. Windows whose options fit together share a batch.

        Args:
            items: (window, options) in any order.
            progress: told the share of windows that are done.
            stopwatch: told how long ``mel``, ``encoder``, ``decoder`` and ``alignment`` take.

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
        with self._lock, torch.inference_mode():
            self._decoder.stopwatch = stopwatch or Stopwatch()
            self._elect_languages(rows)
            return self._decode(rows, progress)

    def _is_assisted(self, config: InferenceConfig, windows: int) -> bool:
        """``auto`` uses the assistant where it pays: for a request of one window."""
        if config.assisted == "auto":
            return self._decoder.assistant is not None and windows == 1 and config.num_beams == 1
        return bool(config.assisted)

    def _elect_languages(self, rows: Sequence[Row]) -> None:
        try:
            self._languages.elect(rows)
        except (MemoryError, RuntimeError) as error:
            if is_out_of_memory(error):
                raise _no_room() from error
            raise

    def _decode(self, rows: Sequence[Row], progress: Progress) -> list[Recognition]:
        """Decode rows in batches. After a batch that did not fit in memory no larger one than its half is tried."""
        recognitions: dict[int, Recognition] = {}
        pending = deque(batches(rows))
        most: int | None = None
        while pending:
            batch = pending.popleft()
            if most is not None and len(batch) > most:
                pending.extendleft([batch[most:], batch[:most]])
                continue
            try:
                parts = [part for row in batch for part in self._parts(row)]
                if len(parts) > len(batch):
                    pending.extendleft(reversed([*batches(parts)]))
                    continue
                self._decoder.decode(batch)
            except (MemoryError, RuntimeError) as error:
                if not is_out_of_memory(error):
                    raise
                if len(batch) == 1:
                    raise _no_room() from error
                most = -(-len(batch) // 2)
                pending.appendleft(batch)
                for row in batch:
                    row.states = None
            else:
                for row in batch:
                    recognitions[id(row)] = self._recognition(row)
                done = sum(bool(row.parts) and all(id(part) in recognitions for part in row.parts) for row in rows)
                progress("recognition", done / len(rows))
                continue
            # Past this point the failed attempt's frames, and the memory they held, are gone.
            release_cached_memory()
        results = [_joined([recognitions[id(part)] for part in row.parts]) for row in rows]
        if most is not None:
            warning = f"The batch size was reduced to {most}, because more did not fit in memory."
            results = [replace(result, warnings=(*result.warnings, warning)) for result in results]
        return results

    def _parts(self, row: Row) -> tuple[Row, ...]:
        """The rows to decode for a window."""
        if not row.parts:
            row.parts = tuple(self._languages.part(row))
            for part in row.parts:
                part.parts = (part,)
        return row.parts

    def _recognition(self, row: Row) -> Recognition:
        """The kept text as segments, and what the caller should know about it. The row's attempts are let go."""
        best, row.best = row.best, None
        assert best is not None
        if is_silence(row.no_speech_probability, best.average_log_probability, row.config):
            return Recognition((), row.language)
        if not best.complete and not row.doubtful and row.window.duration >= 2 * MIN_HALF_S:
            return self._in_halves(row)
        warnings = []
        if row.doubtful or not best.complete:
            warnings.append(
                f"The text from {row.window.start:.1f} s to {row.window.end:.1f} s is doubtful: the model repeats "
                "itself or is unsure."
            )
        written = "en" if row.config.task == "translate" else row.language
        with self._decoder.stopwatch.stage("alignment"):
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

    def _in_halves(self, row: Row) -> Recognition:
        """Recognise a window again in two parts: its text takes more tokens than the decoder has positions for."""
        halves = [replace(row, window=half, elected=row.language, doubtful=True) for half in halve(row.window)]
        for half in halves:
            half.parts = (half,)
        return _joined(self._decode(halves, no_progress))


def _joined(parts: Sequence[Recognition]) -> Recognition:
    """What was recognised in the parts of a window."""
    if len(parts) == 1:
        return parts[0]
    segments = sorted((segment for part in parts for segment in part.segments), key=lambda segment: segment.start)
    most = max(parts, key=lambda part: sum(segment.end - segment.start for segment in part.segments))
    warnings = tuple(warning for part in parts for warning in part.warnings)
    return Recognition(tuple(segments), most.language, warnings)


def _no_room() -> OutOfMemory:
    return OutOfMemory("Not even one window fits in memory; deploy a smaller model or a larger machine.")
