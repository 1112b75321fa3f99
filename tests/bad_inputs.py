"""Request bodies a deployed endpoint meets: bad, odd and just unusual ones, each with the code that must come back.

A body is made when it is asked for, so that importing the list costs nothing.
"""

import io
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from tests.synthetic_audio import (
    encode,
    encode_with_ffmpeg,
    long_silence,
    noise,
    pcm16,
    to_base64,
    tone,
    with_data_size,
)


@dataclass(frozen=True, slots=True)
class Case:
    """One request.

    Attributes:
        name: what is special about it; unique.
        make_body: builds the request body.
        expected_code: code of the error it must raise, or None when it must give a result.
    """

    name: str
    make_body: Callable[[], dict[str, Any]]
    expected_code: str | None

    @property
    def body(self) -> dict[str, Any]:
        """The request body, ``{"inputs": ..., "parameters": ...}``, built anew."""
        return self.make_body()


def cases() -> tuple[Case, ...]:
    """All cases."""
    return (*_shape_cases(), *_text_cases(), *_file_cases(), *_sample_cases(), *_raw_cases(), *_parameter_cases())


def _inputs(name: str, make_inputs: Callable[[], Any], expected_code: str | None, **parameters: Any) -> Case:
    return Case(name, lambda: {"inputs": make_inputs(), "parameters": parameters}, expected_code)


def _shape_cases() -> tuple[Case, ...]:
    """JSON of wrong shapes."""
    return (
        Case("empty body", dict, "invalid_payload"),
        Case("parameters alone", lambda: {"parameters": {"language": "en"}}, "invalid_payload"),
        _inputs("null", lambda: None, "invalid_payload"),
        _inputs("integer", lambda: 7, "invalid_payload"),
        _inputs("float", lambda: 0.5, "invalid_payload"),
        _inputs("boolean", lambda: True, "invalid_payload"),
        _inputs("list of strings", lambda: ["a", "b"], "invalid_payload"),
        _inputs("list of numbers spelt as strings", lambda: ["0.1"] * 400, "invalid_payload"),
        _inputs("list of objects", lambda: [{"array": [0.0]}], "invalid_payload"),
        _inputs("empty list", list, "invalid_audio"),
        _inputs("empty object", dict, "invalid_payload"),
        _inputs("object without audio", lambda: {"file": "UklGRg=="}, "invalid_payload"),
        _inputs("object with null audio", lambda: {"audio": None}, "invalid_payload"),
        _inputs("object within object", lambda: {"audio": {"array": [0.0] * 400}}, "invalid_payload"),
        _inputs("two kinds of audio", lambda: {"audio": "UklGRg==", "array": [0.0]}, "invalid_payload"),
        _inputs("null among samples", lambda: {"array": [0.0, None] * 200, "sampling_rate": 16_000}, "invalid_payload"),
        _inputs("booleans for samples", lambda: {"array": [True, False] * 200}, "invalid_payload"),
        _inputs("uneven channels", lambda: {"array": [[0.0] * 400, [0.0] * 399]}, "invalid_payload"),
        _inputs("three dimensions", lambda: {"array": [[[0.0, 0.1]] * 400]}, "invalid_payload"),
        _inputs("number too large for a float", lambda: {"array": [10**400, 0.5]}, "invalid_payload"),
        _inputs("whole numbers beyond 16 bits", lambda: {"array": [0, 70_000] * 200}, "invalid_payload"),
        _inputs("sampling rate 0", lambda: {"array": [0.0] * 400, "sampling_rate": 0}, "invalid_payload"),
        _inputs("sampling rate negative", lambda: {"array": [0.0] * 400, "sampling_rate": -16_000}, "invalid_payload"),
        _inputs("sampling rate absurd", lambda: {"array": [0.0] * 400, "sampling_rate": 10**12}, "invalid_payload"),
        _inputs("sampling rate text", lambda: {"array": [0.0] * 400, "sampling_rate": "fast"}, "invalid_payload"),
        _inputs("sampling rate NaN", lambda: {"array": [0.0] * 400, "sampling_rate": float("nan")}, "invalid_payload"),
    )


