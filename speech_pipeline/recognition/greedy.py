"""Encoder output and prompts to token ids, one token a step, with nothing around the steps.

Writes what :func:`.decoding.decode` writes without beams and without an assistant. What the decoder thinks of each
token, and where it looked, is kept on the way, so that no second pass has to ask.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from types import MappingProxyType

import torch
from torch import Tensor, nn
from transformers import WhisperForConditionalGeneration

from speech_pipeline.recognition.cross_attention import AudioKeysValues
from speech_pipeline.recognition.decoding import Sampling
from speech_pipeline.recognition.int8_linear import project

_CAPACITY = 64
"""Positions that the keys and values of the text have room for at first; doubled when they are used up."""


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

    def __init__(self, model: WhisperForConditionalGeneration) -> None:
        self._model = model
        self._decoder = model.get_decoder()
        self._layers = list(self._decoder.layers)
        settings = model.generation_config
        end = settings.eos_token_id
        self._end = int(end[0] if isinstance(end, list) else end)
        self._suppressed = torch.tensor(settings.suppress_tokens or [], dtype=torch.long, device=model.device)
        self._suppressed_at_first = torch.tensor(
            getattr(settings, "begin_suppress_tokens", None) or [], dtype=torch.long
        )

    def next_logits(self, tokens: Tensor, audio: AudioKeysValues) -> Tensor:
        """What may follow ``tokens``, int64 [rows, tokens]: float32 [rows, vocabulary]."""
        return self._logits(self._step(tokens, audio, _TextKeysValues(len(self._layers)), {}))

    def write(
        self,
        audio: AudioKeysValues,
        prompts: Tensor,
        limits: Sequence[int],
        *,
        temperature: float = 0.0,
        watched: Mapping[int, Sequence[int]] = MappingProxyType({}),
    ) -> list[Draft]:
        """Write what the rows say; a row whose text has ended takes no further part.

        Args:
            audio: keys and values whose first slots hold the rows, in the order of ``prompts``; the slots are
                exchanged on the way.
            prompts: int64 [rows, prompt tokens].
            limits: most tokens of each row, the end token included.
            temperature: 0 takes the likeliest token, above 0 samples.
            watched: heads of layers, whose queries are kept.

        Returns:
            A draft for each row, in the order of ``prompts``.
        """
        device = prompts.device
        text = _TextKeysValues(len(self._layers))
        sampling = Sampling(temperature) if temperature > 0 else None
        most = self._model.config.max_target_positions - prompts.shape[1]
        limits = [min(limit, most) for limit in limits]
        rows = torch.arange(len(prompts), device=device)
        written: list[list[int]] = [[] for _ in limits]
        steps: list[tuple[Tensor, Tensor, dict[int, Tensor]]] = []
        tokens = prompts
        while len(rows):
            seen: dict[int, Tensor] = dict.fromkeys(watched, tokens)
            logits = self._logits(self._step(tokens, audio, text, seen))
            chosen = self._choose(logits, tokens, sampling, first=not steps)
            likely = logits.gather(1, chosen[:, None]).squeeze(1) - logits.logsumexp(dim=1)
            steps.append((rows, likely, {layer: seen[layer][:, list(heads), -1] for layer, heads in watched.items()}))
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
        return self._drafts(written, steps, watched)

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
        watched: Mapping[int, Sequence[int]],
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
        queries = {layer: torch.cat([seen[layer] for _, _, seen in steps]).float() for layer in watched}
        return [
            Draft(
                tokens,
                likely[place],
                {layer: kept[place.to(kept.device)].transpose(0, 1) for layer, kept in queries.items()},
            )
            for tokens, place in zip(written, places, strict=True)
        ]

    def _step(self, tokens: Tensor, audio: AudioKeysValues, text: "_TextKeysValues", seen: dict[int, Tensor]) -> Tensor:
        """Hidden states of the last token: [rows, width]. Fills in ``seen`` for the layers that are its keys."""
        rows, count = tokens.shape
        positions = self._decoder.embed_positions.weight[text.length : text.length + count]
        hidden = self._decoder.embed_tokens(tokens) + positions
        for number, layer in enumerate(self._layers):
            own = layer.self_attn
            normed = layer.self_attn_layer_norm(hidden)
            queries, keys, values = (
                _heads(states, own.num_heads) for states in project((own.q_proj, own.k_proj, own.v_proj), normed)
            )
            keys, values = text.append(number, keys, values)
            mixed = nn.functional.scaled_dot_product_attention(
                queries, keys, values, is_causal=count > 1, scale=own.scaling
            )
            hidden = hidden + own.out_proj(_joined(mixed))
            cross = layer.encoder_attn
            queries = _heads(cross.q_proj(layer.encoder_attn_layer_norm(hidden)), cross.num_heads) * cross.scaling
            if number in seen:
                seen[number] = queries
            hidden = hidden + cross.out_proj(_joined(audio.attend(number, queries, rows)))
            inner = layer.activation_fn(layer.fc1(layer.final_layer_norm(hidden)))
            hidden = hidden + layer.fc2(inner)
        text.length += count
        return self._decoder.layer_norm(hidden[:, -1])

    def _logits(self, hidden: Tensor) -> Tensor:
        return self._model.proj_out(hidden).float()


class _TextKeysValues:
    """Keys and values of the text so far, [rows, heads, positions, head width] a layer, with room to grow."""

    def __init__(self, layers: int) -> None:
        self.length = 0
        self._stores: list[tuple[Tensor, Tensor] | None] = [None] * layers

    def append(self, layer: int, keys: Tensor, values: Tensor) -> tuple[Tensor, Tensor]:
        """Add positions; returns all of them."""
        end = self.length + keys.shape[2]
        store = self._stores[layer]
        if store is None or end > store[0].shape[2]:
            store = self._stores[layer] = (self._grown(store, 0, keys, end), self._grown(store, 1, values, end))
        rows = len(keys)
        for kept, fresh in zip(store, (keys, values), strict=True):
            kept[:rows, :, self.length : end] = fresh
        return store[0][:rows, :, :end], store[1][:rows, :, :end]

    def overwrite(self, slot: int, source: int) -> None:
        """Make a slot a copy of another."""
        for store in self._stores:
            for tensor in store or ():
                tensor[slot, :, : self.length] = tensor[source, :, : self.length]

    def keep(self, rows: int) -> None:
        """Forget all slots but the first ``rows``."""
        self._stores = [None if store is None else (store[0][:rows], store[1][:rows]) for store in self._stores]

    def _grown(self, store: tuple[Tensor, Tensor] | None, part: int, fresh: Tensor, end: int) -> Tensor:
        rows, heads, _, width = fresh.shape
        room = _CAPACITY
        while room < end:
            room *= 2
        grown = fresh.new_empty(rows, heads, room, width)
        if store is not None:
            grown[:, :, : self.length] = store[part][:, :, : self.length]
        return grown


def _heads(states: Tensor, count: int) -> Tensor:
    """[rows, tokens, width] to [rows, heads, tokens, head width]."""
    return states.unflatten(-1, (count, -1)).transpose(1, 2)


def _joined(states: Tensor) -> Tensor:
    """[rows, heads, tokens, head width] to [rows, tokens, width]."""
    return states.transpose(1, 2).flatten(2)
