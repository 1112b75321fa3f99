"""Recordings in, transcripts out: the files of the command line."""

import itertools
import sys
from collections.abc import Sequence
from pathlib import Path

import click

from speech_pipeline.transcript import Transcript

STANDARD_INPUT = "-"


def read_recording(file: str, limit: int) -> bytes:
    """The bytes of a file, at most one more than ``limit``, so that a file beyond it is seen to be too large.

    Raises:
        OSError: the file cannot be read.
    """
    if file == STANDARD_INPUT:
        return sys.stdin.buffer.read(limit + 1)
    with Path(file).open("rb") as stream:
        return stream.read(limit + 1)


def recording_name(file: str) -> str:
    """The file's name without folder and ending."""
    return "stdin" if file == STANDARD_INPUT else Path(file).stem


def transcript_paths(files: Sequence[str], output: Path | None, format: str) -> list[Path | None]:
    """Where the transcript of each file goes; None is standard output.

    Args:
        files: recordings.
        output: a file when its name has an ending, else a folder for files named as the recordings; None is standard
            output.
        format: becomes the ending of the files in a folder.

    Raises:
        click.UsageError: one file is named for several transcripts, or a transcript would replace a recording.
    """
    if output is None:
        return [None] * len(files)
    paths: list[Path] = []
    if output.is_dir() or not output.suffix:
        for file in files:
            stem = recording_name(file)
            names = itertools.chain([stem], (f"{stem}-{number}" for number in itertools.count(2)))
            candidates = (output / f"{name}.{format}" for name in names)
            paths.append(next(path for path in candidates if path not in paths))
    elif len(files) == 1:
        paths = [output]
    else:
        raise click.UsageError("--output names one file for several transcripts; name a folder.")
    recordings = {Path(file).resolve() for file in files}
    if any(path.resolve() in recordings for path in paths):
        raise click.UsageError("--output would replace a recording; name another file.")
    return [*paths]


def write_transcript(transcript: Transcript, format: str, path: Path | None, *, file: str, heading: bool) -> None:
    """Write a transcript.

    Args:
        transcript: what was said.
        format: one of those of :mod:`speech_pipeline.formats`.
        path: where to; None is standard output.
        file: the recording.
        heading: whether the recording's name goes before the transcript on standard output.

    Raises:
        OSError: the file cannot be written.
    """
    from speech_pipeline.formats import format_transcript, to_json

    text = format_transcript(transcript, format, recording=recording_name(file))
    if text is None:
        text = to_json(transcript)
    if path is not None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return
    if heading:
        click.echo(f"{click.format_filename(file)}:")
    click.echo(text, nl=not text.endswith("\n"))