def _text_cases() -> tuple[Case, ...]:
    """Strings: base64 in every dress, and what is none."""
    wav = encode(tone())
    return (
        _inputs("empty string", str, "invalid_payload"),
        _inputs("blank string", lambda: " \n\t", "invalid_payload"),
        _inputs("empty bytes", bytes, "invalid_payload"),
        _inputs("prose", lambda: "Please transcribe my recording, thanks!", "invalid_payload"),
        _inputs("text beyond ASCII", lambda: "Grüße aus Köln", "invalid_payload"),
        _inputs("lone surrogate", lambda: "\ud800AAA", "invalid_payload"),
        _inputs(
            "base64 with a stray character",
            lambda: to_base64(wav)[:400] + "*" + to_base64(wav)[400:],
            "invalid_payload",
        ),
        _inputs("base64 one character short", lambda: to_base64(wav).rstrip("=")[: 4 * 100 + 1], "invalid_payload"),
        _inputs("base64 padded in the middle", lambda: "UklGRg==UklGRg==", "invalid_payload"),
        _inputs("base64 of both alphabets", lambda: "ab+/ab-_", "invalid_payload"),
        _inputs("hexadecimal", lambda: wav.hex(), "invalid_audio"),
        _inputs("base64 of base64", lambda: to_base64(to_base64(wav).encode()), "invalid_audio"),
        _inputs("http URL", lambda: "https://example.com/meeting.wav", "invalid_payload"),
        _inputs("s3 URL", lambda: "s3://bucket/meeting.wav", "invalid_payload"),
        _inputs("file URL", lambda: "file:///etc/passwd", "invalid_payload"),
        _inputs("path", lambda: "/repository/audio/meeting.wav", "invalid_payload"),
        _inputs("Windows path", lambda: r"C:\audio\meeting.wav", "invalid_payload"),
        _inputs("file name", lambda: "meeting.mp3", "invalid_payload"),
        _inputs("URL within object", lambda: {"audio": "http://169.254.169.254/latest"}, "invalid_payload"),
        _inputs("data URI without base64", lambda: "data:audio/wav,RIFF", "invalid_payload"),
        _inputs("data URI without data", lambda: "data:audio/wav;base64,", "invalid_payload"),
        _inputs("base64", lambda: to_base64(wav), None),
        _inputs("base64 without padding", lambda: to_base64(wav).rstrip("="), None),
        _inputs("base64 in lines", lambda: "\r\n".join(_lines(to_base64(wav))), None),
        _inputs("URL-safe base64", lambda: to_base64(wav).replace("+", "-").replace("/", "_"), None),
        _inputs("data URI", lambda: "data:audio/wav;base64," + to_base64(wav), None),
        _inputs("data URI with codecs", lambda: "data:audio/webm;codecs=opus;base64," + to_base64(_opus("webm")), None),
        _inputs("base64 within object", lambda: {"audio": to_base64(wav)}, None),
        _inputs("bytes", lambda: wav, None),
        _inputs("bytearray", lambda: bytearray(wav), None),
        _inputs("memoryview", lambda: memoryview(wav), None),
        Case("parameters null", lambda: {"inputs": wav, "parameters": None}, None),
        Case("no parameters", lambda: {"inputs": wav}, None),
    )


