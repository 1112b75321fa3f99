"""Words of the call given to the right speaker: ``python -m tests.measurements.attribution``.

The words of each reference utterance are spread evenly over it; the turns are the reference's, as they are and moved by
up to 0.3 s at both ends in 20 ways.
"""

import importlib.util
import random
from pathlib import Path

from diarization_utils import assign_speakers
from speech_pipeline.transcript import Diarization
from tests.test_diarization_utils import agreement, correct, jittered, maximum_overlap, reference_call

SEEDS = 20
LIMIT_S = 0.3


def main() -> None:
    """Print the words right, by this project and by maximum overlap."""
    spec = importlib.util.find_spec("pyannote.audio")
    assert spec is not None
    assert spec.origin is not None
    segments, turns, truth = reference_call(Path(spec.origin).parent / "sample" / "sample.wav")
    own = correct(assign_speakers(segments, Diarization(tuple(turns))), truth)
    plain = agreement(maximum_overlap(segments, turns), truth)
    print(f"reference turns: {own} of {len(truth)}, maximum overlap {plain}")
    own_sum = plain_sum = 0
    for seed in range(SEEDS):
        moved = jittered(turns, random.Random(seed), LIMIT_S)
        own_sum += correct(assign_speakers(segments, Diarization(moved)), truth)
        plain_sum += agreement(maximum_overlap(segments, moved), truth)
    print(f"turns moved by up to {LIMIT_S} s, mean of {SEEDS}: {own_sum / SEEDS}, maximum overlap {plain_sum / SEEDS}")


if __name__ == "__main__":
    main()
