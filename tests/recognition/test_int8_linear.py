import torch
from torch import nn

from speech_pipeline.recognition.int8_linear import Int8Linear, Int8OutputLayer, multiplies_exactly, to_int8


def made_linear(inputs: int, outputs: int, *, bias: bool = True) -> nn.Linear:
    torch.manual_seed(0)
    return nn.Linear(inputs, outputs, bias=bias)


@torch.inference_mode()
def test_stays_near_the_layer_it_is_made_of() -> None:
    for bias in (True, False):
        linear = made_linear(256, 512, bias=bias)
        # Rows of very different size, as after a layer norm with outliers.
        inputs = torch.randn(3, 5, 256) * torch.logspace(-3, 3, 5)[:, None]
        expected, found = linear(inputs), Int8Linear(linear)(inputs)
        error = (found - expected).norm(dim=-1) / expected.norm(dim=-1)
        assert found.shape == expected.shape
        assert error.max() < 0.02


@torch.inference_mode()
def test_a_row_does_not_depend_on_the_others() -> None:
    linear = Int8Linear(made_linear(64, 96))
    rows = torch.randn(24, 64) * torch.logspace(-2, 2, 24)[:, None]
    together = linear(rows)
    for number, row in enumerate(rows):
        assert torch.equal(linear(row[None])[0], together[number])


@torch.inference_mode()
def test_a_row_of_zeros_gives_the_bias() -> None:
    linear = made_linear(64, 32)
    assert torch.equal(Int8Linear(linear)(torch.zeros(2, 64)), linear.bias.expand(2, 32))


def test_replaces_linear_layers_at_any_depth_and_nothing_else() -> None:
    module = nn.Sequential(nn.LayerNorm(8), nn.Sequential(nn.Linear(8, 8), nn.GELU()), nn.Linear(8, 4))
    to_int8(module)
    kinds = [type(part) for part in module.modules()]
    assert kinds.count(Int8Linear) == 2
    assert nn.Linear not in kinds
    assert kinds.count(nn.LayerNorm) == kinds.count(nn.GELU) == 1


def test_takes_a_quarter_of_the_memory() -> None:
    linear = made_linear(512, 2048)
    bytes_of = [sum(t.nbytes for t in (*m.parameters(), *m.buffers())) for m in (linear, Int8Linear(linear))]
    assert bytes_of[1] < 0.27 * bytes_of[0]


@torch.inference_mode()
def test_takes_halves_and_gives_float32() -> None:
    linear = Int8Linear(made_linear(64, 32, bias=False))
    assert linear(torch.randn(2, 64, dtype=torch.bfloat16)).dtype == torch.float32


@torch.inference_mode()
def test_the_highest_scores_of_the_output_layer_are_exact() -> None:
    for bias in (True, False):
        linear = made_linear(64, 2_000, bias=bias)
        inputs = torch.randn(3, 4, 64)
        expected, found = linear(inputs), Int8OutputLayer(linear)(inputs)
        highest = expected.topk(4, dim=-1).indices
        assert torch.equal(found.topk(4, dim=-1).indices, highest)
        assert torch.allclose(found.gather(-1, highest), expected.gather(-1, highest), atol=1e-5)


def test_this_processor_either_multiplies_exactly_or_is_found_out() -> None:
    ones = torch.full((40, 512), 127, dtype=torch.int8)
    right = bool((torch._int_mm(ones, ones.T) == 512 * 127**2).all())
    assert multiplies_exactly() == right