def _file_cases() -> tuple[Case, ...]:
    """Files that are odd, damaged, or no audio at all."""
    wav = encode(tone())
    stereo = np.stack([tone(), noise()], axis=1)
    return (
        _inputs("zip named wav", _zip, "invalid_audio"),
        _inputs("HTML named wav", lambda: b"<!DOCTYPE html><html><body>404 Not Found</body></html>", "invalid_audio"),
        _inputs("JSON as bytes", lambda: b'{"error": "not found"}', "invalid_audio"),
        _inputs("PDF", lambda: b"%PDF-1.7\n" + bytes(range(256)) * 4, "invalid_audio"),
        _inputs("JPEG", lambda: b"\xff\xd8\xff\xe0\x00\x10JFIF" + bytes(range(256)) * 4, "invalid_audio"),
        _inputs("playlist", lambda: b"#EXTM3U\n#EXTINF:10,\nfile:///etc/passwd\n#EXT-X-ENDLIST\n", "invalid_audio"),
        _inputs("concat script", lambda: b"ffconcat version 1.0\nfile /etc/passwd\n", "invalid_audio"),
        _inputs("random bytes", lambda: np.random.default_rng(0).bytes(20_000), "invalid_audio"),
        _inputs("one byte", lambda: b"\x00", "invalid_audio"),
        _inputs("RIFF alone", lambda: b"RIFF", "invalid_audio"),
        _inputs("WAV header cut", lambda: wav[:30], "invalid_audio"),
        _inputs("WAV of 0 samples", lambda: encode(np.zeros(0, np.float32)), "invalid_audio"),
        _inputs("WAV of 0 Hz", lambda: wav[:24] + bytes(4) + wav[28:], "invalid_audio"),
        _inputs("WAV of no channels", lambda: wav[:22] + bytes(2) + wav[24:], "invalid_audio"),
        _inputs("WAV of NaN alone", lambda: encode(np.full(16_000, np.nan), subtype="FLOAT"), "invalid_audio"),
        _inputs("MP4 without its index", lambda: _aac("ipod")[:4_000], "invalid_audio"),
        _inputs("4 hours", lambda: long_silence(4), "audio_too_long"),
        _inputs("decompression bomb", lambda: long_silence(24, sampling_rate=1_000), "audio_too_long"),
        _inputs("WAV with NaN and Inf", lambda: encode(_spoilt(), subtype="FLOAT"), None),
        _inputs("WAV cut", lambda: wav[:20_001], None),
        _inputs("WAV claims 0 bytes", lambda: with_data_size(wav, 0), None),
        _inputs("WAV claims 4 GiB", lambda: with_data_size(wav, 0xFFFF_FFFF), None),
        _inputs("WAV claims 100 MB", lambda: with_data_size(wav, 10**8), None),
        _inputs("silence", lambda: encode(np.zeros(16_000)), None),
        _inputs("noise", lambda: encode(noise()), None),
        _inputs("clipped", lambda: encode(np.sign(tone())), None),
        _inputs("constant offset", lambda: encode(tone() + 0.5), None),
        _inputs("25 ms", lambda: encode(tone(0.025)), None),
        _inputs("one sample", lambda: encode(tone(1 / 16_000)), None),
        _inputs("stereo", lambda: encode(stereo), None),
        _inputs("stereo kept apart", lambda: encode(stereo), None, channels="separate"),
        _inputs("mono kept apart", lambda: wav, None, channels="separate"),
        _inputs("6 channels", lambda: encode(np.stack([tone()] * 6, axis=1)), None),
        _inputs("9 channels", lambda: encode(np.stack([tone()] * 9, axis=1)), None),
        _inputs(
            "9 channels kept apart",
            lambda: encode(np.stack([tone()] * 9, axis=1)),
            "invalid_audio",
            channels="separate",
        ),
        _inputs("8 kHz mu-law", lambda: encode(tone(sampling_rate=8_000), 8_000, subtype="ULAW"), None),
        _inputs("96 kHz 24 bits", lambda: encode(tone(sampling_rate=96_000), 96_000, subtype="PCM_24"), None),
        _inputs("8 bits", lambda: encode(tone(), subtype="PCM_U8"), None),
        _inputs("FLAC cut", lambda: _half(encode(noise(2.0), container="FLAC")), None),
        _inputs("MP3 cut", lambda: _half(encode_with_ffmpeg(tone(2.0), 16_000, "mp3", "libmp3lame")), None),
        _inputs("MP3 spoilt in the middle", _spoilt_mp3, None),
        _inputs("M4A with its index at the end", lambda: _aac("ipod"), None),
        _inputs("OGG Opus", lambda: _opus("ogg"), None),
        _inputs("WebM with video", lambda: _opus("webm", cover=True), None),
    )


def _sample_cases() -> tuple[Case, ...]:
    """Samples in lists and arrays."""
    samples = tone()
    return (
        _inputs("list of floats", lambda: {"raw": samples.tolist(), "sampling_rate": 16_000}, None),
        _inputs("list of whole numbers", lambda: {"array": pcm16(samples).tolist(), "sampling_rate": 16_000}, None),
        _inputs("list without sampling rate", lambda: {"array": samples.tolist()}, None),
        _inputs("sampling rate as float", lambda: {"array": samples.tolist(), "sampling_rate": 22_050.0}, None),
        _inputs("int16 array", lambda: {"array": pcm16(samples), "sampling_rate": 16_000}, None),
        _inputs("int16 array at 8 kHz", lambda: {"array": pcm16(samples), "sampling_rate": 8_000}, None),
        _inputs("array alone", lambda: samples, None),
        _inputs("float64 array", lambda: {"array": samples.astype(np.float64), "sampling_rate": 16_000}, None),
        _inputs("two channels by frames", lambda: {"array": np.stack([samples] * 2, 1), "sampling_rate": 16_000}, None),
        _inputs("two lists", lambda: {"array": [samples.tolist()] * 2, "sampling_rate": 16_000}, None),
        _inputs("samples beyond full scale", lambda: {"array": samples * 5, "sampling_rate": 16_000}, None),
        _inputs("float array on the 16-bit scale", lambda: {"array": samples * 32_768, "sampling_rate": 16_000}, None),
        _inputs("NaN and Inf samples", lambda: {"array": _spoilt(), "sampling_rate": 16_000}, None),
        _inputs("NaN alone", lambda: {"array": np.full(16_000, np.nan), "sampling_rate": 16_000}, "invalid_audio"),
        _inputs("no samples", lambda: {"array": [], "sampling_rate": 16_000}, "invalid_audio"),
        _inputs("complex array", lambda: {"array": samples.astype(np.complex64)}, "invalid_payload"),
        _inputs("array of objects", lambda: {"array": np.array([None, "a"] * 100, dtype=object)}, "invalid_payload"),
        _inputs(
            "4 hours of samples",
            lambda: {"array": np.zeros(4 * 3_600 * 1_000, np.int16), "sampling_rate": 1_000},
            "audio_too_long",
        ),
    )


