"""faster-whisper as a system that is measured: greedy, one temperature, its own voice activity filter."""

import time
from typing import TYPE_CHECKING, Any

from speech_pipeline.audio.waveform import SAMPLING_RATE
from speech_pipeline.evaluation.bench.systems import Options, Output, Samples, System
from speech_pipeline.evaluation.peak_memory import forget_peak_memory

if TYPE_CHECKING:
    from faster_whisper import WhisperModel

BATCH_SIZES = (8, 16)
"""Batch sizes its users choose; the faster of them on the recording is used."""

TRIAL_S = 480.0
"""Seconds of the recording the batch sizes are tried on: as many windows as the larger batch holds."""


def batched_int8(options: Options) -> System:
    """Voice activity windows in batches, int8 weights."""
    return _Batched(options, "int8", words=False)


def batched_fp32(options: Options) -> System:
    """The same in single precision."""
    return _Batched(options, "float32", words=False)


def batched_int8_words(options: Options) -> System:
    """The first, with word times."""
    return _Batched(options, "int8", words=True)


def sequential_int8(options: Options) -> System:
    """One window after another, each starting where the one before ended."""
    return _Sequential(options, "int8")


def sequential_fp32(options: Options) -> System:
    """The same in single precision."""
    return _Sequential(options, "float32")


class _Batched:
    def __init__(self, options: Options, compute_type: str, *, words: bool) -> None:
        from faster_whisper import BatchedInferencePipeline

        self._pipeline = BatchedInferencePipeline(_load(options, compute_type))
        self._arguments = _greedy(options) | {"word_timestamps": words}
        self._batch_size = BATCH_SIZES[0]

    def prepare(self, samples: Samples) -> None:
        self.run(samples[: 30 * SAMPLING_RATE])
        trial = samples[: int(TRIAL_S * SAMPLING_RATE)]
        seconds = {}
        for size in BATCH_SIZES:
            self._batch_size = size
            started = time.perf_counter()
            self.run(trial)
            seconds[size] = time.perf_counter() - started
        self._batch_size = min(seconds, key=lambda size: seconds[size])
        forget_peak_memory()  # the batch size that is not used needed memory too

    def run(self, samples: Samples) -> Output:
        segments, _ = self._pipeline.transcribe(samples, batch_size=self._batch_size, **self._arguments)
        return Output(" ".join(segment.text for segment in segments))


class _Sequential:
    def __init__(self, options: Options, compute_type: str) -> None:
        self._model = _load(options, compute_type)
        self._arguments = _greedy(options) | {"vad_filter": True}

    def prepare(self, samples: Samples) -> None:
        self.run(samples[: 30 * SAMPLING_RATE])

    def run(self, samples: Samples) -> Output:
        segments, _ = self._model.transcribe(samples, **self._arguments)
        return Output(" ".join(segment.text for segment in segments))


def _load(options: Options, compute_type: str) -> "WhisperModel":
    from faster_whisper import WhisperModel

    return WhisperModel(options.ctranslate2, device="cpu", compute_type=compute_type, cpu_threads=options.threads)


def _greedy(options: Options) -> dict[str, Any]:
    return {"language": options.language, "beam_size": 1, "temperature": 0.0}
