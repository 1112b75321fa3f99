"""The steps of a pyannote.audio pipeline with less work: every clear stretch of speech is embedded once.

What differs from pyannote's own order of steps:

- the segmentation model takes larger steps; the hyper-parameters of the clustering that count windows are scaled;
- where windows overlap, their middles count more than their edges, which lack context;
- windows that overlap share the first layer of the segmentation model;
- pieces (see :mod:`speech_pipeline.diarization_pieces`) are embedded instead of every speaker of every window;
- of a long recording every n-th window is clustered, and all are assigned to the speakers found, so that time and
  memory grow with the length of the recording and not with its square.
"""

import math
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray

from speech_pipeline.diarization_filters import share_filters
from speech_pipeline.diarization_frames import activations, loudest, speakers_at_once, window_starts
from speech_pipeline.diarization_pieces import Pieces, cut_pieces

if TYPE_CHECKING:
    from pyannote.audio import Pipeline
    from pyannote.core import Annotation, SlidingWindow, SlidingWindowFeature

STEP = 0.25
"""Step of the segmentation window, as a part of its length."""

PIECE_S = 5.0
"""Seconds of speech in a piece, about."""

CROP_PARTS = (0.25, 0.5, 1.0)
"""Lengths of audio that pieces are embedded in, as parts of the segmentation window; equal ones make a batch."""

MOST_CLUSTERED = 1500
"""Speakers of windows that are clustered at most; 20 to 40 minutes of talk."""

Hook = Callable[..., None]


@dataclass(frozen=True, slots=True)
class FastOutput:
    """Turns under the names that pyannote.audio 4 gives them."""

    speaker_diarization: "Annotation"
    exclusive_speaker_diarization: "Annotation"


class FastPipeline:
    """Called like a pyannote.audio pipeline of the kind SpeakerDiarization, and made of its models and clustering."""

    progress_shares: Mapping[str, tuple[float, float]] = {"segmentation": (0.0, 0.5), "embeddings": (0.5, 0.97)}

    def __init__(self, pipeline: "Pipeline", *, step: float = STEP, most_clustered: int = MOST_CLUSTERED) -> None:
        """Take over a pipeline; it is changed and must not be used on its own any more.

        Args:
            pipeline: with its parameters set, on its device.
            step: of the segmentation window, as a part of its length; a pipeline with a larger one keeps its own.
            most_clustered: speakers of windows that are clustered at most.
        """
        self._pipeline: Any = pipeline
        self._most_clustered = most_clustered
        step = max(step, self._pipeline.segmentation_step)
        _scale_counts(self._pipeline.clustering, step / self._pipeline.segmentation_step)
        self._pipeline._segmentation.step = step * self._pipeline._segmentation.duration
        share_filters(self._pipeline._segmentation.model)

    @property
    def clustering(self) -> Any:
        """The clustering of the pipeline."""
        return self._pipeline.clustering

    @property
    def segmentation_batch_size(self) -> int:
        """Windows segmented at once."""
        return int(self._pipeline.segmentation_batch_size)

    @segmentation_batch_size.setter
    def segmentation_batch_size(self, size: int) -> None:
        self._pipeline.segmentation_batch_size = size

    @property
    def embedding_batch_size(self) -> int:
        """Pieces embedded at once."""
        return int(self._pipeline.embedding_batch_size)

    @embedding_batch_size.setter
    def embedding_batch_size(self, size: int) -> None:
        self._pipeline.embedding_batch_size = size

    def __call__(
        self,
        recording: Mapping[str, Any],
        hook: Hook,
        num_speakers: int | None = None,
        min_speakers: int | None = None,
        max_speakers: int | None = None,
    ) -> FastOutput:
        """Find the turns of a recording.

        Args:
            recording: ``waveform``, float32 [1, n], and ``sample_rate``.
            hook: called as pyannote does, with a step's name, what it made, and ``total`` and ``completed``.
            num_speakers: exact number of speakers, when known.
            min_speakers: least number of speakers.
            max_speakers: greatest number of speakers.
        """
        from pyannote.audio.pipelines.utils.diarization import set_num_speakers
        from pyannote.core import Annotation, SlidingWindowFeature

        number, least, most = set_num_speakers(num_speakers, min_speakers, max_speakers)
        segmentation = self._pipeline.get_segmentations(recording, hook=hook)
        grid, window_s = self._pipeline._segmentation.model.receptive_field, self._pipeline._segmentation.duration
        binary = self._binary(segmentation)
        activity = binary.data > 0.5
        if not activity.any():
            return FastOutput(Annotation(), Annotation())
        starts = window_starts(binary, grid)
        pieces = cut_pieces(activity, starts, length=PIECE_S / grid.step, longest_span=int(window_s / grid.step))
        units = pieces.mixed(self._embedded(recording, pieces, grid, hook))
        clusters = self._clustered(
            units.reshape(*activity.shape[::2], -1),
            SlidingWindowFeature(activity.astype(np.float32), segmentation.sliding_window),
            num_clusters=number,
            min_clusters=least,
            max_clusters=most,
        )
        # Where windows begin and end they know half of what is around; pyannote's smaller steps make up for it.
        weights = np.hamming(activity.shape[1]).astype(np.float32)
        count = np.minimum(speakers_at_once(activity, starts, weights), most).astype(np.int64)
        active = activations(segmentation.data, clusters, starts, weights)
        return FastOutput(
            self._annotation(loudest(active, count), grid),
            self._annotation(loudest(active, np.minimum(count, 1)), grid),
        )

    def _binary(self, segmentation: "SlidingWindowFeature") -> "SlidingWindowFeature":
        from pyannote.audio.utils.signal import binarize

        if self._pipeline._segmentation.model.specifications.powerset:
            return segmentation
        return binarize(segmentation, onset=self._pipeline.segmentation.threshold, initial_state=False)

    def _embedded(
        self, recording: Mapping[str, Any], pieces: Pieces, grid: "SlidingWindow", hook: Hook
    ) -> NDArray[np.float64]:
        """Embed the pieces: [pieces, dimension]; those that are too short are NaN."""
        embedding = self._pipeline._embedding
        embeddings = np.full((len(pieces.frames), embedding.dimension), np.nan)
        crops: dict[float, list[int]] = {}
        lengths = [part * self._pipeline._segmentation.duration for part in CROP_PARTS]
        for index, frames in enumerate(pieces.frames):
            span = (frames[-1] - frames[0] + 1) * grid.step
            crops.setdefault(next((length for length in lengths if length >= span), lengths[-1]), []).append(index)
        completed = 0
        hook("embeddings", None, total=len(embeddings), completed=0)
        for length, indices in crops.items():
            for first in range(0, len(indices), self.embedding_batch_size):
                batch = indices[first : first + self.embedding_batch_size]
                inputs = [_crop(recording, pieces.frames[index], grid, length) for index in batch]
                waveforms, masks = (torch.stack(column) for column in zip(*inputs, strict=True))
                embeddings[batch] = _embed(embedding, waveforms, masks)
                completed += len(batch)
                hook("embeddings", None, total=len(embeddings), completed=completed)
        return embeddings

    def _clustered(
        self, units: NDArray[np.float64], binary: "SlidingWindowFeature", **limits: float | None
    ) -> NDArray[np.int64]:
        """The cluster of each speaker of each window, -2 for those who do not speak.

        Args:
            units: [windows, speakers, dimension], their embeddings.
            binary: [windows, frames, speakers], who speaks.
            limits: of the number of clusters.
        """
        from pyannote.core import SlidingWindowFeature
        from scipy.spatial.distance import cdist

        clustering = self.clustering
        speaking = binary.data.any(axis=1)
        stride = math.ceil(int(speaking.sum()) / self._most_clustered)
        some = SlidingWindowFeature(binary.data[::stride], binary.sliding_window)
        clusters, _, centroids = clustering(embeddings=units[::stride].copy(), segmentations=some, **limits)
        if stride > 1:
            distances = cdist(units.reshape(-1, units.shape[-1]), centroids, metric=clustering.metric)
            likeness = np.nan_to_num(2 - distances, nan=0.0).reshape(*units.shape[:2], -1)
            if clustering.constrained_assignment:
                likeness[~speaking] = likeness.min() - 1
                clusters = clustering.constrained_argmax(likeness)
            else:
                clusters = likeness.argmax(axis=2)
        return np.where(speaking, clusters, -2).astype(np.int64)

    def _annotation(self, speaking: NDArray[np.float32], grid: "SlidingWindow") -> "Annotation":
        from pyannote.core import SlidingWindow, SlidingWindowFeature

        pipeline = self._pipeline
        return pipeline.to_annotation(
            SlidingWindowFeature(speaking, SlidingWindow(start=0.0, duration=grid.duration, step=grid.step)),
            min_duration_on=0.0,
            min_duration_off=pipeline.segmentation.min_duration_off,
        )