def _raw_cases() -> tuple[Case, ...]:
    """PCM without a header."""
    raw = pcm16(tone()).tobytes()
    return (
        _inputs("raw PCM with its rate", lambda: raw, None, sampling_rate=8_000),
        _inputs("raw PCM without its rate", lambda: raw, None),
        _inputs("raw PCM of odd length", lambda: raw + b"\x01", None, sampling_rate=16_000),
        _inputs("raw noise with its rate", lambda: pcm16(noise()).tobytes(), None, sampling_rate=16_000),
        _inputs("raw zeros without a rate", lambda: bytes(32_000), "invalid_audio"),
        _inputs("zip with a rate", _zip, "invalid_audio", sampling_rate=16_000),
        _inputs("WAV with another rate stated", lambda: encode(tone()), None, sampling_rate=44_100),
    )


def _parameter_cases() -> tuple[Case, ...]:
    """Parameters beyond sense, with audio that is fine."""
    wav = encode(tone())

    def case(name: str, expected_code: str | None, **parameters: Any) -> Case:
        return _inputs(f"parameter: {name}", lambda: wav, expected_code, **parameters)

    return (
        Case("parameter: list for an object", lambda: {"inputs": wav, "parameters": [1]}, "invalid_parameters"),
        Case("parameter: text for an object", lambda: {"inputs": wav, "parameters": "en"}, "invalid_parameters"),
        case("batch_size 0", "invalid_parameters", batch_size=0),
        case("batch_size a million", "invalid_parameters", batch_size=1_000_000),
        case("batch_size true", "invalid_parameters", batch_size=True),
        case("chunk_length_s negative", "invalid_parameters", chunk_length_s=-1),
        case("chunk_length_s NaN", "invalid_parameters", chunk_length_s=float("nan")),
        case("chunk_length_s an hour", "invalid_parameters", chunk_length_s=3_600),
        case("sampling_rate 0", "invalid_parameters", sampling_rate=0),
        case("sampling_rate absurd", "invalid_parameters", sampling_rate=10**12),
        case("task unknown", "invalid_parameters", task="summarise"),
        case("language unknown", "invalid_parameters", language="klingon"),
        case("language number", "invalid_parameters", language=7),
        case("num_speakers 0", "invalid_parameters", num_speakers=0),
        case("num_speakers object", "invalid_parameters", num_speakers={"exactly": 2}),
        case("temperature 7", "invalid_parameters", temperature=7),
        case("temperature list empty", "invalid_parameters", temperature=[]),
        case("format unknown", "invalid_parameters", format="docx"),
        case("channels unknown", "invalid_parameters", channels="left"),
        case("prompt endless", "invalid_parameters", prompt="word " * 10_000),
        case("prompt surrogate", "invalid_parameters", prompt="\ud800"),
        case("num_beams 1000", "invalid_parameters", num_beams=1_000),
        case("speaker numbers conflict", "conflicting_parameters", num_speakers=2, max_speakers=3),
        case("min above max", "conflicting_parameters", min_speakers=4, max_speakers=2),
        case("assisted in batches", "conflicting_parameters", assisted=True, batch_size=8),
        case("diarize separate channels", "conflicting_parameters", diarize=True, channels="separate"),
        case("unknown names", None, shoe_size=43, mode="fast"),
        case(
            "strings of a query", None, batch_size="4", chunk_length_s="20.0", language="None", word_timestamps="true"
        ),
        case("nulls", None, batch_size=None, language=None, num_speakers=None, task=None),
    )


def _half(data: bytes) -> bytes:
    return data[: len(data) // 2]


def _lines(text: str, width: int = 76) -> list[str]:
    return [text[start : start + width] for start in range(0, len(text), width)]


def _zip() -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("meeting.wav", encode(tone()))
    return buffer.getvalue()


def _spoilt() -> np.ndarray:
    """A tone with a few samples that are no numbers."""
    samples = tone()
    samples[100:110] = np.nan
    samples[200], samples[201] = np.inf, -np.inf
    return samples


def _spoilt_mp3() -> bytes:
    data = bytearray(encode_with_ffmpeg(tone(3.0, 44_100), 44_100, "mp3", "libmp3lame"))
    data[9_000:9_500] = np.random.default_rng(0).bytes(500)
    return bytes(data)


def _aac(container: str) -> bytes:
    return encode_with_ffmpeg(tone(sampling_rate=44_100), 44_100, container, "aac")


def _opus(container: str, cover: bool = False) -> bytes:
    return encode_with_ffmpeg(tone(sampling_rate=48_000), 48_000, container, "libopus", cover=cover)
