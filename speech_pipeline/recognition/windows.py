"""Cut a recording into windows a recogniser can take in: speech only, cut in silence, none longer than asked."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from speech_pipeline.audio.voice_activity import FRAME_S

SAMPLING_RATE = 16_000

KEPT_PAUSE_S = 1.0
"""Pauses up to this long stay in a window as they are; of longer ones only the padding of the speech stays."""

CUT_SEARCH_S = 8.0
"""How far before its latest possible place a cut is looked for, in seconds."""


@dataclass(frozen=True, slots=True)
class Piece:
    """A stretch of the recording inside a window.

    Attributes:
        start: seconds from the start of the recording.
        end: seconds from the start of the recording.
        offset: where ``start`` lies in the window, in seconds.
    """

    start: float
    end: float
    offset: float


@dataclass(frozen=True, slots=True)
class Window:
    """Audio for one pass of the recogniser.

    Attributes:
        samples: float32 [n], mono, 16 kHz: the pieces one after the other.
        pieces: where the samples come from, in order.
        channel: index of the channel in the recording, or None for the mix.
    """

    samples: NDArray[np.float32]
    pieces: tuple[Piece, ...]
    channel: int | None = None

    @property
    def duration(self) -> float:
        """Length in seconds."""
        return len(self.samples) / SAMPLING_RATE

    @property
    def start(self) -> float:
        """Start of the first piece in the recording, in seconds."""
        return self.pieces[0].start

    @property
    def end(self) -> float:
        """End of the last piece in the recording, in seconds."""
        return self.pieces[-1].end

    def to_recording(self, time: float, *, is_end: bool = False) -> float:
        """Seconds in the window to seconds in the recording.

        A time on the border of two pieces belongs to the later one as a start and to the earlier one as an end.
        """
        for piece in self.pieces:
            border = piece.offset + piece.end - piece.start
            if time < border or (is_end and time <= border):
                return max(piece.start, piece.start + time - piece.offset)
        return self.end


def cut_windows(
    samples: NDArray[np.float32],
    regions: Sequence[tuple[float, float]],
    *,
    max_duration_s: float,
    probabilities: NDArray[np.float32] | None = None,
    channel: int | None = None,
) -> list[Window]:
    """Pack speech into windows of at most ``max_duration_s``.

    Neighbouring regions share a window while they fit; a window that is full ends at the longest pause near its end. A
    region longer than a window is cut where speech is least likely, which is between two words.

    Args:
        samples: float32 [n], mono, 16 kHz: the whole recording.
        regions: (start, end) in seconds, in order, without overlap.
        max_duration_s: longest window, in seconds.
        probabilities: float32 [frames] of 32 ms, the probability of speech; without them cuts follow the energy.
        channel: carried into the windows.

    Returns:
        The windows in order; none for no regions.
    """
    if probabilities is None:
        probabilities = _energy(samples)
    fitting = [part for region in regions for part in _split(region, probabilities, max_duration_s)]
    stretches = _join(fitting)
    groups: list[list[tuple[float, float]]] = []
    pending: list[tuple[float, float]] = []
    for stretch in stretches:
        pending.append(stretch)
        while _duration(pending) > max_duration_s:
            head, pending = _cut(pending, probabilities, max_duration_s)
            groups.append(head)
    if pending:
        groups.append(pending)
    return [_window(samples, group, channel) for group in groups]


def _join(regions: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    """Join regions whose pause is short enough to keep."""
    joined: list[tuple[float, float]] = []
    for start, end in regions:
        if joined and start - joined[-1][1] <= KEPT_PAUSE_S:
            joined[-1] = (joined[-1][0], end)
        else:
            joined.append((start, end))
    return joined


def _split(
    region: tuple[float, float], probabilities: NDArray[np.float32], max_duration_s: float
) -> list[tuple[float, float]]:
    """Cut a region until every part fits into a window."""
    parts = []
    start, end = region
    while end - start > max_duration_s:
        middle = _quietest(start, start + max_duration_s, probabilities)
        parts.append((start, middle))
        start = middle
    return [*parts, (start, end)]


def _cut(
    stretches: list[tuple[float, float]], probabilities: NDArray[np.float32], max_duration_s: float
) -> tuple[list[tuple[float, float]], list[tuple[float, float]]]:
    """Split stretches that are together too long into a window and the rest, at the best pause near its end."""
    index, total = 0, 0.0
    while total + _duration(stretches[index : index + 1]) <= max_duration_s:
        total += _duration(stretches[index : index + 1])
        index += 1
    if index > 0 and total >= max_duration_s - CUT_SEARCH_S:
        return stretches[:index], stretches[index:]
    start, end = stretches[index]
    middle = _quietest(start, start + max_duration_s - total, probabilities)
    return [*stretches[:index], (start, middle)], [(middle, end), *stretches[index + 1 :]]


def _quietest(start: float, latest: float, probabilities: NDArray[np.float32]) -> float:
    """The middle of the longest run of the least speech-like frames before ``latest``, in seconds."""
    first = int(np.ceil(max(start + (latest - start) / 2, latest - CUT_SEARCH_S) / FRAME_S))
    last = int(latest / FRAME_S)
    smooth = np.convolve(probabilities[first:last], np.ones(3, np.float32) / 3, mode="same")
    if len(smooth) == 0:
        return latest
    quiet = smooth <= smooth.min() + 0.05
    edges = np.flatnonzero(np.diff(np.concatenate(([0], quiet.astype(np.int8), [0]))))
    begins, ends = edges[::2], edges[1::2]
    longest = int(np.argmax(ends - begins))
    return float(first + (begins[longest] + ends[longest]) / 2) * FRAME_S


def _energy(samples: NDArray[np.float32]) -> NDArray[np.float32]:
    """Root mean square of each frame relative to the loudest, a stand-in for the probability of speech."""
    size = round(FRAME_S * SAMPLING_RATE)
    padded = np.pad(samples, (0, -len(samples) % size)).reshape(-1, size)
    energy = np.sqrt(np.mean(np.square(padded), axis=1))
    return energy / max(float(energy.max(initial=0.0)), 1e-9)


def _duration(stretches: Sequence[tuple[float, float]]) -> float:
    return sum(end - start for start, end in stretches)


def _window(samples: NDArray[np.float32], stretches: Sequence[tuple[float, float]], channel: int | None) -> Window:
    pieces, parts, offset = [], [], 0
    for start, end in stretches:
        part = samples[round(start * SAMPLING_RATE) : round(end * SAMPLING_RATE)]
        pieces.append(Piece(start, end, offset / SAMPLING_RATE))
        parts.append(part)
        offset += len(part)
    return Window(parts[0] if len(parts) == 1 else np.concatenate(parts), tuple(pieces), channel)
