"""The smaller model that proposes tokens in speculative decoding (Leviathan et al. 2023, arXiv:2211.17192)."""

import copy
from dataclasses import dataclass
from typing import Any, Self

import torch
from transformers import GenerationMixin, PreTrainedModel, WhisperForCausalLM, WhisperForConditionalGeneration

from speech_pipeline.errors import ModelMismatch

_ENCODER_SHAPE = ("d_model", "encoder_layers", "encoder_attention_heads", "encoder_ffn_dim", "num_mel_bins")


@dataclass(frozen=True, slots=True)
class Assistant:
    """A draft model checked against the main model.

    Attributes:
        model: a decoder that reads the main model's encoder output, or a whole sequence-to-sequence model.
        shares_encoder: True for the former; the latter encodes the audio again for itself.
    """

    model: PreTrainedModel
    shares_encoder: bool

    @classmethod
    def fit(cls, model: WhisperForConditionalGeneration, main: WhisperForConditionalGeneration) -> Self:
        """Check ``model`` against the main model, and share the encoder where it is the same, as in distil-Whisper.

        The weights of ``model`` are taken over, not copied.

        Raises:
            ModelMismatch: vocabularies or features differ.
        """
        if model.config.vocab_size != main.config.vocab_size:
            raise ModelMismatch(
                f"The assistant's vocabulary has {model.config.vocab_size} tokens and the main model's "
                f"{main.config.vocab_size}; ASSISTANT_MODEL must be of the same family as ASR_MODEL, such as "
                "distil-whisper/distil-large-v3 for openai/whisper-large-v3."
            )
        if model.config.num_mel_bins != main.config.num_mel_bins:
            raise ModelMismatch(
                f"The assistant reads {model.config.num_mel_bins} mel bins and the main model "
                f"{main.config.num_mel_bins}; set ASSISTANT_MODEL to one that reads the same features as ASR_MODEL."
            )
        shares_encoder = _same_encoder(model, main)
        draft = _decoder_draft(model) if shares_encoder else _whole_draft(model)
        draft.generation_config = copy.deepcopy(model.generation_config)
        # The other schedules keep what they learnt from one request for the next.
        draft.generation_config.num_assistant_tokens_schedule = "heuristic_transient"
        return cls(draft.eval(), shares_encoder)


class _DecoderDraft(WhisperForCausalLM):
    """A decoder that reads encoder output it is given."""

    def generate(self, *arguments: Any, **options: Any) -> Any:
        """Propose tokens after ``input_ids``; the main model's own ``generate`` gives a mask that hides the prompt."""
        options["attention_mask"] = torch.ones_like(options["input_ids"])
        return super().generate(*arguments, **options)


class _WholeDraft(WhisperForConditionalGeneration):
    """A model with an encoder of its own, which generates as other models of transformers do.

    Whisper's own ``generate`` sets the begin index of logits processors that it shares with the main model, which then
    suppresses the end token in the middle of a text.
    """

    generate = GenerationMixin.generate  # type: ignore[assignment]


def _same_encoder(model: WhisperForConditionalGeneration, main: WhisperForConditionalGeneration) -> bool:
    if any(getattr(model.config, name) != getattr(main.config, name) for name in _ENCODER_SHAPE):
        return False
    pairs = zip(model.get_encoder().parameters(), main.get_encoder().parameters(), strict=True)
    return all(torch.equal(theirs, ours) for theirs, ours in pairs)


def _decoder_draft(model: WhisperForConditionalGeneration) -> PreTrainedModel:
    with torch.device("meta"):
        draft = _DecoderDraft(copy.deepcopy(model.config))
    draft.model.decoder = model.model.decoder
    draft.proj_out = model.proj_out
    return draft


def _whole_draft(model: WhisperForConditionalGeneration) -> PreTrainedModel:
    with torch.device("meta"):
        draft = _WholeDraft(copy.deepcopy(model.config))
    draft.model = model.model
    draft.proj_out = model.proj_out
    return draft
