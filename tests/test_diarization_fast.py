from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import soundfile
import torch
from numpy.typing import NDArray
from pyannote.audio import Pipeline
from pyannote.audio.models.embedding import WeSpeakerResNet34
from pyannote.audio.pipelines.speaker_verification import PretrainedSpeakerEmbedding

from speech_pipeline.diarization import SAMPLING_RATE, Diarizer
from speech_pipeline.diarization_fast import FastPipeline
from speech_pipeline.diarization_loading import load_diarizer
from speech_pipeline.evaluation.diarization_errors import diarization_errors
from speech_pipeline.evaluation.references import read_rttm
from speech_pipeline.transcript import Diarization


@pytest.fixture(scope="module")
def call(sample_call: Path) -> NDArray[np.float32]:
    return np.asarray(soundfile.read(sample_call, dtype="float32")[0])


@pytest.fixture
def plain(starter_dir: Path) -> Any:
    """The starter pipeline as pyannote runs it."""
    folder = str(starter_dir / "diarization")
    return load_diarizer(folder, token=None, device=torch.device("cpu"), fast=False)._pipeline


def speakers(diarization: Diarization) -> int:
    return len({turn.speaker for turn in diarization.turns})


class Listening:
    """An embedding to which all voices are the same, and that keeps how much audio it was given."""

    dimension, metric, sample_rate, min_num_samples = 8, "cosine", SAMPLING_RATE, 400

    def __init__(self) -> None:
        self.seconds = 0.0
        self.batches: list[tuple[int, ...]] = []

    def __call__(self, waveforms: torch.Tensor, masks: torch.Tensor) -> NDArray[np.float32]:
        self.batches.append(tuple(waveforms.shape))
        self.seconds += float((masks.mean(dim=1) * waveforms.shape[-1]).sum()) / SAMPLING_RATE
        return np.eye(self.dimension, dtype=np.float32)[np.zeros(len(waveforms), int)]


def test_the_pipeline_of_pyannote_stays_at_hand(plain: Any, starter_dir: Path) -> None:
    assert isinstance(plain, Pipeline)
    fast = load_diarizer(str(starter_dir / "diarization"), token=None, device=torch.device("cpu"))._pipeline
    assert isinstance(fast, FastPipeline)


def test_the_call_is_diarized_as_well_as_by_pyannote(plain: Any, call: NDArray[np.float32], sample_call: Path) -> None:
    reference = read_rttm(sample_call.with_suffix(".rttm"))
    by_pyannote = Diarizer(plain).diarize(call)
    fast = Diarizer(FastPipeline(plain)).diarize(call)
    errors, errors_of_fast = (diarization_errors(reference, found.turns, 30.0) for found in (by_pyannote, fast))
    assert errors_of_fast.errors <= errors.errors + 0.005 * errors.reference
    assert speakers(fast) == speakers(by_pyannote) == 2


def test_speech_is_embedded_once(plain: Any, call: NDArray[np.float32]) -> None:
    plain._embedding = listening = Listening()
    diarization = Diarizer(FastPipeline(plain)).diarize(call)
    spoken = sum(turn.duration for turn in diarization.exclusive_turns)
    assert 0 < listening.seconds <= spoken + 1.0


def test_batches_are_no_larger_than_asked(plain: Any, call: NDArray[np.float32]) -> None:
    plain._embedding = listening = Listening()
    pipeline = FastPipeline(plain)
    pipeline.embedding_batch_size = 2
    Diarizer(pipeline).diarize(call)
    assert max(size for size, *_ in listening.batches) == 2
    assert pipeline.embedding_batch_size == plain.embedding_batch_size == 2


def test_hyper_parameters_that_count_windows_follow_the_step(plain: Any) -> None:
    assert plain.clustering.min_cluster_size == 12
    assert FastPipeline(plain, step=0.25).clustering.min_cluster_size == 5


def test_a_pipeline_with_larger_steps_keeps_them(plain: Any) -> None:
    plain.segmentation_step = 0.5
    assert FastPipeline(plain, step=0.25).clustering.min_cluster_size == 12
    assert plain._segmentation.step == 5.0


def test_what_is_not_clustered_is_assigned(plain: Any, call: NDArray[np.float32], sample_call: Path) -> None:
    twice = np.concatenate([call, call])
    everything = Diarizer(FastPipeline(plain)).diarize(twice)
    plain.segmentation_step = 0.25  # What the first has made of the pipeline.
    some = Diarizer(FastPipeline(plain, most_clustered=15)).diarize(twice)
    assert speakers(some) == speakers(everything) == 2
    first = [replace(turn, end=min(turn.end, 30.0)) for turn in some.turns if turn.start < 30.0]
    errors = diarization_errors(read_rttm(sample_call.with_suffix(".rttm")), first, 30.0)
    assert errors.errors < 0.1 * errors.reference


def test_networks_of_torch_embed_too(plain: Any, call: NDArray[np.float32]) -> None:
    torch.manual_seed(0)
    plain._embedding = PretrainedSpeakerEmbedding(WeSpeakerResNet34().eval())
    diarization = Diarizer(FastPipeline(plain)).diarize(call[: 15 * SAMPLING_RATE], num_speakers=2)
    assert diarization.turns
