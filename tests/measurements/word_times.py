"""Word times beside faster-whisper's on the same weights: ``python -m tests.measurements.word_times DATA MODEL``.

``DATA`` is a folder with a ``manifest.json`` whose ``words`` have times; ``MODEL`` is a CTranslate2 folder of Whisper
base. faster-whisper is installed by requirements/bench.txt.
"""

import sys
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

from faster_whisper import WhisperModel

from config import InferenceConfig, ModelSettings
from speech_pipeline.evaluation.manifest import Recording, load_manifest
from speech_pipeline.evaluation.normalization import normalizer
from speech_pipeline.evaluation.tokens import Token, tokenize
from speech_pipeline.evaluation.word_errors import align
from speech_pipeline.evaluation.word_times import percentile, start_errors
from speech_pipeline.loading import load_pipeline


def main(data: Path, model: Path) -> None:
    """Print the median, the 90th and the 95th percentile of the error of starts, by system."""
    recordings = [r for r in load_manifest(data) if any(word.start is not None for word in r.words)]
    pipeline = load_pipeline(ModelSettings(asr_model="starter", dtype="float32"))
    peer = WhisperModel(str(model), device="cpu", compute_type="float32")
    errors: dict[str, list[float]] = {"speech_pipeline": [], "faster-whisper": [], "faster-whisper with VAD": []}
    for recording in recordings:
        config, _ = InferenceConfig.from_request({"language": recording.language})
        transcript = pipeline.transcribe(recording.path.read_bytes(), config)
        _check([(word.start, word.end) for word in transcript.words], transcript.duration)
        ours = [Token(word.text, start=word.start) for word in transcript.words]
        errors["speech_pipeline"] += _start_errors(recording, transcript.text, ours)
        for name, vad in (("faster-whisper", False), ("faster-whisper with VAD", True)):
            found, _ = peer.transcribe(
                str(recording.path), language=recording.language, beam_size=1, word_timestamps=True, vad_filter=vad
            )
            segments = list(found)
            theirs = [Token(word.word, start=word.start) for segment in segments for word in segment.words or ()]
            errors[name] += _start_errors(recording, "".join(segment.text for segment in segments), theirs)
    for name, values in errors.items():
        print(
            f"{name}: {len(values)} words, median {percentile(values, 50):.3f} s, "
            f"90th percentile {percentile(values, 90):.3f} s, 95th {percentile(values, 95):.3f} s"
        )


def _check(times: Sequence[tuple[float, float]], duration: float) -> None:
    """Stop where a word is out of order or outside the recording."""
    assert all(left[0] <= right[0] for left, right in pairwise(times)), "out of order"
    assert all(0 <= start <= end <= duration for start, end in times), "outside the recording"


def _start_errors(recording: Recording, text: str, heard: Sequence[Token]) -> tuple[float, ...]:
    """Errors of the words that both have, in seconds."""
    normalize = normalizer(*recording.languages)
    words = [Token(word.word, start=word.start) for word in recording.words]
    reference = tokenize(recording.text or "", normalize, words)
    hypothesis = tokenize(text, normalize, heard)
    pairs = align([token.text for token in reference], [token.text for token in hypothesis])
    return start_errors(reference, hypothesis, pairs)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
