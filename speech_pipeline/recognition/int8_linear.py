"""Linear layers in 8-bit integers, for processors that multiply those several times faster than floats."""

from collections.abc import Iterator, Sequence

import torch
from torch import Tensor, nn

from speech_pipeline.recognition.int8_rounding import LARGEST, ZERO, round_to_int8, round_to_uint8

_EXACT = 16
"""How many of the highest scores of the vocabulary are exact."""


class Int8Linear(nn.Module):
    """A linear layer with int8 weights, one scale per output, and inputs rounded to 8 bits, one scale per row.

    A row of its output depends on that row alone, so that what a window says does not depend on its batch.
    The method is LLM.int8's without its outlier columns (Dettmers et al. 2022, arXiv:2208.07339). The product is that
    of oneDNN, with weights laid out for it.
    """

    weight: Tensor
    scale: Tensor
    zero: Tensor
    bias: Tensor | None

    def __init__(self, linear: nn.Linear) -> None:
        super().__init__()
        weight, scale = round_to_int8(linear.weight.detach().float())
        self.in_features, self.out_features = linear.in_features, linear.out_features
        self.register_buffer("weight", torch.ops.onednn.qlinear_prepack(weight, None))
        self.register_buffer("scale", scale.flatten())
        self.register_buffer("zero", torch.zeros(len(weight), dtype=torch.int32))
        self.register_buffer("bias", None if linear.bias is None else linear.bias.detach().float())

    def forward(self, inputs: Tensor) -> Tensor:
        """[..., inputs] in any precision to float32 [..., outputs]."""
        return self.product(*self.round(inputs)).view(*inputs.shape[:-1], self.out_features)

    def round(self, inputs: Tensor) -> tuple[Tensor, Tensor]:
        """[..., inputs] in any precision to uint8 [rows, inputs] and scales [rows, 1]."""
        return round_to_uint8(inputs.reshape(-1, self.in_features).float())

    def product(self, rows: Tensor, scale: Tensor) -> Tensor:
        """What :meth:`round` returns to float32 [rows, outputs]."""
        outputs = torch.ops.onednn.qlinear_pointwise(
            rows, 1.0, ZERO, self.weight, self.scale, self.zero, None, 1.0, 0, torch.float32, "none", [], ""
        )
        return outputs.mul_(scale) if self.bias is None else torch.addcmul(self.bias, outputs, scale)


class Int8OutputLayer(Int8Linear):
    """The layer that scores the vocabulary: rounded, but exact for the tokens that score highest.

    Rounding changes the order of tokens that are nearly as likely as each other; what is written depends on it.
    """

    def __init__(self, linear: nn.Linear) -> None:
        super().__init__(linear)
        # Shared with the embedding in most models, so that it takes no memory of its own.
        self.exact = linear.weight

    def forward(self, inputs: Tensor) -> Tensor:
        """float32 [..., inputs] to float32 [..., vocabulary]."""
        scores = super().forward(inputs)
        highest = scores.topk(min(_EXACT, self.out_features), dim=-1).indices
        exact = (self.exact[highest] @ inputs.unsqueeze(-1)).squeeze(-1)
        if self.bias is not None:
            exact += self.bias[highest]
        return scores.scatter(-1, highest, exact)


def project(linears: Sequence[nn.Module], inputs: Tensor) -> Iterator[Tensor]:
    """Put the same inputs, [..., inputs], through several linear layers; those in int8 share one rounding."""
    rounded = None
    for linear in linears:
        if isinstance(linear, Int8Linear):
            rounded = rounded or linear.round(inputs)
            yield linear.product(*rounded).view(*inputs.shape[:-1], linear.out_features)
        else:
            yield linear(inputs)


def to_int8(module: nn.Module) -> None:
    """Replace every linear layer inside a module, in place."""
    for name, child in module.named_children():
        if isinstance(child, nn.Linear):
            setattr(module, name, Int8Linear(child))
        else:
            to_int8(child)


def multiplies_exactly() -> bool:
    """Whether this build of torch multiplies 8-bit matrices, and this processor does it right for the largest values.

    Instructions older than VNNI add pairs of products in 16 bits, where 255 x 127 twice saturates.
    """
    if not hasattr(torch.ops.onednn, "qlinear_pointwise"):
        return False
    largest = nn.Linear(64, 32, bias=False)
    nn.init.constant_(largest.weight, LARGEST)
    return bool((Int8Linear(largest)(torch.full((32, 64), LARGEST)) == 64 * LARGEST**2).all())
