"""A request's ``inputs`` -> mono float32 samples at 16 kHz."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from speech_pipeline.audio.arrays import to_float
from speech_pipeline.audio.payload import EncodedAudio, SampledAudio, read_payload
from speech_pipeline.audio.raw_pcm import looks_like_pcm, raw_frames
from speech_pipeline.audio.readers import (
    DAMAGED,
    Block,
    DamagedFileError,
    UnknownContainerError,
    read_with_ffmpeg,
    read_with_soundfile,
)
from speech_pipeline.audio.signatures import ACCEPTED, container_kind, foreign_kind, is_cut
from speech_pipeline.audio.waveform import SAMPLING_RATE, NoSamples, WaveformBuilder
from speech_pipeline.errors import InvalidAudio

__all__ = ["SAMPLING_RATE", "Audio", "load_audio"]

# MP3 and CAF are left to FFmpeg: libsndfile prints its complaints about them.
_SOUNDFILE_MAGIC = (b"RIFF", b"RIFX", b"RF64", b"FORM", b"fLaC", b".snd")
_BLOCK_FRAMES = 65_536


@dataclass(frozen=True, slots=True)
class Audio:
    """A recording, decoded.

    Attributes:
        samples: float32 [n] in [-1, 1] at 16 kHz, the mean of the channels.
        channels: one array [n] a channel, when separate channels were asked for and there are 2 or more; else empty.
        warnings: sentences about what was damaged, guessed or changed.
    """

    samples: NDArray[np.float32]
    channels: tuple[NDArray[np.float32], ...] = ()
    warnings: tuple[str, ...] = ()

    @property
    def duration(self) -> float:
        """Length in seconds."""
        return len(self.samples) / SAMPLING_RATE


def load_audio(
    inputs: object, *, sampling_rate: int | None, separate_channels: bool, max_bytes: int, max_duration_s: float
) -> Audio:
    """Decode what a request carries.

    Containers are recognised by their content. Bytes in no container are signed 16-bit little-endian PCM when the
    request states their rate, and also without it when they look like sound. Damaged files give what can be decoded,
    with a warning.

    Args:
        inputs: see :func:`speech_pipeline.audio.payload.read_payload`.
        sampling_rate: rate the request states for audio without a header, in Hz; None when it states none. A file's
            own rate, and one beside the samples, come first.
        separate_channels: keep the channels beside their mix.
        max_bytes: largest number of encoded bytes.
        max_duration_s: longest recording, in seconds; decoding stops there.

    Raises:
        InvalidPayload: ``inputs`` has none of the accepted shapes.
        InvalidAudio: the bytes are no audio, or hold no samples.
        AudioTooLarge: more than ``max_bytes``.
        AudioTooLong: more than ``max_duration_s``.
    """
    payload = read_payload(inputs, max_bytes=max_bytes)
    rate = payload.sampling_rate or sampling_rate
    decoder = _Decoder(separate_channels=separate_channels, max_duration_s=max_duration_s)
    if isinstance(payload, SampledAudio):
        return decoder.decode_samples(payload, rate)
    return decoder.decode_bytes(payload, rate)


class _Decoder:
    """Tries the readers in turn and collects warnings, for one request."""

    def __init__(self, *, separate_channels: bool, max_duration_s: float) -> None:
        self._separate_channels = separate_channels
        self._max_duration_s = max_duration_s
        self._warnings: list[str] = []

    def decode_samples(self, payload: SampledAudio, sampling_rate: int | None) -> Audio:
        if sampling_rate is None:
            sampling_rate = self._assume_rate("The samples came without sampling_rate")
        frames = payload.frames
        blocks = (to_float(frames[start : start + _BLOCK_FRAMES]) for start in range(0, len(frames), _BLOCK_FRAMES))
        return self._gather((block, sampling_rate) for block in blocks)

    def decode_bytes(self, payload: EncodedAudio, sampling_rate: int | None) -> Audio:
        data = payload.data
        foreign = foreign_kind(data)
        if foreign:
            raise InvalidAudio(f"The bytes look like {foreign}, not audio; accepted are {ACCEPTED}.")
        if is_cut(data):
            self._warnings.append("The file ends before its stated length and seems to be cut off.")
        try:
            return self._decode_file(data)
        except UnknownContainerError:
            kind = container_kind(data)
        if kind:
            raise InvalidAudio(f"The bytes begin like {kind} that is damaged or incomplete and cannot be decoded.")
        return self._decode_raw(data, sampling_rate)

    def _decode_file(self, data: bytes) -> Audio:
        if data.startswith(_SOUNDFILE_MAGIC):
            try:
                return self._gather(read_with_soundfile(data))
            except DamagedFileError:
                self._warnings.append(DAMAGED)
            except (UnknownContainerError, NoSamples):
                pass
        # FFmpeg reads past damage, and past a stated size of 0.
        return self._gather(read_with_ffmpeg(data, self._warnings.append))

    def _decode_raw(self, data: bytes, sampling_rate: int | None) -> Audio:
        if sampling_rate is None:
            if not looks_like_pcm(data):
                raise InvalidAudio(
                    f"The bytes are in no known container; accepted are {ACCEPTED}, or 16-bit little-endian PCM with "
                    "sampling_rate in parameters."
                )
            sampling_rate = self._assume_rate("The bytes are in no known container")
        self._warnings.append(f"The bytes were read as 16-bit little-endian mono PCM at {sampling_rate} Hz.")
        if len(data) % 2:
            self._warnings.append("The last byte is half a sample and was left out.")
        return self._gather((frames, sampling_rate) for frames in raw_frames(data))

    def _assume_rate(self, reason: str) -> int:
        self._warnings.append(f"{reason}; {SAMPLING_RATE} Hz was assumed.")
        return SAMPLING_RATE

    def _gather(self, blocks: Iterable[Block]) -> Audio:
        builder = WaveformBuilder(separate_channels=self._separate_channels, max_duration_s=self._max_duration_s)
        for frames, sampling_rate in blocks:
            builder.add(frames, sampling_rate)
        samples, channels, warnings = builder.finish()
        return Audio(samples, channels, tuple(dict.fromkeys([*self._warnings, *warnings])))
