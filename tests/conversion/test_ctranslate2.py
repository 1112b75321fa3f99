"""The binary model file: what is written is read back, and damage is told rather than read."""

import contextlib
import struct
from pathlib import Path

import numpy as np
import pytest
from ctranslate2_file import TYPES, model_file
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from speech_pipeline.conversion.ctranslate2 import read_model
from speech_pipeline.errors import ModelUnavailable

some_tensors = st.dictionaries(
    st.text(max_size=20),
    st.sampled_from(list(TYPES)).flatmap(lambda dtype: arrays(dtype, array_shapes(min_dims=0, max_dims=3, max_side=4))),
    max_size=4,
)


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("ctranslate2") / "model.bin"


@given(tensors=some_tensors, aliases=st.dictionaries(st.text(max_size=5), st.text(max_size=5), max_size=2))
def test_everything_written_is_read(path: Path, tensors: dict[str, np.ndarray], aliases: dict[str, str]) -> None:
    tensors = {name.rstrip("\0"): tensor for name, tensor in tensors.items()}
    aliases = {alias.rstrip("\0"): name.rstrip("\0") for alias, name in aliases.items()}
    path.write_bytes(model_file(tensors, aliases))
    model = read_model(path)
    assert model.specification == "WhisperSpec"
    assert model.aliases == aliases
    assert model.tensors.keys() == tensors.keys()
    for name, tensor in tensors.items():
        assert model.tensors[name].dtype == tensor.dtype
        np.testing.assert_array_equal(model.tensors[name], tensor)


@given(tensors=some_tensors, data=st.data())
def test_a_file_cut_off_anywhere_is_refused(path: Path, tensors: dict[str, np.ndarray], data: st.DataObject) -> None:
    whole = model_file(tensors, {"a": "b"})
    path.write_bytes(whole[: data.draw(st.integers(0, len(whole) - 1))])
    with pytest.raises(ModelUnavailable):
        read_model(path)


@given(tensors=some_tensors, data=st.data())
def test_changed_bytes_give_a_model_or_a_coded_error(
    path: Path, tensors: dict[str, np.ndarray], data: st.DataObject
) -> None:
    content = bytearray(model_file(tensors))
    for position in data.draw(st.lists(st.integers(0, len(content) - 1), min_size=1, max_size=4)):
        content[position] = data.draw(st.integers(0, 255))
    path.write_bytes(content)
    with contextlib.suppress(ModelUnavailable):
        read_model(path)


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (struct.pack("<I", 5) + model_file({})[4:], "version 6, not 5"),
        (model_file({}) + b"more", "after its end"),
        (
            model_file({"x": np.zeros(2, np.float32)}).replace(struct.pack("<BI", 0, 8), struct.pack("<BI", 9, 8)),
            "type",
        ),
        (
            model_file({"x": np.zeros(2, np.float32)}).replace(struct.pack("<BI", 0, 8), struct.pack("<BI", 4, 8)),
            "size",
        ),
        (b"", "empty"),
    ],
)
def test_the_error_says_what_is_wrong(path: Path, content: bytes, reason: str) -> None:
    path.write_bytes(content)
    with pytest.raises(ModelUnavailable, match=reason):
        read_model(path)
