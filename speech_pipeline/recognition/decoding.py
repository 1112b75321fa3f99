"""Encoder output and prompts to token ids: greedy, beam search, sampling and assisted decoding."""

import copy
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, cast

import torch
from torch import Tensor
from transformers import (
    GenerationConfig,
    GenerationMixin,
    LogitsProcessor,
    LogitsProcessorList,
    PreTrainedModel,
    WhisperForConditionalGeneration,
)
from transformers.modeling_outputs import BaseModelOutput

TOKENS_PER_SECOND = 30
SPARE_TOKENS = 32
"""More text than this per second of audio is not speech; it bounds what a repetition can cost. English takes about 4
tokens a second, Hindi and Thai 15, since their characters are more than one token each."""

_SEED = 0


def decode(
    model: WhisperForConditionalGeneration,
    encoder_states: Tensor,
    prompts: Tensor,
    *,
    max_new_tokens: int,
    temperature: float = 0.0,
    num_beams: int = 1,
    assistant: PreTrainedModel | None = None,
    features: Tensor | None = None,
) -> list[list[int]]:
    """Write what the rows say.

    Args:
        model: the Whisper model.
        encoder_states: [rows, frames, width], in the model's dtype.
        prompts: int64 [rows, prompt tokens]; rows may differ in language but not in length.
        max_new_tokens: most tokens of a row, the end token included.
        temperature: 0 takes the likeliest token or beam; above 0 samples, the same way each time.
        num_beams: beams of a search at temperature 0.
        assistant: a smaller model that proposes tokens; the result is the same as without it. One row only.
        features: [rows, mel bins, frames], what a sequence-to-sequence assistant encodes for itself.

    Returns:
        Token ids of each row without the prompt, up to and with the end token where there is one.
    """
    config = _generation_config(model.generation_config)
    config.max_new_tokens = min(max_new_tokens, model.config.max_target_positions - prompts.shape[1])
    config.num_beams = num_beams if temperature == 0 else 1
    outputs = BaseModelOutput(last_hidden_state=cast(torch.FloatTensor, encoder_states))
    options: dict[str, Any] = {"encoder_outputs": outputs}
    if assistant is not None and temperature == 0:
        options["assistant_model"] = assistant
        if features is not None:
            options["input_features"] = features
    if temperature > 0:
        options["logits_processor"] = LogitsProcessorList([Sampling(temperature)])
    # WhisperForConditionalGeneration.generate adds its own long-form loop, prompt and guards around this one.
    with _kept_settings(assistant):
        sequences = GenerationMixin.generate(model, decoder_input_ids=prompts, generation_config=config, **options)
    return [_until(row[prompts.shape[1] :].tolist(), config.eos_token_id) for row in sequences]


def max_new_tokens(duration_s: float) -> int:
    """Most tokens to expect of a window of ``duration_s`` seconds; the decoder's positions are a limit of their own."""
    return SPARE_TOKENS + int(duration_s * TOKENS_PER_SECOND)


class Sampling(LogitsProcessor):
    """Makes the likeliest token a sample, by the Gumbel-max trick (Maddison et al. 2014, arXiv:1411.0030).

    All rows get the same noise, so that the text of a row does not depend on those it shares a batch with.
    """

    def __init__(self, temperature: float) -> None:
        self._temperature = temperature
        self._generator = torch.Generator().manual_seed(_SEED)

    def __call__(self, input_ids: Tensor, scores: Tensor) -> Tensor:
        """Disturb ``scores``: float32 [rows, vocabulary]."""
        noise = torch.empty(scores.shape[-1]).exponential_(generator=self._generator).log().neg()
        return scores / self._temperature + noise.to(scores.device)


def _generation_config(source: GenerationConfig) -> GenerationConfig:
    """The parts of a model's generation config that hold for every request."""
    end = source.eos_token_id[0] if isinstance(source.eos_token_id, list) else source.eos_token_id
    return GenerationConfig(
        bos_token_id=source.bos_token_id,
        eos_token_id=end,
        pad_token_id=source.pad_token_id if source.pad_token_id is not None else end,
        decoder_start_token_id=source.decoder_start_token_id,
        suppress_tokens=copy.copy(source.suppress_tokens) or None,
        begin_suppress_tokens=copy.copy(getattr(source, "begin_suppress_tokens", None)) or None,
        return_dict_in_generate=False,
        use_cache=True,
    )


@contextmanager
def _kept_settings(assistant: PreTrainedModel | None) -> Iterator[None]:
    """Undo what ``generate`` learns about an assistant, so that no request depends on those before it."""
    if assistant is None:
        yield
        return
    settings = assistant.generation_config
    assistant.generation_config = copy.deepcopy(settings)
    try:
        yield
    finally:
        assistant.generation_config = settings


def _until(ids: list[int], end: int) -> list[int]:
    return ids[: ids.index(end) + 1] if end in ids else ids
