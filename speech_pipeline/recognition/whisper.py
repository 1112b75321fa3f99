"""The recognition stage: windows of speech to segments with words, in batches, through one Whisper model."""

import threading
from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace

import torch
from transformers import PreTrainedTokenizerBase, WhisperFeatureExtractor, WhisperForConditionalGeneration

from config import InferenceConfig
from speech_pipeline.errors import AssistantUnavailable, UnsupportedByModel
from speech_pipeline.languages import language_name
from speech_pipeline.listener import Listener, SegmentRelease, end_if_cancelled
from speech_pipeline.memory import is_out_of_memory, no_room, release_cached_memory
from speech_pipeline.progress import Progress, no_progress
from speech_pipeline.recognition.acceleration import PLAIN, Acceleration
from speech_pipeline.recognition.assistant import Assistant
from speech_pipeline.recognition.batch_decoder import BatchDecoder, no_interlude
from speech_pipeline.recognition.election import Ballot, Election, elections
from speech_pipeline.recognition.finishing import finish
from speech_pipeline.recognition.recognizer import Assembly, Halves, Recognition
from speech_pipeline.recognition.rows import Row, batches
from speech_pipeline.recognition.windows import Window
from speech_pipeline.stopwatch import Stopwatch


class WhisperRecognizer:
    """Windows to words with a Whisper model of ``transformers``; a :class:`.recognizer.Recognizer`.

    One call runs at a time; calls from several threads wait for each other. The steps of :meth:`recognize` are there
    for those who put batches together themselves, from the windows of several calls: :meth:`prepare` makes rows of
    windows, :meth:`call_elections` and :meth:`ballot` settle languages, :meth:`decode` writes the texts of a batch, and
    :meth:`finish` makes a recognition of a row, or two rows that are to be decoded in its place.
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
        self._vocabulary = self._decoder.vocabulary
        # Those with a shortened decoder (turbo, distil) were trained without translation.
        self._can_translate = (
            self._vocabulary.multilingual and model.config.decoder_layers == model.config.encoder_layers
        )
        self._lock = threading.RLock()

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
        listener: Listener | None = None,
    ) -> list[Recognition]:
        """See :class:`.recognizer.Recognizer`. Windows whose options fit together share a batch.

        Raises:
            AssistantUnavailable, UnsupportedByModel: see :meth:`check`.
            OutOfMemory: a single window does not fit in memory.
            RequestCancelled: the listener has left.
        """
        rows = self.prepare(items)
        stopwatch = stopwatch or Stopwatch()
        with self._lock:
            for election in self.call_elections(rows):
                for voter in election.voters:
                    end_if_cancelled(listener)
                    election.cast(voter, self.ballot(voter, stopwatch))
            return self._decode_all(rows, progress, stopwatch, listener)

    def prepare(self, items: Sequence[tuple[Window, InferenceConfig]]) -> list[Row]:
        """Rows of the windows of one call.

        Raises:
            AssistantUnavailable, UnsupportedByModel: see :meth:`check`.
        """
        configs = {id(config): config for _, config in items}
        for config in configs.values():
            self.check(config)
        previous = {key: self._vocabulary.previous(config.hotwords, config.prompt) for key, config in configs.items()}
        windows_of = Counter(id(config) for _, config in items)
        return [
            Row(window, config, previous[id(config)], self._is_assisted(config, windows_of[id(config)]), place)
            for place, (window, config) in enumerate(items)
        ]

    def call_elections(self, rows: Sequence[Row]) -> list[Election]:
        """The votes that are to be held before rows are decoded."""
        return elections(rows, multilingual=bool(self._vocabulary.languages))

    def ballot(self, row: Row, stopwatch: Stopwatch) -> Ballot:
        """What a window says in an election.

        Raises:
            OutOfMemory: it does not fit in memory.
        """
        with self._at_work(stopwatch, no_interlude):
            try:
                probabilities, speech = self._decoder.language_probabilities(row)
            except (MemoryError, RuntimeError) as error:
                if is_out_of_memory(error):
                    raise no_room() from error
                raise
        return probabilities, speech * row.window.duration

    def decode(self, rows: Sequence[Row], stopwatch: Stopwatch, interlude: Callable[[], None] = no_interlude) -> None:
        """Write the texts of a batch whose rows may share one, see :func:`.rows.sharing_key`.

        Args:
            rows: each keeps its best text for :meth:`finish`.
            stopwatch: see :meth:`recognize`.
            interlude: called between steps, where another batch may be decoded; what it raises ends this one.
        """
        with self._at_work(stopwatch, interlude):
            self._decoder.decode(rows)

    @contextmanager
    def _at_work(self, stopwatch: Stopwatch, interlude: Callable[[], None]) -> Iterator[None]:
        decoder = self._decoder
        with self._lock, torch.inference_mode():
            before = decoder.stopwatch, decoder.interlude
            decoder.stopwatch, decoder.interlude = stopwatch, interlude
            try:
                yield
            finally:
                decoder.stopwatch, decoder.interlude = before

    def _is_assisted(self, config: InferenceConfig, windows: int) -> bool:
        """``auto`` uses the assistant where it pays: for a request of one window."""
        if config.assisted == "auto":
            return self._decoder.assistant is not None and windows == 1 and config.num_beams == 1
        return bool(config.assisted)

    def _decode_all(
        self, rows: Sequence[Row], progress: Progress, stopwatch: Stopwatch, listener: Listener | None
    ) -> list[Recognition]:
        """Decode rows in batches. After a batch that did not fit in memory no larger one than its half is tried."""
        assembly = Assembly(len(rows))
        release = None if listener is None else SegmentRelease(listener, [row.window.start for row in rows])
        pending = deque(batches(rows))
        most: int | None = None
        while pending:
            batch = pending.popleft()
            if most is not None and len(batch) > most:
                pending.extendleft([batch[most:], batch[:most]])
                continue
            end_if_cancelled(listener)
            try:
                self.decode(batch, stopwatch, lambda: end_if_cancelled(listener))
            except (MemoryError, RuntimeError) as error:
                if not is_out_of_memory(error):
                    raise
                if len(batch) == 1:
                    raise no_room() from error
                most = -(-len(batch) // 2)
                pending.appendleft(batch)
            else:
                again: list[Row] = []
                for row in batch:
                    outcome = self.finish(row, stopwatch)
                    done = assembly.add(row, outcome)
                    if not isinstance(outcome, Recognition):
                        again += outcome
                    elif done is not None and release is not None:
                        release.finish(row.place, done.segments)
                pending.extendleft(reversed(list(batches(again))))
                progress("recognition", assembly.share)
                continue
            # Past this point the failed attempt's frames, and the memory they held, are gone.
            release_cached_memory()
        results = [assembly.result(place) for place in range(len(rows))]
        if most is not None:
            warning = f"The batch size was reduced to {most}, because more did not fit in memory."
            results = [replace(result, warnings=(*result.warnings, warning)) for result in results]
        return results

    def finish(self, row: Row, stopwatch: Stopwatch) -> Recognition | Halves:
        """What a decoded row says, or two parts of it that are to be decoded in its place."""
        return finish(row, self._vocabulary, stopwatch)
