"""Encoder output and prompts to token ids, one token a step, with nothing around the steps.

Writes what :func:`.decoding.decode` writes without beams and without an assistant. What the decoder thinks of each
token, and where it looked, is kept on the way, so that no second pass has to ask.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from types import MappingProxyType

import torch
from torch import Tensor
from transformers import WhisperForConditionalGeneration

from speech_pipeline.recognition.cross_attention import AudioKeysValues, FloatKeysValues
from speech_pipeline.recognition.decoder_step import DecoderStep
from speech_pipeline.recognition.decoding import Sampling
from speech_pipeline.recognition.static_steps import StaticSteps


@dataclass(frozen=True, slots=True)
class Draft:
    """What was written for a row.

    Attributes:
        tokens: token ids, with the end token where the model wrote it.
        log_probabilities: float32 [tokens], natural logarithms.
        queries: for each watched layer, float32 [heads, tokens, head width]: what the watched heads looked for in the
            audio when they wrote each token, scaled.
    """

    tokens: list[int]
    log_probabilities: Tensor
    queries: dict[int, Tensor]


class GreedyDecoder:
    """The decoder of a Whisper model as a loop over tokens."""

    def __init__(
        self,
        model: WhisperForConditionalGeneration,
        watched: Mapping[int, Sequence[int]] = MappingProxyType({}),
        *,
        static_rows: Sequence[int] = (),
        audio_dtype: torch.dtype | None = None,
    ) -> None:
        """Take over a model.

        Args:
            model: on its device, in its precision.
            watched: heads of layers, whose queries are kept.
            static_rows: see :class:`.acceleration.Acceleration`.
            audio_dtype: what the audio of a batch will be kept in; None for the decoder's.
        """
        self._watched = watched
        self._step = DecoderStep(model)
        self._static: StaticSteps | None = None
        if static_rows:
            audio = self._step.silent_audio(audio_dtype)
            if isinstance(audio, FloatKeysValues):
                self._static = StaticSteps(self._step, audio, watched, static_rows)
        settings = model.generation_config
        end = settings.eos_token_id
        self._end = int(end[0] if isinstance(end, list) else end)
        self._suppressed, self._suppressed_at_first = (
            torch.tensor(getattr(settings, name, None) or [], dtype=torch.long, device=model.device)
            for name in ("suppress_tokens", "begin_suppress_tokens")
        )

    def next_logits(self, tokens: Tensor, audio: AudioKeysValues) -> Tensor:
        """What may follow ``tokens``, int64 [rows, tokens]: float32 [rows, vocabulary]."""
        return self._step(tokens, audio, self._step.new_text())[0]

    def write(
        self,
        audio: AudioKeysValues,
        prompts: Tensor,
        limits: Sequence[int],
        *,
        temperature: float = 0.0,
    ) -> list[Draft]:
        """Write what the rows say; a row whose text has ended takes no further part.

        Args:
            audio: keys and values whose first slots hold the rows, in the order of ``prompts``; the slots are
                exchanged on the way.
            prompts: int64 [rows, prompt tokens].
            limits: most tokens of each row, the end token included.
            temperature: 0 takes the likeliest token, above 0 samples.

        Returns:
            A draft for each row, in the order of ``prompts``.
        """
        device = prompts.device
        static = self._static if self._static is not None and self._static.take(audio) else None
        text = self._step.new_text() if static is None else static.text
        sampling = Sampling(temperature) if temperature > 0 else None
        most = self._step.positions - prompts.shape[1]
        limits = [min(limit, most) for limit in limits]
        rows = torch.arange(len(prompts), device=device)
        written: list[list[int]] = [[] for _ in limits]
        steps: list[tuple[Tensor, Tensor, dict[int, Tensor]]] = []
        tokens = prompts
        while len(rows):
            if static is None or not steps:
                logits, seen = self._step(tokens, audio, text, self._watched)
            else:
                logits, seen = static(tokens)
            chosen = self._choose(logits, tokens, sampling, first=not steps)
            likely = logits.gather(1, chosen[:, None]).squeeze(1) - logits.logsumexp(dim=1)
            watched = {layer: seen[layer][:, list(heads), -1] for layer, heads in self._watched.items()}
            steps.append((rows, likely, watched))
            rows, chosen = rows.clone(), chosen.clone()
            finished = []
            for slot, (row, token) in enumerate(zip(rows.tolist(), chosen.tolist(), strict=True)):
                written[row].append(token)
                if token == self._end or len(written[row]) >= limits[row]:
                    finished.append(slot)
            last = len(rows) - 1
            # From the last slot on, so that a slot moved forward is never one that has finished.
            for slot in reversed(finished):
                if slot != last:
                    audio.swap(slot, last)
                    text.overwrite(slot, last)
                    chosen[slot], rows[slot] = chosen[last], rows[last]
                last -= 1
            rows, tokens = rows[: last + 1], chosen[: last + 1, None]
            text.keep(last + 1)
        return self._drafts(written, steps)

    def _choose(self, logits: Tensor, tokens: Tensor, sampling: Sampling | None, *, first: bool) -> Tensor:
        """The next token of each row: int64 [rows]."""
        scores = logits.index_fill(1, self._suppressed, -torch.inf)
        if first:
            scores = scores.index_fill(1, self._suppressed_at_first, -torch.inf)
        if sampling is not None:
            scores = sampling(tokens, scores)
        return scores.argmax(dim=-1)

    def _drafts(
        self,
        written: list[list[int]],
        steps: list[tuple[Tensor, Tensor, dict[int, Tensor]]],
    ) -> list[Draft]:
        """What was kept step by step, row by row."""
        of_row: list[list[tuple[int, int]]] = [[] for _ in written]
        for step, (rows, _, _) in enumerate(steps):
            for slot, row in enumerate(rows.tolist()):
                of_row[row].append((step, slot))
        # One tensor of all steps, in which a place is a slot of a step.
        starts = [0, *accumulate(len(rows) for rows, _, _ in steps)]
        places = [torch.tensor([starts[step] + slot for step, slot in of]) for of in of_row]
        likely = torch.cat([scores for _, scores, _ in steps]).float().cpu()
        queries = {layer: torch.cat([seen[layer] for _, _, seen in steps]).float() for layer in self._watched}
        return [
            Draft(
                tokens,
                likely[place],
                {layer: kept[place.to(kept.device)].transpose(0, 1) for layer, kept in queries.items()},
            )
            for tokens, place in zip(written, places, strict=True)
        ]
