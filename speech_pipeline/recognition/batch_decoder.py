"""A batch of windows through the model: encoder, language, decoding with temperature fallback, judgement."""

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor
from transformers import (
    PreTrainedModel,
    PreTrainedTokenizerBase,
    WhisperFeatureExtractor,
    WhisperForConditionalGeneration,
)

from speech_pipeline.audio.waveform import SAMPLING_RATE
from speech_pipeline.recognition.acceleration import PLAIN, Acceleration
from speech_pipeline.recognition.alignment import FRAME_S, Reading, alignment_heads, read_draft, read_texts
from speech_pipeline.recognition.assistant import Assistant
from speech_pipeline.recognition.cross_attention import AudioKeysValues, audio_keys_values
from speech_pipeline.recognition.decoding import decode, max_new_tokens
from speech_pipeline.recognition.greedy import GreedyDecoder
from speech_pipeline.recognition.guards import compression_ratio, is_doubtful
from speech_pipeline.recognition.language import first_step, window_language
from speech_pipeline.recognition.rows import Hypothesis, Row
from speech_pipeline.recognition.vocabulary import Vocabulary
from speech_pipeline.stopwatch import Stopwatch


class BatchDecoder:
    """Fills in the rows of a batch. Not safe for concurrent calls; the stage that owns it takes care of that.

    Attributes:
        stopwatch: told how long ``mel``, ``encoder``, ``decoder`` and ``alignment`` take; set by that stage.
    """

    def __init__(
        self,
        model: WhisperForConditionalGeneration,
        tokenizer: PreTrainedTokenizerBase,
        feature_extractor: WhisperFeatureExtractor,
        assistant: Assistant | None,
        acceleration: Acceleration = PLAIN,
    ) -> None:
        self.model = model.eval()
        self.vocabulary = Vocabulary(tokenizer, model)
        self.assistant = assistant
        self.stopwatch = Stopwatch()
        self._feature_extractor = feature_extractor
        self._acceleration = acceleration
        heads = alignment_heads(model)
        self._watched = {layer: [head for of, head in heads if of == layer] for layer, _ in heads}
        self._greedy = GreedyDecoder(
            model, self._watched, static_rows=acceleration.static_rows, audio_dtype=acceleration.audio_dtype
        )

    def language_probabilities(self, row: Row) -> tuple[dict[str, float], float]:
        """Probability of each language of one window, and that somebody speaks in it.

        The window's encoder output is kept for :meth:`decode`.
        """
        row.states = self._encode([row])
        probabilities, silence = self._first_step(row.states, None)
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
        with self.stopwatch.stage("decoder"):
            audio = self._audio(states) if self._is_lean(rows) else None
            probabilities, silence = self._first_step(states, audio)
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
                self._attempt(rows, chosen, states, audio, temperature)

    def _attempt(
        self,
        batch: Sequence[Row],
        chosen: list[int],
        states: Tensor,
        audio: AudioKeysValues | None,
        temperature: float,
    ) -> None:
        """Decode some rows of a batch once, judge the texts, and keep each that is better than what its row has."""
        rows = [batch[i] for i in chosen]
        prompts = torch.tensor(
            [[*row.previous, *self.vocabulary.prompt(language=row.language, task=row.config.task)] for row in rows],
            device=states.device,
        )
        if audio is None:
            part = states if len(rows) == len(batch) else states[chosen]
            attempts = self._generate(rows, part, prompts, temperature)
        else:
            attempts = self._write(rows, chosen, states, audio, prompts, temperature)
        for row, (ids, complete, reading) in zip(rows, attempts, strict=True):
            average = float(reading.log_probabilities.mean())
            ratio = compression_ratio(self.vocabulary.decode(ids))
            hypothesis = Hypothesis(tuple(ids), complete, temperature, average, ratio, reading)
            row.doubtful = is_doubtful(ratio, row.no_speech_probability, average, row.config)
            if row.best is None or not row.doubtful or _rank(hypothesis, row) > _rank(row.best, row):
                row.best = hypothesis

    def _write(
        self,
        rows: Sequence[Row],
        places: Sequence[int],
        states: Tensor,
        audio: AudioKeysValues,
        prompts: Tensor,
        temperature: float,
    ) -> list[tuple[list[int], bool, Reading]]:
        """Tokens without the end token, whether the model ended the text, and its reading, by the loop of our own."""
        audio.to_front(places)
        limits = [max_new_tokens(row.window.duration) for row in rows]
        with self.stopwatch.stage("decoder"):
            drafts = self._greedy.write(audio, prompts, limits, temperature=temperature)
        attempts = []
        for row, place, prompt, draft in zip(rows, places, prompts, drafts, strict=True):
            complete = draft.tokens[-1] == self.vocabulary.end
            with self.stopwatch.stage("alignment"):
                if complete:
                    keys = {layer: audio.keys(layer, place, heads) for layer, heads in self._watched.items()}
                    reading = read_draft(draft, keys, _frames(row))
                else:
                    # How likely an end is after a text that was cut has not been asked yet.
                    text = [*draft.tokens, self.vocabulary.end]
                    (reading,) = read_texts(self.model, states[place, None], prompt[None], [text], [_frames(row)])
            attempts.append((draft.tokens[:-1] if complete else draft.tokens, complete, reading))
        return attempts

    def _generate(
        self, rows: Sequence[Row], states: Tensor, prompts: Tensor, temperature: float
    ) -> list[tuple[list[int], bool, Reading]]:
        """The same by the loop of transformers, which knows beams and assistants."""
        assistant = self.assistant if rows[0].assisted else None
        limits = [max_new_tokens(row.window.duration) for row in rows]
        features = None if assistant is None or assistant.shares_encoder else self._features(rows, assistant.model)
        with self.stopwatch.stage("decoder"):
            written = decode(
                self.model,
                states,
                prompts,
                max_new_tokens=max(limits),
                temperature=temperature,
                num_beams=rows[0].config.num_beams,
                assistant=assistant.model if assistant else None,
                features=features,
            )
        end = self.vocabulary.end
        texts = [[i for i in ids[:limit] if i != end] for ids, limit in zip(written, limits, strict=True)]
        frames = [_frames(row) for row in rows]
        with self.stopwatch.stage("alignment"):
            readings = read_texts(self.model, states, prompts, [[*text, end] for text in texts], frames)
        complete = [end in ids[:limit] for ids, limit in zip(written, limits, strict=True)]
        return list(zip(texts, complete, readings, strict=True))

    def _is_lean(self, rows: Sequence[Row]) -> bool:
        return self._acceleration.lean_loop and not rows[0].assisted and rows[0].config.num_beams == 1

    def _audio(self, states: Tensor) -> AudioKeysValues:
        return audio_keys_values(self.model.get_decoder(), states, self._acceleration.audio_dtype or states.dtype)

    def _first_step(self, states: Tensor, audio: AudioKeysValues | None) -> tuple[list[dict[str, float]], list[float]]:
        """For each row the probability of each language, and that nobody speaks."""
        start = torch.full((len(states), 1), self.vocabulary.start, device=states.device)
        if audio is not None:
            return first_step(self.vocabulary, self._greedy.next_logits(start, audio))
        decoder = self.model.get_decoder()
        hidden = decoder(input_ids=start, encoder_hidden_states=states, use_cache=False).last_hidden_state
        return first_step(self.vocabulary, self.model.proj_out(hidden[:, -1]).float())

    def _features(self, rows: Sequence[Row], reader: PreTrainedModel) -> Tensor:
        """Log-mel features [rows, mel bins, 3000], padded with silence to 30 s, in the dtype of who reads them."""
        samples = [row.window.samples for row in rows]
        with self.stopwatch.stage("mel"):
            inputs = self._feature_extractor(
                samples, sampling_rate=SAMPLING_RATE, return_tensors="pt", padding="max_length"
            )
        return inputs.input_features.to(reader.device, reader.dtype)

    def _encode(self, rows: Sequence[Row]) -> Tensor:
        """Encoder output [rows, 1500, width] in the decoder's dtype, computed for the rows that do not have theirs."""
        missing = [row for row in rows if row.states is None]
        fresh: list[Tensor] = []
        encoder = self.model.get_encoder()
        # A CPU is busy with one window, and what it computes stays in its cache.
        for part in [[row] for row in missing] if self.model.device.type == "cpu" else [missing] if missing else []:
            features = self._features(part, encoder)
            with self.stopwatch.stage("encoder"):
                states = encoder(features).last_hidden_state
            fresh += states.to(self.model.get_decoder().layer_norm.weight.dtype).split(1)
        for row, states in zip(missing, fresh, strict=True):
            row.states = states
        return torch.cat([row.states for row in rows if row.states is not None])


def _frames(row: Row) -> int:
    """Encoder positions that hold the audio of a row; the rest is padding."""
    return int(np.ceil(row.window.duration / FRAME_S))


def _rank(hypothesis: Hypothesis, row: Row) -> tuple[bool, float]:
    """What makes one doubtful attempt better than another: no repetition, then the model's own confidence."""
    limit = row.config.compression_ratio_threshold
    return limit is None or hypothesis.compression_ratio <= limit, hypothesis.average_log_probability
