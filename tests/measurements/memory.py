"""Memory of many requests and of a long recording: ``python -m tests.measurements.memory [requests] [hour]``.

``requests`` sends 200 of them, good and bad, and prints the resident memory after the 20th and the 200th. ``hour``
transcribes and diarizes one hour, made of the telephone call in pyannote.audio's wheel, and prints the peak.
"""

import importlib.util
import resource
import sys
import time
from itertools import cycle, islice
from pathlib import Path

import numpy as np
import psutil
import soundfile

from config import InferenceConfig, ModelSettings
from speech_pipeline.errors import SpeechError
from speech_pipeline.loading import load_pipeline
from speech_pipeline.pipeline import SpeechPipeline
from speech_pipeline.progress import Progress
from tests.bad_inputs import cases

REQUESTS = 200
SETTLED = 20


def many_requests(pipeline: SpeechPipeline, call: Path) -> None:
    """Every second request is the call, cut to a length between 1 s and 30 s; the others are bad input."""
    samples, rate = soundfile.read(call, dtype="float32")
    bad = cycle(case for case in cases() if "hours" not in case.name and "bomb" not in case.name)
    process = psutil.Process()
    for number, case in enumerate(islice(bad, REQUESTS), start=1):
        body = (
            case.body
            if number % 2
            else {"inputs": {"array": samples[: (1 + 7 * number % 30) * rate], "sampling_rate": rate}}
        )
        try:
            config, _ = InferenceConfig.from_request(body.get("parameters"))
            pipeline.transcribe(body.get("inputs"), config)
        except SpeechError:
            pass
        if number % SETTLED == 0:
            print(f"request {number}: {process.memory_info().rss / 1e6:.0f} MB", flush=True)


def one_hour(pipeline: SpeechPipeline, call: Path) -> None:
    """Transcribe and diarize the call 120 times over."""
    samples, rate = soundfile.read(call, dtype="float32")
    hour = np.tile(samples, 3_600 * rate // len(samples))
    start = time.perf_counter()
    config, _ = InferenceConfig.from_request({"language": "en"})
    transcript = pipeline.transcribe({"array": hour, "sampling_rate": rate}, config, _printed())
    seconds = time.perf_counter() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    print(f"{transcript.duration:.0f} s of audio in {seconds:.0f} s (RTFx {transcript.duration / seconds:.1f})")
    print(f"stages: { {stage: round(value, 1) for stage, value in transcript.timings.items()} }")
    print(f"{len(transcript.words)} words, {len({turn.speaker for turn in transcript.turns})} speakers")
    print(f"peak resident memory {peak:.2f} GB")


def _printed() -> Progress:
    shown: set[tuple[str, int]] = set()

    def progress(stage: str, fraction: float) -> None:
        step = (stage, int(fraction * 10))
        if step not in shown:
            shown.add(step)
            print(f"{stage} {fraction:.0%}", file=sys.stderr, flush=True)

    return progress


def main(wanted: list[str]) -> None:
    """Load the starter models once and run what is named, or both."""
    spec = importlib.util.find_spec("pyannote.audio")
    assert spec is not None
    assert spec.origin is not None
    call = Path(spec.origin).parent / "sample" / "sample.wav"
    pipeline = load_pipeline(ModelSettings(asr_model="starter", diarization_model="starter"))
    for name, run in (("requests", many_requests), ("hour", one_hour)):
        if name in (wanted or ["requests", "hour"]):
            run(pipeline, call)


if __name__ == "__main__":
    main(sys.argv[1:])
