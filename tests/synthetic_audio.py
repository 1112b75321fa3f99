"""Audio made on the spot, and encoded in memory."""

import base64
import io
import struct

import av
import numpy as np
import soundfile
from numpy.typing import NDArray


def tone(seconds: float = 1.0, sampling_rate: int = 16_000, frequency: float = 440.0) -> NDArray[np.float32]:
    """A sine of amplitude 0.3: float32 [n]."""
    time = np.arange(round(seconds * sampling_rate)) / sampling_rate
    return (0.3 * np.sin(2 * np.pi * frequency * time)).astype(np.float32)


def noise(seconds: float = 1.0, sampling_rate: int = 16_000) -> NDArray[np.float32]:
    """White noise of standard deviation 0.1, the same each time: float32 [n]."""
    generator = np.random.default_rng(0)
    return generator.normal(0, 0.1, round(seconds * sampling_rate)).astype(np.float32)


def pcm16(samples: NDArray[np.float32]) -> NDArray[np.int16]:
    """The samples as 16-bit PCM."""
    return np.clip(np.round(samples * 32_768), -32_768, 32_767).astype("<i2")


def encode(
    samples: NDArray[np.floating] | NDArray[np.integer],
    sampling_rate: int = 16_000,
    container: str = "WAV",
    subtype: str | None = "PCM_16",
) -> bytes:
    """Encode [n] or [n, channels] with libsndfile."""
    buffer = io.BytesIO()
    soundfile.write(buffer, samples, sampling_rate, format=container, subtype=subtype)
    return buffer.getvalue()


def encode_with_ffmpeg(
    samples: NDArray[np.float32],
    sampling_rate: int,
    container: str,
    codec: str,
    layout: str = "mono",
    cover: bool = False,
) -> bytes:
    """Encode [n] with FFmpeg's libraries, the same in all channels; ``cover`` adds a one-picture video track."""
    buffer = io.BytesIO()
    with av.open(buffer, "w", format=container) as file:
        track = file.add_stream(codec, rate=sampling_rate)
        track.layout = layout
        picture = file.add_stream("mjpeg" if container != "webm" else "libvpx", rate=1) if cover else None
        if picture is not None:
            picture.width, picture.height = 64, 64
            picture.pix_fmt = "yuvj420p" if container != "webm" else "yuv420p"
            image = av.VideoFrame.from_ndarray(np.zeros((64, 64, 3), np.uint8), format="rgb24")
            for packet in [*picture.encode(image), *picture.encode(None)]:
                file.mux(packet)
        values = pcm16(samples)
        channels = track.layout.nb_channels
        for start in range(0, len(values), 1024):
            packed = np.repeat(values[start : start + 1024], channels)[np.newaxis]
            frame = av.AudioFrame.from_ndarray(packed, format="s16", layout=layout)
            frame.sample_rate = sampling_rate
            frame.pts = start
            for packet in track.encode(frame):
                file.mux(packet)
        for packet in track.encode(None):
            file.mux(packet)
    return buffer.getvalue()


def long_silence(hours: float, sampling_rate: int = 8_000, channels: int = 1) -> bytes:
    """FLAC of silence: hours of audio in few bytes."""
    buffer = io.BytesIO()
    minute = np.zeros((60 * sampling_rate, channels), np.int16)
    with soundfile.SoundFile(buffer, "w", sampling_rate, channels, format="FLAC", subtype="PCM_16") as file:
        for _ in range(round(hours * 60)):
            file.write(minute)
    return buffer.getvalue()


def with_data_size(wav: bytes, size: int) -> bytes:
    """A WAV file whose sound chunk claims another size."""
    position = wav.index(b"data") + 4
    return wav[:position] + struct.pack("<I", size) + wav[position + 4 :]


def to_base64(data: bytes) -> str:
    """Standard base64."""
    return base64.b64encode(data).decode()
