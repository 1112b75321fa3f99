"""``python -m speech_pipeline evaluate``: word errors, speaker errors, word times, languages, speed and memory."""

import importlib.util
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from speech_pipeline.console import progress_bar, sentence, speed, tell
from speech_pipeline.errors import SpeechError
from speech_pipeline.model_options import FILE_FAILED, SUCCESS, Loader, chosen_settings, load, model_options

if TYPE_CHECKING:
    from speech_pipeline.evaluation.manifest import Recording

LIBRARIES = ("jinja2", "jiwer", "meeteval", "text_to_num", "whisper_normalizer")
"""Modules of requirements/evaluation.txt."""

_FILE = click.Path(path_type=Path, dir_okay=False)


@click.command(short_help="Measure accuracy and speed on recordings with references.")
@click.option(
    "--data",
    type=click.Path(path_type=Path, exists=True, file_okay=False),
    help="Folder with a manifest.json. Default: the phone call of the demo.",
)
@click.option("--json", "json_file", type=_FILE, metavar="FILE", help="Write all figures and counts.")
@click.option("--html", "html_file", type=_FILE, metavar="FILE", help="Write a page that shows what is wrong.")
@click.option(
    "--language",
    type=click.Choice(["given", "auto"]),
    default="given",
    show_default=True,
    help="Tell the language where the manifest has one, or detect it.",
)
@model_options
@click.pass_obj
def evaluate(
    loader: Loader, data: Path | None, json_file: Path | None, html_file: Path | None, language: Any, **models: Any
) -> int:
    """Transcribe recordings with references; print how accurate and how fast that was.

    README.md describes manifest.json. A recording that fails does not stop the others.
    """
    missing = [name for name in LIBRARIES if importlib.util.find_spec(name) is None]
    if missing:
        raise click.UsageError(f"evaluate needs {', '.join(missing)}: pip install -r requirements/evaluation.txt")
    from speech_pipeline.evaluation.evaluation import Figures, Result
    from speech_pipeline.evaluation.evaluation import evaluate as evaluate_recording
    from speech_pipeline.evaluation.manifest import load_manifest
    from speech_pipeline.evaluation.report import table, to_json

    recordings = load_manifest(data) if data is not None else (_phone_call(),)
    pipeline = load(loader, chosen_settings(models, diarize=True))
    results: list[Result] = []
    failures: dict[str, str] = {}
    for recording in recordings:
        try:
            with progress_bar(recording.name) as progress:
                result = evaluate_recording(pipeline, recording, language, progress)
        except (SpeechError, OSError) as error:
            failures[recording.name] = sentence(error)
            tell(f"{recording.name}: {sentence(error)}")
            continue
        results.append(result)
        tell(f"{recording.name}: {speed(result.figures.audio_s, result.figures.seconds)}")
    total = sum((result.figures for result in results), Figures())
    if results:
        click.echo(table(results, total))
    if json_file is not None:
        figures = to_json(results, failures, total)
        _write(json_file, json.dumps(figures, ensure_ascii=False, allow_nan=False, indent=2) + "\n")
    if html_file is not None:
        from speech_pipeline.evaluation.page import page

        _write(html_file, page(results, total))
    return FILE_FAILED if failures else SUCCESS


def _phone_call() -> "Recording":
    """The call of the demo, whose references lie beside it."""
    from speech_pipeline.demo import phone_call
    from speech_pipeline.evaluation.manifest import read_entry

    call = phone_call()
    entry = {"file": call.name, "language": "en", "rttm": f"{call.stem}.rttm", "stm": f"{call.stem}.stm"}
    return read_entry(call.parent, entry, "The phone call")


def _write(file: Path, text: str) -> None:
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    except OSError as error:
        raise click.FileError(str(file), hint=error.strerror) from error
    tell(f"Written: {click.format_filename(file)}")
