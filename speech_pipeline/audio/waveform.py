"""Blocks of frames at any rate, gathered into one waveform at 16 kHz."""

from collections.abc import Sequence

import numpy as np
import soxr
from numpy.typing import NDArray

from speech_pipeline.errors import AudioTooLong, InvalidAudio

SAMPLING_RATE = 16_000
"""Sampling rate of everything behind the decoder, in Hz."""

MAX_SEPARATE_CHANNELS = 8
"""Most channels that are kept apart."""

_MIN_FILE_RATE = 1_000
_MAX_FILE_RATE = 768_000
_LARGEST_VALUE = 2.0**31
_OTHER_SCALE_SHARE = 0.1
_CODEC_OVERSHOOT = 1.25


class NoSamples(InvalidAudio):
    """Nothing came out of the audio at all."""


class WaveformBuilder:
    """Mixes, resamples and gathers blocks as they are decoded, and stops at the longest duration allowed.

    Channels are mixed to their mean. Resampling is soxr's HQ recipe, streamed, so that memory holds the finished
    waveform and one block. Samples that are not numbers become silence. Values beyond full scale are clipped; where
    they are more than a tenth of all, the recording is on another scale and is divided by its peak instead.
    """

    def __init__(self, *, separate_channels: bool, max_duration_s: float) -> None:
        self._separate_channels = separate_channels
        self._max_duration_s = max_duration_s
        self._seconds = 0.0
        self._samples_in = 0
        self._not_numbers = 0
        self._peak_in = 0.0
        self._buffers: list[bytearray] = []  # One a channel: a bytearray grows in place, so memory does not double.
        self._rate = SAMPLING_RATE
        self._resampler: soxr.ResampleStream | None = None

    def add(self, frames: NDArray[np.float32], sampling_rate: int) -> None:
        """Append frames.

        Args:
            frames: float32 [n, channels].
            sampling_rate: Hz; may change from block to block.

        Raises:
            AudioTooLong: the recording is now longer than allowed.
            InvalidAudio: a rate out of range, too many channels to keep apart, or a number of channels that changes
                while they are kept apart.
        """
        if not frames.size:
            return
        if not _MIN_FILE_RATE <= sampling_rate <= _MAX_FILE_RATE:
            raise InvalidAudio(
                f"The sampling rate of the audio must be from {_MIN_FILE_RATE} to {_MAX_FILE_RATE} Hz, "
                f"not {sampling_rate} Hz."
            )
        self._seconds += len(frames) / sampling_rate
        if self._seconds > self._max_duration_s:
            raise AudioTooLong(f"The recording is longer than the {self._max_duration_s:g} seconds that are allowed.")
        frames = self._clean(frames)
        if not self._separate_channels:
            frames = frames.mean(axis=1, keepdims=True) if frames.shape[1] > 1 else frames
        self._prepare_channels(frames.shape[1])
        if sampling_rate != self._rate:
            self._flush()
            self._rate = sampling_rate
        if sampling_rate != SAMPLING_RATE:
            if self._resampler is None:
                self._resampler = soxr.ResampleStream(
                    sampling_rate, SAMPLING_RATE, frames.shape[1], dtype="float32", quality="HQ"
                )
            frames = self._resampler.resample_chunk(np.ascontiguousarray(frames))
        self._append(frames)

    def finish(self) -> tuple[NDArray[np.float32], tuple[NDArray[np.float32], ...], tuple[str, ...]]:
        """The waveform: samples [n], one array [n] a channel (none unless kept apart), and warnings.

        Raises:
            NoSamples: there are no samples.
            InvalidAudio: no sample is a number.
        """
        self._flush()
        if not any(self._buffers):
            raise NoSamples("The audio holds no audio samples.")
        if self._not_numbers == self._samples_in:
            raise InvalidAudio("The audio holds no sample that is a finite number.")
        warnings = []
        if self._not_numbers:
            warnings.append(f"{self._not_numbers} samples were not finite numbers and were set to silence.")
        channels = tuple(np.frombuffer(buffer, dtype=np.float32) for buffer in self._buffers)
        warnings += _fit_full_scale(channels, self._peak_in)
        if len(channels) == 1:
            return channels[0], (), tuple(warnings)
        mix = channels[0].copy()
        for channel in channels[1:]:
            mix += channel
        mix /= len(channels)
        return mix, channels, tuple(warnings)

    def _clean(self, frames: NDArray[np.float32]) -> NDArray[np.float32]:
        self._samples_in += frames.size
        peak = float(max(frames.max(), -frames.min()))
        if not peak <= _LARGEST_VALUE:
            finite = np.isfinite(frames)
            self._not_numbers += frames.size - int(np.count_nonzero(finite))
            frames = np.clip(np.where(finite, frames, np.float32(0)), -_LARGEST_VALUE, _LARGEST_VALUE)
            peak = float(np.abs(frames).max())
        self._peak_in = max(self._peak_in, peak)
        return frames

    def _prepare_channels(self, channels: int) -> None:
        if channels > MAX_SEPARATE_CHANNELS:
            raise InvalidAudio(
                f'The audio has {channels} channels; channels="separate" takes at most {MAX_SEPARATE_CHANNELS}.'
            )
        if not self._buffers:
            self._buffers = [bytearray() for _ in range(channels)]
        if len(self._buffers) != channels:
            raise InvalidAudio('The number of channels changes within the audio; set channels to "mix".')

    def _append(self, frames: NDArray[np.float32]) -> None:
        for channel, buffer in enumerate(self._buffers):
            buffer += frames[:, channel].tobytes()

    def _flush(self) -> None:
        """Take out what the resampler still holds back, and forget it."""
        if self._resampler is not None:
            nothing = np.zeros((0, len(self._buffers)), dtype=np.float32)
            self._append(self._resampler.resample_chunk(nothing, last=True))
            self._resampler = None


def _fit_full_scale(channels: Sequence[NDArray[np.float32]], peak_in: float) -> list[str]:
    """Bring the values into [-1, 1] in place. ``peak_in`` is the peak before resampling, which rings a little."""
    peak = max(float(max(channel.max(), -channel.min())) for channel in channels)
    if peak <= 1:
        return []
    beyond = sum(int(np.count_nonzero(channel > 1)) + int(np.count_nonzero(channel < -1)) for channel in channels)
    other_scale = beyond > _OTHER_SCALE_SHARE * sum(map(len, channels))
    for channel in channels:
        if other_scale:
            channel /= peak
        else:
            np.clip(channel, -1, 1, out=channel)
    if other_scale:
        return ["The samples go far beyond full scale (-1 to 1); the recording was scaled down to it."]
    return ["Samples beyond full scale (-1 to 1) were clipped."] if peak_in > _CODEC_OVERSHOOT else []
