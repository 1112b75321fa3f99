"""Audio files in memory, decoded block by block."""

import io
from collections.abc import Callable, Iterator
from typing import Any

import av
import numpy as np
import soundfile
from numpy.typing import NDArray

from speech_pipeline.audio.arrays import to_float
from speech_pipeline.audio.signatures import FFMPEG_DEMUXERS, mp3_states_length
from speech_pipeline.errors import InvalidAudio

Block = tuple[NDArray[np.float32], int]
"""Frames, float32 [n, channels], and their sampling rate in Hz."""

DAMAGED = "Parts of the audio are damaged and were left out; times after them may be too early."
"""Warning for files of which a part is lost."""

_BLOCK_SAMPLES = 262_144
# PyAV walks past the end of FFmpeg's array of planes when it has no free place, and the process dies.
_UNSAFE_PLANES = 8
_STATED_DURATION_IS_EXACT = ("mov", "matroska", "flac")


class UnknownContainerError(Exception):
    """The reader does not recognise the bytes."""


class DamagedFileError(Exception):
    """The reader recognises the bytes and cannot read on; what came before is to be thrown away."""


def read_with_soundfile(data: bytes) -> Iterator[Block]:
    """Decode with libsndfile: quickest for the uncompressed formats and FLAC.

    Raises:
        UnknownContainerError: libsndfile does not read this format.
        DamagedFileError: libsndfile stopped at damage.
    """
    try:
        file = soundfile.SoundFile(_SeekableBytes(data))
    except soundfile.SoundFileError:
        raise UnknownContainerError from None
    with file:
        block_frames = max(1, _BLOCK_SAMPLES // file.channels)
        try:
            while len(frames := file.read(block_frames, dtype="float32", always_2d=True)):
                yield frames, file.samplerate
        except soundfile.SoundFileError:
            raise DamagedFileError from None


def read_with_ffmpeg(data: bytes, warn: Callable[[str], None]) -> Iterator[Block]:
    """Decode the best audio track with FFmpeg's libraries. Damaged stretches are left out, with a warning.

    Only the demuxers of :data:`FFMPEG_DEMUXERS` are used, so that nothing but ``data`` is ever opened.

    Raises:
        UnknownContainerError: FFmpeg does not recognise the bytes as one of these containers.
        InvalidAudio: a container without an audio track, or with one in an unknown codec.
    """
    # torchvision switches FFmpeg's messages on when it is imported; what they say is in the warnings and errors here.
    av.logging.set_level(None)
    try:
        container = av.open(io.BytesIO(data), metadata_errors="replace", options={"format_whitelist": FFMPEG_DEMUXERS})
    except av.FFmpegError:
        raise UnknownContainerError from None
    with container:
        stream = container.streams.best("audio")
        if stream is None:
            raise InvalidAudio("The file holds no audio track.")
        if stream.codec_context is None:
            raise InvalidAudio("The audio track is in a codec that is not known here.")
        reader = _TrackReader(container, stream)
        decoded_s = 0.0
        for frames, sampling_rate in reader.blocks():
            decoded_s += len(frames) / sampling_rate
            yield frames, sampling_rate
        stated_s = _stated_duration(data, container, stream)
        if reader.damaged:
            warn(DAMAGED)
        elif decoded_s + max(1.0, 0.02 * stated_s) < stated_s:
            warn("The audio ends before its stated length; the file seems to be cut off.")


class _SeekableBytes(io.BytesIO):
    """Stays where it is on a seek before the start, which libsndfile asks for in damaged files."""

    def seek(self, offset: int, whence: int = 0, /) -> int:
        try:
            return super().seek(offset, whence)
        except ValueError:
            return self.tell()


class _TrackReader:
    """Decodes one track and remembers whether anything in it was damaged."""

    def __init__(self, container: Any, stream: Any) -> None:
        self.damaged = False
        self._container = container
        self._stream = stream

    def blocks(self) -> Iterator[Block]:
        """Yield frames gathered into blocks; a block ends early where the rate or the channels change."""
        pending: list[NDArray[np.float32]] = []
        size, pending_shape = 0, (0, 0)
        for frames, sampling_rate in self._frames():
            shape = (sampling_rate, frames.shape[1])
            if pending and (shape != pending_shape or size >= _BLOCK_SAMPLES):
                yield np.concatenate(pending), pending_shape[0]
                pending, size = [], 0
            pending.append(frames)
            pending_shape = shape
            size += frames.size
        if pending:
            yield np.concatenate(pending), pending_shape[0]

    def _frames(self) -> Iterator[Block]:
        packets = self._container.demux(self._stream)
        while True:
            try:
                packet = next(packets)
            except StopIteration:
                return
            except IndexError:  # A track that begins late: PyAV knows only those seen on opening.
                packets = self._container.demux(self._stream)
                continue
            except av.FFmpegError:
                self.damaged = True
                return
            try:
                decoded = [
                    (_to_frames(frame), frame.sample_rate)
                    for frame in packet.decode()
                    if frame.samples and frame.sample_rate
                ]
            except (av.FFmpegError, ValueError):
                self.damaged = True
                continue
            yield from decoded


def _to_frames(frame: Any) -> NDArray[np.float32]:
    """float32 [n, channels] of a planar or packed frame of any sample type."""
    channels = frame.layout.nb_channels
    if frame.format.is_planar and channels >= _UNSAFE_PLANES:
        resampler = av.AudioResampler(format="flt")
        packed = [*resampler.resample(frame), *resampler.resample(None)]
        return np.concatenate([part.to_ndarray().reshape(-1, channels) for part in packed])
    samples = to_float(frame.to_ndarray())
    return samples.T if frame.format.is_planar else samples.reshape(-1, channels)


def _stated_duration(data: bytes, container: Any, stream: Any) -> float:
    """Seconds the file claims to last; 0 where it does not say, or where FFmpeg only estimates it."""
    if not container.format.name.startswith(_STATED_DURATION_IS_EXACT) and not mp3_states_length(data):
        return 0.0
    if stream.duration and stream.time_base:
        return float(stream.duration * stream.time_base)
    return float(container.duration or 0) / av.time_base
