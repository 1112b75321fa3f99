"""Writes the binary model file of CTranslate2."""

import struct

import numpy as np

TYPES = {np.dtype("<f4"): 0, np.dtype("<i1"): 1, np.dtype("<i2"): 2, np.dtype("<i4"): 3, np.dtype("<f2"): 4}


def text(content: str) -> bytes:
    data = content.encode() + b"\0"
    return struct.pack("<H", len(data)) + data


def model_file(
    tensors: dict[str, np.ndarray], aliases: dict[str, str] | None = None, specification: str = "WhisperSpec"
) -> bytes:
    """A model in version 6 of the format."""
    parts = [struct.pack("<I", 6), text(specification), struct.pack("<II", 3, len(tensors))]
    for name, tensor in tensors.items():
        parts += [text(name), struct.pack(f"<B{tensor.ndim}I", tensor.ndim, *tensor.shape)]
        parts += [struct.pack("<BI", TYPES[tensor.dtype], tensor.nbytes), tensor.tobytes()]
    parts.append(struct.pack("<I", len(aliases or {})))
    parts += [text(alias) + text(name) for alias, name in (aliases or {}).items()]
    return b"".join(parts)
