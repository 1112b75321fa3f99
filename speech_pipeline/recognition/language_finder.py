"""The language of each window, found where it is not asked for; windows that mix languages are parted by them."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import torch
from torch import Tensor

from speech_pipeline.audio.waveform import SAMPLING_RATE
from speech_pipeline.recognition.alignment import FRAME_S
from speech_pipeline.recognition.batch_decoder import BatchDecoder
from speech_pipeline.recognition.language import SURE, first_step, strange_stretches, vote
from speech_pipeline.recognition.rows import Row
from speech_pipeline.recognition.stretches import stretches
from speech_pipeline.recognition.windows import Piece, Window, select

VOTERS = 5
"""Windows of a recording that vote on its language, spread evenly over it."""

HEARD_S = 5.0
"""How much of a stretch its language is told from, in seconds."""

SILENCE_S = 2.0
"""Silence after a stretch, in seconds. Whisper was trained on speech that ends before its window of 30 s does."""

_FRAME_SAMPLES = round(FRAME_S * SAMPLING_RATE)
_SILENT = Window(np.zeros(SAMPLING_RATE, np.float32), (Piece(0.0, 1.0, 0.0),))


class LanguageFinder:
    """Settles languages before rows are decoded. Not safe for concurrent calls, as the decoder is not."""

    def __init__(self, decoder: BatchDecoder) -> None:
        self._decoder = decoder
        self._vocabulary = decoder.vocabulary
        self._silence: Tensor | None = None

    def elect(self, rows: Sequence[Row]) -> None:
        """Settle the language of each recording: the one asked for, or the winner of a vote.

        Channels may be in different languages, so that each votes for itself. One window alone needs no vote; its
        language is found when it is decoded.
        """
        tracks: dict[tuple[int, int | None], list[Row]] = {}
        for row in rows:
            tracks.setdefault((id(row.config), row.window.channel), []).append(row)
        for track in tracks.values():
            elected = track[0].config.language if self._vocabulary.languages else "en"
            if elected is None and len(track) > 1:
                voters = {round(place) for place in np.linspace(0, len(track) - 1, VOTERS)}
                elected = vote([self._ballot(track[place]) for place in sorted(voters)])
            for row in track:
                row.elected = elected

    def part(self, row: Row) -> list[Row]:
        """A row for each language that is spoken in a window, where none was asked for; else the row itself.

        Each stretch between two pauses is listened to on its own. Those that seem to be in another language than the
        rest are encoded apart, without the rest, and parted from it where that leaves no doubt.
        """
        if row.config.language is not None or not self._vocabulary.languages:
            return [row]
        spans = stretches(row.window)
        if len(spans) == 1:
            return [row]
        if row.states is None:
            self._decoder.language_probabilities(row)
        seconds = [(last - first) / SAMPLING_RATE for first, last in spans]
        language, strange = strange_stretches(list(zip(self._listen(row, spans), seconds, strict=True)))
        if not strange:
            return [row]
        other = self._selected(row, [spans[index] for index in strange])
        probabilities, _ = self._decoder.language_probabilities(other)
        other.elected = max(probabilities, key=lambda code: probabilities[code])
        if other.elected == language or probabilities[other.elected] < SURE:
            return [row]
        row.states = None
        rest = self._selected(row, [span for index, span in enumerate(spans) if index not in strange])
        rest.elected = language
        return [*self.part(rest), *self.part(other)]

    def _ballot(self, row: Row) -> tuple[dict[str, float], float]:
        """Probability of each language, and the weight of the window: the seconds in which somebody seems to speak."""
        probabilities, speech = self._decoder.language_probabilities(row)
        return probabilities, speech * row.window.duration

    def _selected(self, row: Row, spans: Sequence[tuple[int, int]]) -> Row:
        return replace(row, window=select(row.window, spans), states=None)

    def _listen(self, row: Row, spans: Sequence[tuple[int, int]]) -> list[dict[str, float]]:
        """Probability of each language in each stretch, by what the encoder made of it inside the window."""
        assert row.states is not None
        silence = self._silent_states(row)
        longest, tail = round(HEARD_S / FRAME_S), round(SILENCE_S / FRAME_S)
        parts = [
            row.states[:, first // _FRAME_SAMPLES : -(-last // _FRAME_SAMPLES)][:, :longest] for first, last in spans
        ]
        frames = max(part.shape[1] for part in parts) + tail
        heard = torch.cat([torch.cat([part, silence[:, part.shape[1] - frames :]], dim=1) for part in parts])
        model = self._decoder.model
        start = torch.full((len(heard), 1), self._vocabulary.start, device=heard.device)
        with self._decoder.stopwatch.stage("decoder"):
            hidden = model.get_decoder()(input_ids=start, encoder_hidden_states=heard, use_cache=False)
            logits = model.proj_out(hidden.last_hidden_state[:, -1]).float()
        return first_step(self._vocabulary, logits)[0]

    def _silent_states(self, row: Row) -> Tensor:
        """What the encoder makes of silence at the end of a window: [1, frames, width]."""
        if self._silence is None:
            silent = replace(row, window=_SILENT, states=None)
            self._decoder.language_probabilities(silent)
            assert silent.states is not None
            self._silence = silent.states[:, -round((HEARD_S + SILENCE_S) / FRAME_S) :].clone()
        return self._silence
