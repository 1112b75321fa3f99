"""Samples -> wav, flac, mp3, opus, aac or bare PCM, at once or piece by piece."""

import io
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Self

import av
import numpy as np
from av.audio.codeccontext import AudioCodecContext
from av.audio.stream import AudioStream
from numpy.typing import NDArray

from speech_pipeline.errors import InvalidParameters
from speech_pipeline.voices.voice import Speech


@dataclass(frozen=True, slots=True)
class AudioFormat:
    """How samples are written.

    Attributes:
        media_type: what HTTP calls it.
        container: FFmpeg's muxer; None for bare samples.
        codec: FFmpeg's encoder.
        bit_rate: bits a second; None where nothing is lost.
        sampling_rates: rates the format knows; empty where any is.
    """

    media_type: str
    container: str | None
    codec: str
    bit_rate: int | None = None
    sampling_rates: tuple[int, ...] = ()

    def sampling_rate(self, wanted: int) -> int:
        """The rate that is written: the one wanted, or the next higher one the format knows."""
        if not self.sampling_rates:
            return wanted
        return min((rate for rate in self.sampling_rates if rate >= wanted), default=max(self.sampling_rates))


_MPEG_RATES = (8_000, 11_025, 12_000, 16_000, 22_050, 24_000, 32_000, 44_100, 48_000)

AUDIO_FORMATS: Mapping[str, AudioFormat] = MappingProxyType(
    {
        "wav": AudioFormat("audio/wav", "wav", "pcm_s16le"),
        "flac": AudioFormat("audio/flac", "flac", "flac"),
        "mp3": AudioFormat("audio/mpeg", "mp3", "libmp3lame", 96_000, _MPEG_RATES),
        "opus": AudioFormat("audio/ogg", "ogg", "libopus", 48_000, (8_000, 12_000, 16_000, 24_000, 48_000)),
        "aac": AudioFormat("audio/aac", "adts", "aac", 96_000, _MPEG_RATES),
        "pcm": AudioFormat("audio/pcm", None, "pcm_s16le"),
    }
)
"""Formats by the names that OpenAI's speech API has for them. All are mono; opus is in Ogg, aac in ADTS, and wav and
pcm are 16-bit little-endian."""


def encode(speech: Speech, audio_format: str) -> bytes:
    """A whole file, with its length in the header where the format has a place for it. Equal samples give equal bytes.

    Raises:
        InvalidParameters: there is no such format.
    """
    sink = io.BytesIO()
    with AudioEncoder(audio_format, speech.sampling_rate, sink) as encoder:
        encoder.write(speech.samples)
    return sink.getvalue()


class StreamSink(io.RawIOBase):
    """Takes what an encoder writes and hands it on; it cannot go back, so that what was handed on stays right."""

    def __init__(self) -> None:
        super().__init__()
        self._pending = bytearray()

    def writable(self) -> bool:
        """True."""
        return True

    def write(self, data: object) -> int:
        """Add bytes."""
        view = memoryview(data)  # type: ignore[arg-type]
        self._pending += view
        return view.nbytes

    def take(self) -> bytes:
        """What was written since the last call."""
        taken = bytes(self._pending)
        self._pending.clear()
        return taken


class AudioEncoder:
    """Writes samples to a sink as they come; leaving the context finishes the file.

    With a :class:`StreamSink`, ``take()`` after each ``write`` gives what can be sent; the header of a wav then states
    no length, as is usual for streams.
    """

    def __init__(self, audio_format: str, sampling_rate: int, sink: io.IOBase) -> None:
        """Begin a file.

        Args:
            audio_format: a key of :data:`AUDIO_FORMATS`.
            sampling_rate: samples a second of what is written; changed where the format does not know it.
            sink: where the bytes go. If it can seek, the header is completed at the end.

        Raises:
            InvalidParameters: there is no such format.
        """
        if audio_format not in AUDIO_FORMATS:
            raise InvalidParameters(f"The audio format must be one of {', '.join(AUDIO_FORMATS)}.")
        chosen = AUDIO_FORMATS[audio_format]
        self.sampling_rate = chosen.sampling_rate(sampling_rate)
        self._input_rate = sampling_rate
        self._sink = sink
        self._written = 0
        self._container = None
        if chosen.container is not None:
            # Without bitexact, Ogg streams get a random number and files the version of the encoder.
            options = {"fflags": "+bitexact"}
            self._container = av.open(sink, "w", format=chosen.container, options=options)
            stream = self._container.add_stream(chosen.codec, rate=self.sampling_rate, layout="mono")
            assert isinstance(stream, AudioStream)
            self._stream = stream
            context: AudioCodecContext = stream.codec_context
            context.flags |= av.codec.context.Flags.bitexact
            if chosen.bit_rate is not None:
                self._stream.bit_rate = chosen.bit_rate
            self._container.start_encoding()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is None:
            self.finish()
        elif self._container is not None:
            self._container.close()

    def write(self, samples: NDArray[np.float32]) -> None:
        """Add samples, float32 [n] in [-1, 1]; what lies outside is clipped."""
        integers = np.rint(np.clip(samples, -1.0, 1.0) * 32_767).astype("<i2")
        if self._container is None:
            self._sink.write(integers.tobytes())
        elif len(integers):
            frame = av.AudioFrame.from_ndarray(integers[np.newaxis], format="s16", layout="mono")
            frame.sample_rate = self._input_rate
            frame.pts = self._written
            self._written += len(integers)
            self._container.mux(self._stream.encode(frame))

    def finish(self) -> None:
        """Write what the encoder holds back, and the end of the file."""
        if self._container is not None:
            self._container.mux(self._stream.encode(None))
            self._container.close()
