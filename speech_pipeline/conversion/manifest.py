"""``starter.json``: what a finished starter folder holds, so that damage can be seen."""

import json
from pathlib import Path

from speech_pipeline.conversion.wheels import sha256_of

FILE_NAME = "starter.json"

VERSION = 1
"""Raised when the way folders are made changes; folders of another version are made anew."""


def write_manifest(folder: Path, source: str) -> None:
    """List all files with size in bytes and sha256. Written last: a folder with a manifest was finished."""
    files = {
        path.relative_to(folder).as_posix(): {"size": path.stat().st_size, "sha256": sha256_of(path)}
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.name != FILE_NAME
    }
    content = {"version": VERSION, "source": source, "files": files}
    (folder / FILE_NAME).write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")


def has_manifest(folder: Path) -> bool:
    """Whether the folder was made here, whatever has become of it since."""
    return (folder / FILE_NAME).is_file()


def is_complete(folder: Path, *, thorough: bool = False) -> bool:
    """Whether every listed file is there with its size and, when ``thorough``, its checksum.

    Raises:
        OSError: a file is there and cannot be read.
    """
    try:
        content = json.loads((folder / FILE_NAME).read_bytes())
        if content["version"] != VERSION:
            return False
        for name, expected in content["files"].items():
            if (folder / name).stat().st_size != expected["size"]:
                return False
            if thorough and sha256_of(folder / name) != expected["sha256"]:
                return False
    except (FileNotFoundError, NotADirectoryError, ValueError, KeyError, TypeError, AttributeError):
        return False
    return True


def source_of(folder: Path) -> str:
    """Where the files were fetched from."""
    return str(json.loads((folder / FILE_NAME).read_bytes())["source"])
