"""Words, speakers and diarization on recordings with references: ``python -m tests.measurements.call DATA``.

``DATA`` is a folder with a ``manifest.json``; every conversation in it with a reference is scored.
"""

import json
import sys
from pathlib import Path

from config import InferenceConfig, ModelSettings
from speech_pipeline.loading import load_pipeline
from tests.diarization_score import diarization_error_rate
from tests.word_score import SpokenWord, plain_words, read_stm, score


def main(data: Path) -> None:
    """Print a line for each conversation."""
    pipeline = load_pipeline(ModelSettings(asr_model="starter", diarization_model="starter"))
    for entry in json.loads((data / "manifest.json").read_text(encoding="utf-8")):
        reference = _reference(data, entry)
        if not reference:
            continue
        config, _ = InferenceConfig.from_request({"language": entry["language"]})
        transcript = pipeline.transcribe((data / entry["file"]).read_bytes(), config)
        heard = [(plain, str(word.speaker)) for word in transcript.words for plain in plain_words(word.text)]
        line = f"{entry['file']}: {score(reference, heard)}, {len({t.speaker for t in transcript.turns})} speakers"
        if "rttm" in entry:
            rate = diarization_error_rate(data / entry["rttm"], transcript.turns, transcript.duration)
            line += f", DER {100 * rate:.1f} %"
        print(f"{line}, {transcript.timings['total']:.1f} s for {transcript.duration:.1f} s")


def _reference(data: Path, entry: dict) -> list[SpokenWord]:
    if "stm" in entry:
        return read_stm(data / entry["stm"])
    return [(plain, w["speaker"]) for w in entry.get("words", ()) if "speaker" in w for plain in plain_words(w["word"])]


if __name__ == "__main__":
    main(Path(sys.argv[1]))
