from types import SimpleNamespace

import pytest
import torch
from pyannote.audio.models.blocks.sincnet import SincNet

from speech_pipeline.diarization_filters import share_filters

WINDOW = 16_000


@pytest.fixture
def recording() -> torch.Tensor:
    """Noise whose level and offset change, so that every window is normalised differently."""
    torch.manual_seed(0)
    time = torch.arange(5 * WINDOW) / WINDOW
    return torch.randn(time.shape) * (0.02 + 0.1 * torch.sin(time) ** 2) + 0.05 * torch.cos(time)


def both(windows: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    torch.manual_seed(0)
    network = SincNet(stride=10).eval()
    for norm in (network.wav_norm1d, *network.norm1d):
        torch.nn.init.uniform_(norm.weight, 0.5, 2.0)
        torch.nn.init.uniform_(norm.bias, -0.5, 0.5)
    with torch.inference_mode():
        alone = network(windows)
        share_filters(SimpleNamespace(sincnet=network))
        return alone, network(windows)


@pytest.mark.parametrize("hop", [1_600, 4_000, 12_000])
@pytest.mark.parametrize("count", [1, 2, 5])
def test_overlapping_windows_come_out_as_if_computed_alone(recording: torch.Tensor, hop: int, count: int) -> None:
    alone, together = both(recording.unfold(0, WINDOW, hop)[:count, None])
    torch.testing.assert_close(together, alone, atol=2e-3, rtol=1e-3)


@pytest.mark.parametrize("hop", [4_005, 16_000, 20_000])
def test_windows_that_share_nothing_are_computed_as_before(recording: torch.Tensor, hop: int) -> None:
    alone, together = both(recording.unfold(0, WINDOW, hop)[:, None])
    torch.testing.assert_close(together, alone, atol=0, rtol=0)


def test_copies_of_windows_are_computed_as_before(recording: torch.Tensor) -> None:
    alone, together = both(recording.unfold(0, WINDOW, 4_000)[:, None].contiguous())
    torch.testing.assert_close(together, alone, atol=0, rtol=0)


def test_networks_of_other_kinds_are_left_as_they_are() -> None:
    network = torch.nn.Linear(2, 2)
    share_filters(network)
    share_filters(SimpleNamespace(sincnet=network))
    assert "forward" not in vars(network)
