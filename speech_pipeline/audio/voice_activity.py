"""Where somebody speaks: Silero VAD over a whole recording."""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import torch
from numpy.typing import NDArray

from speech_pipeline.audio.silero_network import CONTEXT_SAMPLES, FRAME_SAMPLES, SileroNetwork, State

FRAME_S = FRAME_SAMPLES / 16_000
"""Length of one frame in seconds: 32 ms."""

TARGET_LEVEL = 0.03
"""Root mean square that the loudest frames of a quiet recording are raised to; Silero VAD misses speech far below."""

MAX_GAIN = 100.0
"""The most a recording is raised by (40 dB); what is quieter still is the noise of the converter."""

_LOUDEST_PERCENT = 1
_BLOCK_FRAMES = 2_000


@dataclass(frozen=True, slots=True)
class VoiceActivity:
    """Speech in one recording.

    Attributes:
        probabilities: float32 [frames], the probability of speech in each frame of 32 ms.
        regions: (start, end) in seconds of stretches with speech, padded, in order, without overlap.
    """

    probabilities: NDArray[np.float32]
    regions: tuple[tuple[float, float], ...]


class VoiceActivityDetector:
    """Silero VAD and what is made of its probabilities.

    The thresholds follow silero-vad's own defaults; padding and pauses are chosen for recognition, where a lost word
    costs more than a little silence.
    """

    def __init__(
        self,
        *,
        threshold: float = 0.5,
        end_threshold: float = 0.35,
        min_speech_s: float = 0.1,
        min_pause_s: float = 0.3,
        padding_s: float = 0.25,
    ) -> None:
        """Load the model.

        Args:
            threshold: a frame above it starts speech.
            end_threshold: a frame below it may end speech.
            min_speech_s: shorter speech is dropped, in seconds.
            min_pause_s: shorter pauses do not end speech, in seconds.
            padding_s: silence kept at both ends of speech, in seconds.

        Raises:
            ModelUnavailable: see :class:`.silero_network.SileroNetwork`.
        """
        self._threshold = threshold
        self._end_threshold = end_threshold
        self._min_speech_s = min_speech_s
        self._min_pause_s = min_pause_s
        self._padding_s = padding_s
        self._network = SileroNetwork()

    def detect(self, samples: NDArray[np.float32]) -> VoiceActivity:
        """Find speech in ``samples``: float32 [n], mono, 16 kHz, at any level and with any constant offset."""
        probabilities = self._probabilities(samples)
        return VoiceActivity(probabilities, tuple(self._regions(probabilities, len(samples) / 16_000)))

    def _probabilities(self, samples: NDArray[np.float32]) -> NDArray[np.float32]:
        """Run the model over all frames; each sees the last 64 samples of the frame before it."""
        frames = -(-len(samples) // FRAME_SAMPLES)
        offset, gain = _offset_and_gain(samples)
        state: State | None = None
        blocks = []
        for first in range(0, frames, _BLOCK_FRAMES):
            last = min(first + _BLOCK_FRAMES, frames)
            begin = first * FRAME_SAMPLES - CONTEXT_SAMPLES
            block = np.zeros((last - first) * FRAME_SAMPLES + CONTEXT_SAMPLES, np.float32)
            heard = samples[max(begin, 0) : last * FRAME_SAMPLES]
            lead = max(-begin, 0)
            block[lead : lead + len(heard)] = (heard - offset) * gain
            inputs = np.lib.stride_tricks.sliding_window_view(block, FRAME_SAMPLES + CONTEXT_SAMPLES)[::FRAME_SAMPLES]
            output, state = self._network.speech(torch.from_numpy(np.ascontiguousarray(inputs)), state)
            blocks.append(output.numpy())
        return np.concatenate(blocks) if blocks else np.zeros(0, np.float32)

    def _regions(self, probabilities: NDArray[np.float32], duration: float) -> list[tuple[float, float]]:
        """Hysteresis between the two thresholds, then pauses, minimum length and padding."""
        speech: list[list[float]] = []
        start: float | None = None
        for frame, probability in enumerate(probabilities):
            if start is None and probability >= self._threshold:
                start = frame * FRAME_S
            elif start is not None and probability < self._end_threshold:
                speech.append([start, frame * FRAME_S])
                start = None
        if start is not None:
            speech.append([start, duration])
        joined: list[list[float]] = []
        for region in speech:
            if joined and region[0] - joined[-1][1] < self._min_pause_s:
                joined[-1][1] = region[1]
            else:
                joined.append(region)
        kept = [region for region in joined if region[1] - region[0] >= self._min_speech_s]
        padded = [[max(0.0, a - self._padding_s), min(duration, b + self._padding_s)] for a, b in kept]
        for left, right in pairwise(padded):
            if left[1] > right[0]:
                left[1] = right[0] = (left[1] + right[0]) / 2
        return [(start, end) for start, end in padded]


def _offset_and_gain(samples: NDArray[np.float32]) -> tuple[np.float32, np.float32]:
    """What to subtract from the samples, and then to multiply them by, for the model to hear them well."""
    frames = samples[: len(samples) // FRAME_SAMPLES * FRAME_SAMPLES].reshape(-1, FRAME_SAMPLES)
    if len(frames) == 0:
        return np.float32(0), np.float32(1)
    blocks = (frames[first : first + _BLOCK_FRAMES] for first in range(0, len(frames), _BLOCK_FRAMES))
    # The deviation is taken within each frame, so that a constant offset is not taken for sound.
    level = float(np.percentile(np.concatenate([block.std(axis=1) for block in blocks]), 100 - _LOUDEST_PERCENT))
    gain = min(max(TARGET_LEVEL / level, 1.0), MAX_GAIN) if level > 0 else 1.0
    return np.float32(samples.mean(dtype=np.float64)), np.float32(gain)
