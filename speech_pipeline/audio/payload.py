"""What the ``inputs`` of a request holds: encoded bytes or samples. No path and no URL is ever opened."""

import binascii
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote

import numpy as np
from numpy.typing import NDArray

from speech_pipeline.audio.arrays import as_frames
from speech_pipeline.errors import AudioTooLarge, InvalidPayload

MIN_SAMPLING_RATE = 1_000
"""Lowest sampling rate a request may state, in Hz."""

MAX_SAMPLING_RATE = 384_000
"""Highest sampling rate a request may state, in Hz."""

_SAMPLE_KEYS = ("array", "raw", "audio")
_WHITE_SPACE = b" \t\r\n\v\f"
_TO_STANDARD_ALPHABET = bytes.maketrans(b"-_", b"+/")
_URL = re.compile(r"\s*[a-z][a-z0-9+.-]*://", re.IGNORECASE)
_PATH = re.compile(r"\s*(?:~|\.{0,2}[/\\]|[a-z]:[/\\])|.*\.[a-z0-9]{2,5}\s*\Z", re.IGNORECASE | re.DOTALL)
_LONGEST_PATH = 4_096


@dataclass(frozen=True, slots=True)
class EncodedAudio:
    """Bytes of an audio file, or of PCM without a header.

    Attributes:
        data: the bytes, at least one.
        sampling_rate: Hz, where the payload states it beside the bytes; else None.
    """

    data: bytes
    sampling_rate: int | None = None


@dataclass(frozen=True, slots=True)
class SampledAudio:
    """Samples that need no decoding.

    Attributes:
        frames: [n, channels], integers or floats; :func:`speech_pipeline.audio.arrays.to_float` scales them.
        sampling_rate: Hz, where the payload states it beside the samples; else None.
    """

    frames: NDArray[Any]
    sampling_rate: int | None = None


def read_payload(inputs: object, *, max_bytes: int) -> EncodedAudio | SampledAudio:
    """Tell what ``inputs`` is, and take it apart.

    Accepted are bytes; base64 (RFC 4648: standard or URL-safe alphabet, padded or not, white space anywhere); a base64
    data URI (RFC 2397); samples as a list or numpy array, see :func:`speech_pipeline.audio.arrays.as_frames`; and an
    object ``{"array" | "raw" | "audio": one of those, "sampling_rate": Hz}``.

    Args:
        inputs: what the request carries.
        max_bytes: largest number of encoded bytes; checked before base64 is decoded.

    Raises:
        AudioTooLarge: more than ``max_bytes`` encoded bytes.
        InvalidPayload: anything that is not of these shapes.
    """
    if not isinstance(inputs, Mapping):
        return _read_content(inputs, None, max_bytes)
    present = [key for key in _SAMPLE_KEYS if inputs.get(key) is not None]
    if len(present) != 1:
        raise InvalidPayload('inputs as an object must have one of "array", "raw" and "audio".')
    return _read_content(inputs[present[0]], _sampling_rate(inputs.get("sampling_rate")), max_bytes)


def _read_content(content: object, sampling_rate: int | None, max_bytes: int) -> EncodedAudio | SampledAudio:
    if isinstance(content, (bytes, bytearray, memoryview)):
        size = content.nbytes if isinstance(content, memoryview) else len(content)
        _check_size(size, max_bytes)
        return EncodedAudio(bytes(content), sampling_rate)
    if isinstance(content, str):
        return EncodedAudio(_decode_text(content, max_bytes), sampling_rate)
    if isinstance(content, (list, tuple, np.ndarray)):
        return SampledAudio(as_frames(content), sampling_rate)
    raise InvalidPayload(
        "inputs must be base64 text, bytes, or an object with samples and sampling_rate, not "
        f"{'null' if content is None else type(content).__name__}."
    )


def _decode_text(text: str, max_bytes: int) -> bytes:
    if text[:64].lstrip()[:5].lower() == "data:":
        text = _data_of_uri(text)
    if len(text) // 4 * 3 > max_bytes:
        white = sum(text.count(chr(character)) for character in _WHITE_SPACE)
        _check_size((len(text) - white) // 4 * 3, max_bytes)
    try:
        data = _decode_strict(text)
    except ValueError:
        data = _decode_lenient(text)
    _check_size(len(data), max_bytes)
    return data


def _decode_lenient(text: str) -> bytes:
    """Base64 with white space, in the URL-safe alphabet, or without padding; all else is refused."""
    if not text.isascii():
        raise _not_base64(text)
    packed = text.encode("ascii").translate(None, _WHITE_SPACE)
    if b"-" in packed or b"_" in packed:
        if b"+" in packed or b"/" in packed:
            raise _not_base64(text)
        packed = packed.translate(_TO_STANDARD_ALPHABET)
    if not packed.endswith(b"="):
        packed += b"=" * (-len(packed) % 4)
    try:
        return _decode_strict(packed)
    except ValueError:
        raise _not_base64(text) from None


def _decode_strict(text: str | bytes) -> bytes:
    """Standard base64 in whole groups of four; binascii alone lets padding after a whole group pass."""
    if len(text) % 4 or text[-3:] in ("===", b"==="):
        raise ValueError("not in whole groups")
    return binascii.a2b_base64(text, strict_mode=True)


def _data_of_uri(uri: str) -> str:
    header, comma, data = uri.partition(",")
    if not comma or not header.rstrip().lower().endswith(";base64"):
        raise InvalidPayload("A data URI must be base64: data:audio/wav;base64,...")
    return unquote(data, errors="replace") if "%" in data else data


def _not_base64(text: str) -> InvalidPayload:
    """Say what the text looks like without repeating any of it."""
    if _URL.match(text):
        return InvalidPayload("inputs looks like a URL, and URLs are not opened; send the audio itself as base64.")
    if len(text) <= _LONGEST_PATH and _PATH.match(text):
        return InvalidPayload("inputs looks like a path, and files are not opened; send the audio itself as base64.")
    return InvalidPayload("inputs is text that is not base64; send the bytes of an audio file as base64.")


def _check_size(size: int, max_bytes: int) -> None:
    if size == 0:
        raise InvalidPayload("inputs is empty; send the bytes of an audio file, as base64 within JSON.")
    if size > max_bytes:
        raise AudioTooLarge(
            f"The audio has more than the {max_bytes} bytes that are allowed; send a shorter recording."
        )


def _sampling_rate(value: Any) -> int | None:
    """The rate stated beside the samples, rounded to whole Hz."""
    if value is None:
        return None
    is_number = isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool)
    if not is_number or not math.isfinite(value) or not MIN_SAMPLING_RATE <= value <= MAX_SAMPLING_RATE:
        raise InvalidPayload(
            f"sampling_rate beside the samples must be a number from {MIN_SAMPLING_RATE} to {MAX_SAMPLING_RATE} Hz."
        )
    return round(value)
