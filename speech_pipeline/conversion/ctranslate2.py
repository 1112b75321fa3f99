"""The binary model file of CTranslate2, version 6.

Source: the writer, ``ModelSpec._serialize`` of CTranslate2 4 (https://github.com/OpenNMT/CTranslate2). All numbers are
little-endian::

    u32 version | text specification | u32 revision
    u32 number of tensors, each: text name | u8 rank | u32 dimensions... | u8 type | u32 bytes | data
    u32 number of aliases, each: text alias | text name

A text is a u16 length followed by that many bytes, the last of them zero.
"""

import math
import mmap
import struct
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from speech_pipeline.errors import ModelUnavailable

VERSION = 6

DTYPES = {0: "<f4", 1: "<i1", 2: "<i2", 3: "<i4", 4: "<f2"}
"""Type byte to NumPy dtype."""


@dataclass(frozen=True, slots=True)
class CTranslate2Model:
    """What a model file holds.

    Attributes:
        specification: name of the architecture, such as ``WhisperSpec``.
        tensors: arrays by name; read-only views of the mapped file.
        aliases: second names of tensors, for weights that are shared.
    """

    specification: str
    tensors: dict[str, np.ndarray]
    aliases: dict[str, str]


def read_model(path: Path) -> CTranslate2Model:
    """Read a ``model.bin``. The file stays mapped for as long as one of the arrays lives.

    Raises:
        ModelUnavailable: the file is cut off, is of another version, or is no CTranslate2 model.
    """
    try:
        with path.open("rb") as file:
            data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    except ValueError:
        raise ModelUnavailable("The CTranslate2 model file is empty.") from None
    reader = _Reader(data)
    version = reader.number("I")
    if version != VERSION:
        raise ModelUnavailable(f"The CTranslate2 model file must be of version {VERSION}, not {version}.")
    specification = reader.text()
    reader.number("I")
    tensors = dict(reader.tensor() for _ in range(reader.number("I")))
    aliases = {reader.text(): reader.text() for _ in range(reader.number("I"))}
    if not reader.at_end:
        raise ModelUnavailable("The CTranslate2 model file goes on after its end; it is damaged.")
    return CTranslate2Model(specification, tensors, aliases)


class _Reader:
    """Takes one item after another out of the file and refuses to read past its end."""

    def __init__(self, data: mmap.mmap) -> None:
        self._data = data
        self._position = 0

    @property
    def at_end(self) -> bool:
        return self._position == len(self._data)

    def number(self, code: str) -> int:
        start = self._advance(struct.calcsize("<" + code))
        return int(struct.unpack_from("<" + code, self._data, start)[0])

    def text(self) -> str:
        length = self.number("H")
        start = self._advance(length)
        try:
            return self._data[start : start + length].rstrip(b"\0").decode()
        except UnicodeDecodeError:
            raise ModelUnavailable("The CTranslate2 model file holds a name that is not text; it is damaged.") from None

    def tensor(self) -> tuple[str, np.ndarray]:
        name = self.text()
        shape = tuple(self.number("I") for _ in range(self.number("B")))
        kind, size = self.number("B"), self.number("I")
        if kind not in DTYPES:
            raise ModelUnavailable(f"The CTranslate2 model file holds numbers of an unknown type {kind}.")
        dtype = np.dtype(DTYPES[kind])
        if size != math.prod(shape) * dtype.itemsize:
            raise ModelUnavailable("The CTranslate2 model file holds a tensor of the wrong size; it is damaged.")
        start = self._advance(size)
        return name, np.frombuffer(self._data, dtype, math.prod(shape), start).reshape(shape)

    def _advance(self, size: int) -> int:
        """Step over ``size`` bytes and return where they start."""
        start, self._position = self._position, self._position + size
        if self._position > len(self._data):
            raise ModelUnavailable("The CTranslate2 model file is cut off; fetch it again.")
        return start
