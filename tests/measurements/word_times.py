"""Word times beside faster-whisper's on the same weights: ``python -m tests.measurements.word_times DATA MODEL``.

``DATA`` is a folder with a ``manifest.json`` whose ``words`` have times; ``MODEL`` is a CTranslate2 folder of Whisper
base. faster-whisper is installed by requirements/bench.txt.
"""

import difflib
import json
import sys
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import numpy as np
from faster_whisper import WhisperModel

from config import InferenceConfig, ModelSettings
from speech_pipeline.loading import load_pipeline
from tests.word_score import plain_words

TimedWord = tuple[str, float, float]


def main(data: Path, model: Path) -> None:
    """Print the median and the 90th percentile of the absolute error of starts, by system."""
    entries = [
        entry
        for entry in json.loads((data / "manifest.json").read_text(encoding="utf-8"))
        if "start" in entry.get("words", [{}])[0]
    ]
    pipeline = load_pipeline(ModelSettings(asr_model="starter", dtype="float32"))
    peer = WhisperModel(str(model), device="cpu", compute_type="float32")
    errors: dict[str, list[float]] = {"speech_pipeline": [], "faster-whisper": [], "faster-whisper with VAD": []}
    for entry in entries:
        file = data / entry["file"]
        config, _ = InferenceConfig.from_request({"language": entry["language"]})
        transcript = pipeline.transcribe(file.read_bytes(), config)
        ours = [(word.text, word.start, word.end) for word in transcript.words]
        _check(ours, transcript.duration)
        errors["speech_pipeline"] += _start_errors(entry["words"], ours)
        for name, vad in (("faster-whisper", False), ("faster-whisper with VAD", True)):
            segments, _ = peer.transcribe(
                str(file), language=entry["language"], beam_size=1, word_timestamps=True, vad_filter=vad
            )
            theirs = [(word.word, word.start, word.end) for segment in segments for word in segment.words or ()]
            errors[name] += _start_errors(entry["words"], theirs)
    for name, values in errors.items():
        size = np.abs(values)
        print(
            f"{name}: {len(size)} words, median {np.median(size):.3f} s, 90th percentile "
            f"{np.percentile(size, 90):.3f} s, bias {np.median(values):+.3f} s"
        )


def _check(words: Sequence[TimedWord], duration: float) -> None:
    """Stop where a word is out of order or outside the recording."""
    for left, right in pairwise(words):
        assert left[1] <= right[1], "out of order"
    assert all(0 <= start <= end <= duration for _, start, end in words), "outside the recording"


def _start_errors(reference: Sequence[dict], heard: Sequence[TimedWord]) -> list[float]:
    """Start heard minus start in the reference, for the words that both have, in seconds."""
    wanted = ["".join(plain_words(word["word"])) for word in reference]
    got = ["".join(plain_words(text)) for text, _, _ in heard]
    blocks = difflib.SequenceMatcher(None, wanted, got, autojunk=False).get_matching_blocks()
    return [heard[b.b + i][1] - reference[b.a + i]["start"] for b in blocks for i in range(b.size)]


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
