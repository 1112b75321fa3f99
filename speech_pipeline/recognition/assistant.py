"""The smaller model that proposes tokens in speculative decoding (Leviathan et al. 2023, arXiv:2211.17192)."""

from dataclasses import dataclass

from transformers import PreTrainedModel


@dataclass(frozen=True, slots=True)
class Assistant:
    """A draft model checked against the main model.

    Attributes:
        model: a decoder that reads the main model's encoder output, or a whole sequence-to-sequence model.
        shares_encoder: True for the former; the latter encodes the audio again for itself.
    """

    model: PreTrainedModel
    shares_encoder: bool