def _scale_counts(clustering: Any, factor: float) -> None:
    """Fit the hyper-parameters that count windows to windows that are ``factor`` times as far apart."""
    if hasattr(clustering, "min_cluster_size"):
        clustering.min_cluster_size = max(1, round(clustering.min_cluster_size / factor))
    if hasattr(clustering, "Fa"):
        clustering.Fa = clustering.Fa * factor


def _embed(embedding: Any, waveforms: torch.Tensor, masks: torch.Tensor) -> NDArray[np.float64]:
    """Embed a batch; ONNX networks, which pyannote runs on one piece and in one thread, run on several at once."""
    from pyannote.audio.pipelines.speaker_verification import ONNXWeSpeakerPretrainedSpeakerEmbedding

    if not isinstance(embedding, ONNXWeSpeakerPretrainedSpeakerEmbedding) or embedding.device.type != "cpu":
        return np.asarray(embedding(waveforms, masks=masks))
    with ThreadPoolExecutor(torch.get_num_threads()) as threads:
        singles = zip(waveforms.split(1), masks.split(1), strict=True)
        return np.concatenate(list(threads.map(lambda single: embedding(single[0], masks=single[1]), singles)))


def _crop(
    recording: Mapping[str, Any], frames: NDArray[np.int64], grid: "SlidingWindow", length_s: float
) -> tuple[torch.Tensor, torch.Tensor]:
    """Audio around a piece, float32 [1, samples], and which of its frames are of the piece, float32 [frames]."""
    waveform, rate = recording["waveform"], recording["sample_rate"]
    middle = (frames[0] + frames[-1] + 1) / 2 * grid.step
    start = min(max(0.0, middle - length_s / 2), max(0.0, waveform.shape[1] / rate - length_s))
    first, size = round(start * rate), round(length_s * rate)
    audio = waveform[:, first : first + size]
    mask = torch.zeros(round(length_s / grid.step))
    inside = frames - round(start / grid.step)
    mask[torch.from_numpy(inside[(inside >= 0) & (inside < mask.numel())])] = 1.0
    return torch.nn.functional.pad(audio, (0, size - audio.shape[1])), mask
