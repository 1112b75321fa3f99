"""A batch of windows through the model: encoder, language, decoding with temperature fallback, judgement."""

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor
from transformers import PreTrainedTokenizerBase, WhisperFeatureExtractor, WhisperForConditionalGeneration

from speech_pipeline.audio.waveform import SAMPLING_RATE
from speech_pipeline.recognition.alignment import FRAME_S, read_texts
from speech_pipeline.recognition.assistant import Assistant
from speech_pipeline.recognition.decoding import decode, max_new_tokens
from speech_pipeline.recognition.guards import compression_ratio, is_doubtful
from speech_pipeline.recognition.language import first_step, window_language
from speech_pipeline.recognition.rows import Hypothesis, Row
from speech_pipeline.recognition.vocabulary import Vocabulary


class BatchDecoder:
    """Fills in the rows of a batch. Not safe for concurrent calls; the stage that owns it takes care of that."""

    def __init__(
        self,
        model: WhisperForConditionalGeneration,
        tokenizer: PreTrainedTokenizerBase,
        feature_extractor: WhisperFeatureExtractor,
        assistant: Assistant | None,
    ) -> None:
        self.model = model.eval()
        self.vocabulary = Vocabulary(tokenizer, model)
        self.assistant = assistant
        self._feature_extractor = feature_extractor

    def language_probabilities(self, row: Row) -> tuple[dict[str, float], float]:
        """Probability of each language of one window, and that somebody speaks in it.

        The window's encoder output is kept for :meth:`decode`.
        """
        row.states = self._encode([row])
        probabilities, silence = first_step(self.model, self.vocabulary, row.states)
        return probabilities[0], 1 - silence[0]

    def decode(self, rows: Sequence[Row]) -> None:
        """Find the best text of each row; their options fit together, see :func:`.rows.batches`."""
        try:
            self._decode(rows)
        finally:
            for row in rows:
                row.states = None

    def _decode(self, rows: Sequence[Row]) -> None:
        states = self._encode(rows)
        probabilities, silence = first_step(self.model, self.vocabulary, states)
        for row, of_language, no_speech in zip(rows, probabilities, silence, strict=True):
            row.no_speech_probability = no_speech
            row.language = row.elected or max(of_language, key=lambda code: of_language[code])
            if row.config.language is None and of_language:
                row.language = window_language(of_language, row.language, row.window.duration)
            row.best, row.doubtful = None, True
        for attempt in range(max(len(row.config.temperature) for row in rows)):
            trying = [i for i, row in enumerate(rows) if row.doubtful and attempt < len(row.config.temperature)]
            for temperature in sorted({rows[i].config.temperature[attempt] for i in trying}):
                chosen = [i for i in trying if rows[i].config.temperature[attempt] == temperature]
                part = states if len(chosen) == len(rows) else states[chosen]
                self._attempt([rows[i] for i in chosen], part, temperature)

    def _attempt(self, rows: Sequence[Row], states: Tensor, temperature: float) -> None:
        """Decode rows once, judge the texts, and keep each that is better than what its row has."""
        prompts = torch.tensor(
            [[*row.previous, *self.vocabulary.prompt(language=row.language, task=row.config.task)] for row in rows],
            device=states.device,
        )
        assistant = self.assistant if rows[0].assisted else None
        limits = [max_new_tokens(row.window.duration) for row in rows]
        written = decode(
            self.model,
            states,
            prompts,
            max_new_tokens=max(limits),
            temperature=temperature,
            num_beams=rows[0].config.num_beams,
            assistant=assistant.model if assistant else None,
            features=self._features(rows) if assistant and not assistant.shares_encoder else None,
        )
        end = self.vocabulary.end
        complete = [end in ids[:limit] for ids, limit in zip(written, limits, strict=True)]
        texts = [[*(i for i in ids[:limit] if i != end), end] for ids, limit in zip(written, limits, strict=True)]
        frames = [int(np.ceil(row.window.duration / FRAME_S)) for row in rows]
        readings = read_texts(self.model, states, prompts, texts, frames)
        for row, ids, ended, reading in zip(rows, texts, complete, readings, strict=True):
            average = float(reading.log_probabilities.mean())
            ratio = compression_ratio(self.vocabulary.decode(ids))
            hypothesis = Hypothesis(tuple(ids[:-1]), ended, temperature, average, ratio, reading)
            row.doubtful = is_doubtful(ratio, row.no_speech_probability, average, row.config)
            if row.best is None or not row.doubtful or _rank(hypothesis, row) > _rank(row.best, row):
                row.best = hypothesis

    def _features(self, rows: Sequence[Row]) -> Tensor:
        """Log-mel features [rows, mel bins, 3000], padded with silence to 30 s."""
        inputs = self._feature_extractor(
            [row.window.samples for row in rows], sampling_rate=SAMPLING_RATE, return_tensors="pt", padding="max_length"
        )
        return inputs.input_features.to(self.model.device, self.model.dtype)

    def _encode(self, rows: Sequence[Row]) -> Tensor:
        """Encoder output [rows, 1500, width], computed for the rows that do not have theirs."""
        missing = [row for row in rows if row.states is None]
        if not missing:
            return torch.cat([row.states for row in rows if row.states is not None])
        fresh = self.model.get_encoder()(self._features(missing)).last_hidden_state
        if len(missing) == len(rows):
            return fresh
        for row, states in zip(missing, fresh.split(1), strict=True):
            row.states = states
        return torch.cat([row.states for row in rows if row.states is not None])


def _rank(hypothesis: Hypothesis, row: Row) -> tuple[bool, float]:
    """What makes one doubtful attempt better than another: no repetition, then the model's own confidence."""
    limit = row.config.compression_ratio_threshold
    return limit is None or hypothesis.compression_ratio <= limit, hypothesis.average_log_probability
