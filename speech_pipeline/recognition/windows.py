"""Cut a recording into windows a recogniser can take in: speech only, cut in silence, none longer than asked."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from speech_pipeline.audio.silero_network import FRAME_SAMPLES
from speech_pipeline.audio.waveform import SAMPLING_RATE

KEPT_PAUSE_S = 1.0
"""Pauses up to this long stay in a window as they are; of longer ones only the padding of the speech stays."""

CUT_SEARCH_S = 8.0
"""How far before its latest possible place a cut is looked for, in seconds."""

PAUSE_S = 0.15
"""Shortest silence inside a window that is noted as a pause, in seconds."""

SILENCE = 0.35
"""Probability of speech below which a frame is silent; Silero VAD lets speech end there."""

_KEPT_PAUSE = round(KEPT_PAUSE_S * SAMPLING_RATE)
_CUT_SEARCH = round(CUT_SEARCH_S * SAMPLING_RATE)


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
        pauses: (start, end) of the silences inside its pieces, in seconds from the start of the window; empty where
            the probability of speech is not known.
    """

    samples: NDArray[np.float32]
    pieces: tuple[Piece, ...]
    channel: int | None = None
    pauses: tuple[tuple[float, float], ...] = ()

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

    def place(self, begin: float, end: float) -> tuple[float, float]:
        """A stretch of the window as a stretch of the recording, both in seconds.

        Two pieces lie far apart in the recording, so that a word is never in both: it lies in the one that holds most
        of it, the earlier one of two.
        """

        def held(piece: Piece) -> float:
            last = piece.offset + piece.end - piece.start
            return min(end, last) - max(begin, piece.offset)

        piece = max(self.pieces, key=held)
        shift = piece.start - piece.offset
        start = min(max(begin + shift, piece.start), piece.end)
        return start, min(max(end + shift, start), piece.end)


def cut_windows(
    samples: NDArray[np.float32],
    regions: Sequence[tuple[float, float]],
    *,
    max_duration_s: float,
    probabilities: NDArray[np.float32] | None = None,
    channel: int | None = None,
) -> list[Window]:
    """Pack speech into windows of at most ``max_duration_s``.

    Neighbouring regions share a window while they fit. A region that does not fit starts the next window, where that
    leaves at most ``CUT_SEARCH_S`` unused; else it is cut where speech is least likely, which is between two words.

    Args:
        samples: float32 [n], mono, 16 kHz: the whole recording.
        regions: (start, end) in seconds, in order, without overlap; what lies outside the recording is left out.
        max_duration_s: longest window, in seconds.
        probabilities: float32 [frames] of 32 ms, the probability of speech; without them cuts follow the energy, and
            no pauses are noted.
        channel: carried into the windows.

    Returns:
        The windows in order, none of them empty; no windows for no regions.
    """
    pauses = _pauses(probabilities) if probabilities is not None else np.zeros((0, 2), np.int64)
    if probabilities is None:
        probabilities = _energy(samples)
    limit = max(int(max_duration_s * SAMPLING_RATE), 1)
    windows: list[Window] = []
    stretches: list[tuple[int, int]] = []
    room = limit
    for start, end in _joined(regions, len(samples)):
        while end - start > room:
            if not stretches or room > _CUT_SEARCH:
                cut = _quietest(start, start + room, probabilities)
                stretches.append((start, cut))
                start = cut
            windows.append(_window(samples, stretches, channel, pauses))
            stretches, room = [], limit
        stretches.append((start, end))
        room -= end - start
    if stretches:
        windows.append(_window(samples, stretches, channel, pauses))
    return windows


