"""The stretches of speech between the pauses of a window."""

from itertools import pairwise

from speech_pipeline.audio.waveform import SAMPLING_RATE
from speech_pipeline.recognition.windows import Window

MIN_STRETCH_S = 1.0
"""A shorter stretch belongs to its neighbour across the shorter pause, in seconds."""


def stretches(window: Window) -> list[tuple[int, int]]:
    """The window, cut in the middle of its pauses.

    Returns:
        First sample of each stretch, and the sample after its last, in order; at least one.
    """
    cuts = [(round((start + end) / 2 * SAMPLING_RATE), end - start) for start, end in window.pauses]
    # Between two pieces lies a silence that was left out, or speech that was.
    cuts += [(round(piece.offset * SAMPLING_RATE), float("inf")) for piece in window.pieces[1:]]
    cuts.sort()
    while True:
        edges = [0, *(place for place, _ in cuts), len(window.samples)]
        spans = list(pairwise(edges))
        shortest = min(range(len(spans)), key=lambda index: spans[index][1] - spans[index][0])
        first, last = spans[shortest]
        if not cuts or last - first >= MIN_STRETCH_S * SAMPLING_RATE:
            return spans
        beside = [index for index in (shortest - 1, shortest) if 0 <= index < len(cuts)]
        del cuts[min(beside, key=lambda index: cuts[index][1])]
