import importlib.util
from pathlib import Path

import numpy as np
import pytest
import soundfile
import torch

from speech_pipeline.audio.silero_network import CONTEXT_SAMPLES, FRAME_SAMPLES, SileroNetwork
from speech_pipeline.errors import ModelUnavailable


@pytest.fixture(scope="module")
def samples(sample_call: Path) -> torch.Tensor:
    """A telephone call with some of its frames replaced by noise and by digital silence: float32 [n]."""
    call = torch.from_numpy(soundfile.read(sample_call, dtype="float32")[0])[: 600 * FRAME_SAMPLES].clone()
    call[:20_000] = 0.2 * torch.randn(20_000, generator=torch.Generator().manual_seed(0))
    call[20_000:40_000] = 0
    return call


def frames_of(samples: torch.Tensor) -> torch.Tensor:
    """float32 [frames, 576]."""
    led = torch.cat([torch.zeros(CONTEXT_SAMPLES), samples])
    return led.unfold(0, FRAME_SAMPLES + CONTEXT_SAMPLES, FRAME_SAMPLES)


def test_hears_what_the_network_of_the_package_hears(samples: torch.Tensor) -> None:
    spec = importlib.util.find_spec("silero_vad")
    assert spec is not None
    assert spec.submodule_search_locations is not None
    package = torch.jit.load(Path(spec.submodule_search_locations[0]) / "data" / "silero_vad.jit")
    with torch.inference_mode():
        expected = torch.cat([package(frame, 16_000).flatten() for frame in samples.split(FRAME_SAMPLES)])
    found, _ = SileroNetwork().speech(frames_of(samples))
    assert expected.max() > 0.9
    assert expected.min() < 0.05
    assert torch.allclose(found, expected, atol=1e-4)


@pytest.mark.parametrize("cut", [1, 7, 512])
def test_goes_on_where_it_left_off(samples: torch.Tensor, cut: int) -> None:
    network, frames = SileroNetwork(), frames_of(samples)
    whole, _ = network.speech(frames)
    first, state = network.speech(frames[:cut])
    second, _ = network.speech(frames[cut:], state)
    assert torch.allclose(torch.cat([first, second]), whole, atol=1e-5)


def test_a_package_with_another_network_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Doubled(torch.nn.Module):
        def forward(self, inputs: torch.Tensor) -> torch.Tensor:
            return 2 * inputs

    package = tmp_path / "silero_vad"
    (package / "data").mkdir(parents=True)
    (package / "__init__.py").touch()
    torch.jit.script(Doubled()).save(package / "data" / "silero_vad.jit")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ModelUnavailable, match="silero-vad"):
        SileroNetwork()


def test_without_the_package_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda _name: None)
    with pytest.raises(ModelUnavailable, match=r"requirements\.txt"):
        SileroNetwork()


def test_probabilities_are_finite_for_the_loudest_samples() -> None:
    loud = np.sign(np.sin(np.arange(FRAME_SAMPLES * 20) / 7)).astype(np.float32) * 1e3
    found, _ = SileroNetwork().speech(frames_of(torch.from_numpy(loud)))
    assert torch.isfinite(found).all()