def halve(window: Window) -> tuple[Window, Window]:
    """Cut a window in two at the quietest place near its middle; the halves join to the window."""
    length = len(window.samples)
    cut = min(max(_quietest(0, 2 * length // 3, _energy(window.samples)), 1), length - 1)
    return select(window, [(0, cut)]), select(window, [(cut, length)])


def select(window: Window, spans: Sequence[tuple[int, int]]) -> Window:
    """What a window has in some spans (first sample, sample after the last), in order, one after the other."""
    pieces: list[Piece] = []
    pauses: list[tuple[float, float]] = []
    length = 0
    for first, last in _merged(spans):
        for piece in window.pieces:
            offset = round(piece.offset * SAMPLING_RATE)
            begin = max(first, offset)
            end = min(last, offset + round((piece.end - piece.start) * SAMPLING_RATE))
            if begin < end:
                start, finish = (piece.start + (position - offset) / SAMPLING_RATE for position in (begin, end))
                pieces.append(Piece(start, finish, (length + begin - first) / SAMPLING_RATE))
        shift = (length - first) / SAMPLING_RATE
        inside = ((a, b) for a, b in window.pauses if a * SAMPLING_RATE > first and b * SAMPLING_RATE < last)
        pauses += [(a + shift, b + shift) for a, b in inside]
        length += last - first
    parts = [window.samples[first:last] for first, last in spans]
    samples = parts[0] if len(parts) == 1 else np.concatenate(parts)
    return Window(samples, tuple(pieces), window.channel, tuple(pauses))


def _joined(regions: Sequence[tuple[float, float]], length: int) -> list[tuple[int, int]]:
    """Regions as positions of samples, those with a short pause between them joined.

    Everything from here on counts in samples, so that none is lost or doubled by rounding.
    """
    joined: list[tuple[int, int]] = []
    for region in regions:
        start, end = (min(max(round(time * SAMPLING_RATE), 0), length) for time in region)
        if end <= start:
            continue
        if joined and start - joined[-1][1] <= _KEPT_PAUSE:
            joined[-1] = (joined[-1][0], max(joined[-1][1], end))
        else:
            joined.append((start, end))
    return joined


def _merged(spans: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Spans, those that touch joined."""
    merged: list[tuple[int, int]] = []
    for first, last in spans:
        if merged and merged[-1][1] == first:
            merged[-1] = (merged[-1][0], last)
        else:
            merged.append((first, last))
    return merged


def _quietest(start: int, latest: int, probabilities: NDArray[np.float32]) -> int:
    """The middle of the longest run of the least speech-like frames in the time before ``latest``."""
    first = -(-max((start + latest) // 2, latest - _CUT_SEARCH) // FRAME_SAMPLES)
    frames = probabilities[first : latest // FRAME_SAMPLES]
    if len(frames) == 0:
        return latest
    smooth = np.convolve(np.pad(frames, 1, mode="edge"), np.ones(3, np.float32) / 3, mode="valid")
    low, high = float(smooth.min()), float(smooth.max())
    quiet = smooth <= low + 0.05 * (high - low)
    edges = np.flatnonzero(np.diff(np.concatenate(([0], quiet.astype(np.int8), [0]))))
    begins, ends = edges[::2], edges[1::2]
    longest = int(np.argmax(ends - begins))
    return round((first + (begins[longest] + ends[longest]) / 2) * FRAME_SAMPLES)


def _energy(samples: NDArray[np.float32]) -> NDArray[np.float32]:
    """Root mean square of each frame, a stand-in for the probability of speech."""
    padded = np.pad(samples, (0, -len(samples) % FRAME_SAMPLES)).reshape(-1, FRAME_SAMPLES)
    return np.sqrt(np.mean(np.square(padded), axis=1))


def _pauses(probabilities: NDArray[np.float32]) -> NDArray[np.int64]:
    """[pauses, 2]: first sample of each silence of ``PAUSE_S`` and more, and the sample after its last."""
    silent = np.concatenate(([0], (probabilities < SILENCE).astype(np.int8), [0]))
    runs = np.flatnonzero(np.diff(silent)).reshape(-1, 2) * FRAME_SAMPLES
    return runs[runs[:, 1] - runs[:, 0] >= PAUSE_S * SAMPLING_RATE]


def _window(
    samples: NDArray[np.float32],
    stretches: Sequence[tuple[int, int]],
    channel: int | None,
    pauses: NDArray[np.int64],
) -> Window:
    pieces, parts, inside, offset = [], [], [], 0
    for start, end in stretches:
        pieces.append(Piece(start / SAMPLING_RATE, end / SAMPLING_RATE, offset / SAMPLING_RATE))
        parts.append(samples[start:end])
        first, last = np.searchsorted(pauses[:, 0], start, "right"), np.searchsorted(pauses[:, 1], end, "left")
        inside += [(float(a), float(b)) for a, b in (pauses[first:last] - start + offset) / SAMPLING_RATE]
        offset += end - start
    joined = parts[0] if len(parts) == 1 else np.concatenate(parts)
    return Window(joined, tuple(pieces), channel, tuple(inside))
