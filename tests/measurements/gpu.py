"""How fast a GPU recognises speech in each number format and batch size, and how far its text is from the CPU's.

With and without CUDA graphs.

``python -m tests.measurements.gpu DATA [MODEL [DEVICE]]``: DATA is a folder with a manifest.json; MODEL is a Whisper
model, ``starter`` unless given; DEVICE is ``cuda`` unless given.
"""

import sys
import time
from itertools import product
from pathlib import Path
from typing import Literal, get_args

import torch
from rapidfuzz.distance import Levenshtein

from config import InferenceConfig, ModelSettings
from speech_pipeline.audio.waveform import SAMPLING_RATE
from speech_pipeline.evaluation.bench.material import Speech, long_speech
from speech_pipeline.evaluation.bench.quality import joined_clips_errors
from speech_pipeline.loading import load_pipeline
from speech_pipeline.pipeline import SpeechPipeline

Dtype = Literal["float32", "float16", "bfloat16"]

LENGTH_S = 600.0
BATCH_SIZES = (1, 8, 24, 64)
ROUNDS = 3


def load(model: str, device: str, dtype: Dtype, *, cuda_graphs: bool = False) -> SpeechPipeline:
    return load_pipeline(ModelSettings(asr_model=model, device=device, dtype=dtype, cuda_graphs=cuda_graphs))


def transcribe(pipeline: SpeechPipeline, speech: Speech, batch_size: int) -> tuple[str, float]:
    """The text, and the seconds it took; the median of some rounds."""
    config, _ = InferenceConfig.from_request({"language": "en", "temperature": [0.0], "batch_size": batch_size})
    seconds = []
    for _ in range(ROUNDS):
        start = time.perf_counter()
        text = pipeline.transcribe({"array": speech.samples, "sampling_rate": SAMPLING_RATE}, config).text
        seconds.append(time.perf_counter() - start)
    return text, sorted(seconds)[ROUNDS // 2]


def main(data: str, model: str = "starter", device: str = "cuda") -> None:
    if device.startswith("cuda") and not torch.cuda.is_available():
        sys.exit("There is no GPU here that torch can use.")
    speech = long_speech(Path(data), LENGTH_S, "en", 0)
    expected = transcribe(load(model, "cpu", "float32"), speech, 8)[0].split()
    print("| format | CUDA graphs | batch size | RTFx | WER | words unlike the CPU in float32 | peak GPU memory, MB |")
    print("| --- | --- | ---: | ---: | ---: | ---: | ---: |")
    for dtype, graphs in product(get_args(Dtype), (False, True)):
        pipeline = load(model, device, dtype, cuda_graphs=graphs)
        for batch_size in BATCH_SIZES:
            if device.startswith("cuda"):
                torch.cuda.reset_peak_memory_stats()
            text, seconds = transcribe(pipeline, speech, batch_size)
            peak = torch.cuda.max_memory_allocated() / 2**20 if device.startswith("cuda") else 0.0
            errors = joined_clips_errors(speech.clips, text, "en").once
            unlike = Levenshtein.distance(expected, text.split())
            print(
                f"| {dtype} | {'yes' if graphs else 'no'} | {batch_size} | {speech.duration_s / seconds:.1f} "
                f"| {errors:.1%} | {unlike} of {len(expected)} | {peak:.0f} |",
                flush=True,
            )


if __name__ == "__main__":
    main(*sys.argv[1:])
