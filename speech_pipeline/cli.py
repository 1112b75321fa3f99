"""The command line: ``python -m speech_pipeline COMMAND``; ``--help`` lists the commands.

Results go to standard output, messages to standard error. The libraries of the models are imported only once the
command line has been understood.
"""

import sys
import warnings
from collections.abc import Sequence
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any, get_args

import click

from config import InferenceConfig, ModelSettings
from speech_pipeline.console import progress_bar, sentence, speed, tell
from speech_pipeline.errors import (
    InvalidManifest,
    InvalidParameters,
    InvalidSettings,
    ModelMismatch,
    ModelUnavailable,
    OutOfMemory,
    SpeechError,
)
from speech_pipeline.evaluation.bench_command import bench
from speech_pipeline.evaluation.conversations_command import conversations
from speech_pipeline.evaluation.evaluate_command import evaluate
from speech_pipeline.files import read_recording, transcript_paths, write_transcript
from speech_pipeline.model_options import (
    FILE_FAILED,
    INTERRUPTED,
    MODEL_UNAVAILABLE,
    SUCCESS,
    WRONG_USAGE,
    Loader,
    chosen_settings,
    load,
    model_options,
)
from speech_pipeline.progress import Progress
from speech_pipeline.reply.ask_command import ask
from speech_pipeline.server.serve_command import serve

if TYPE_CHECKING:
    from speech_pipeline.pipeline import SpeechPipeline

FORMATS = get_args(InferenceConfig.model_fields["format"].annotation)


def load_models(settings: ModelSettings, progress: Progress) -> "SpeechPipeline":
    """Load the real models; raises what :func:`speech_pipeline.loading.load_pipeline` raises."""
    from speech_pipeline.loading import load_pipeline

    return load_pipeline(settings, progress=progress)


def main(arguments: Sequence[str] | None = None, *, load: Loader = load_models) -> int:
    """Run one command.

    Args:
        arguments: the command line without the program's name; None takes it from the process.
        load: loads the models.

    Returns:
        The exit code: 0 success, 1 a file failed, 2 the command line or a setting is wrong, 3 a model could not be
        loaded, 130 interrupted.
    """
    try:
        code = commands.main(
            args=None if arguments is None else list(arguments),
            prog_name="python -m speech_pipeline",
            standalone_mode=False,
            obj=load,
        )
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except click.Abort:
        tell("Interrupted.")
        return INTERRUPTED
    except SpeechError as error:
        tell(f"Error: {sentence(error)}")
        if isinstance(error, ModelUnavailable | ModelMismatch | OutOfMemory):
            return MODEL_UNAVAILABLE
        return WRONG_USAGE if isinstance(error, InvalidSettings | InvalidManifest) else FILE_FAILED
    return code if isinstance(code, int) else SUCCESS


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
def commands() -> None:
    """Who said what, and when.

    Models and limits come from environment variables such as ASR_MODEL and DIARIZATION_MODEL, which README.md lists.
    Exit codes: 0 success, 1 a file failed, 2 wrong usage, 3 a model could not be loaded, 130 interrupted.
    """
    if not sys.warnoptions:  # python -W shows the libraries' warnings
        warnings.simplefilter("ignore")


@commands.command(short_help="Transcribe audio files.")
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@click.option("--diarize/--no-diarize", default=None, help="Say who speaks. Default: when a diarization model is set.")
@click.option("--words/--no-words", "word_timestamps", default=None, help="Give every word its time. Default: yes.")
@click.option("--language", metavar="L", help="Spoken language: en, english, pt-BR. Default: detected.")
@click.option("--task", type=click.Choice(["transcribe", "translate"]), help="Translation is into English.")
@click.option("--assisted", flag_value="true", help="Decode with the help of the assistant model.")
@click.option("--assisted-auto", "assisted", flag_value="auto", help="The same, only where one window holds it all.")
@click.option("--batch-size", type=int, metavar="N", help="Windows decoded at once.")
@click.option("--num-speakers", type=int, metavar="N", help="How many people speak, where that is known.")
@click.option("--min-speakers", type=int, metavar="N", help="At least so many people speak.")
@click.option("--max-speakers", type=int, metavar="N", help="At most so many people speak.")
@click.option("--prompt", metavar="TEXT", help="Text in the style that is wanted.")
@click.option("--hotwords", metavar="TEXT", help="Names and terms that are likely to be said.")
@click.option("--channels", type=click.Choice(["mix", "separate"]), help="Separate: each channel is one speaker.")
@click.option(
    "--parameter", "-p", "others", multiple=True, metavar="NAME=VALUE", help="Any other parameter README.md lists."
)
@click.option("--format", type=click.Choice(FORMATS), help="Default: the ending of --output, or else txt.")
@click.option("--output", "-o", type=click.Path(path_type=Path), help="File, or folder for files named as the inputs.")
@model_options
@click.pass_obj
def transcribe(
    loader: Loader,
    files: tuple[str, ...],
    others: tuple[str, ...],
    format: str | None,
    output: Path | None,
    **options: Any,
) -> int:
    """Transcribe audio files; the FILE - is standard input.

    A file that fails does not stop the others. An --output whose name has an ending is a file, else a folder.
    """
    format = format or _ending(output) or "txt"
    models = {name: options.pop(name) for name in ModelSettings.model_fields if name in options}
    config = _request({**_pairs(others), **_given(options), "format": format})
    paths = transcript_paths(files, output, format)
    settings = chosen_settings(models, diarize=bool(config.diarize), reply=config.reply)
    pipeline = load(loader, settings)
    failures = 0
    for file, path in zip(files, paths, strict=True):
        name = click.format_filename(file)
        started = perf_counter()
        try:
            audio = read_recording(file, settings.max_audio_bytes)
            with progress_bar(name) as progress:
                transcript = pipeline.transcribe(audio, config, progress)
            seconds = perf_counter() - started
            write_transcript(transcript, format, path, file=file, heading=len(files) > 1 and format == "txt")
        except BrokenPipeError:  # whoever read the results has had enough
            raise
        except (SpeechError, OSError) as error:
            tell(f"{name}: {sentence(error)}")
            failures += 1
            continue
        for warning in transcript.warnings:
            tell(f"{name}: {warning}")
        written = f", written to {click.format_filename(path)}" if path else ""
        tell(f"{name}: {speed(transcript.duration, seconds)}{written}")
    return FILE_FAILED if failures else SUCCESS


@commands.command(short_help="Transcribe a phone call and say who said what.")
@click.option(
    "--output", "-o", type=click.Path(path_type=Path), default="demo-output", show_default=True, help="Folder."
)
@click.pass_obj
def demo(loader: Loader, output: Path) -> None:
    """Transcribe a phone call of half a minute and say who said what.

    The first run fetches the starter models. The transcript, subtitles and a picture are left in the output folder.
    """
    from speech_pipeline.demo import run

    run(loader, output)


@commands.command("demo-reply", short_help="Ask a question aloud and hear the answer.")
@click.option(
    "--output", "-o", type=click.Path(path_type=Path), default="demo-output", show_default=True, help="Folder."
)
@click.pass_obj
def demo_reply(loader: Loader, output: Path) -> None:
    """Ask a question aloud, hear the answer, and transcribe it again as a check.

    The first run fetches the starter models. The question and the answer are left in the output folder.
    """
    from speech_pipeline.reply.demo import run

    run(loader, output)


@commands.command(short_help="Fetch models that need neither the Hub nor a token.")
@click.argument("directory", required=False, type=click.Path(path_type=Path))
@click.option("--chat", is_flag=True, help="The chat model as well.")
@click.option("--verify", is_flag=True, help="Check what is installed instead of fetching it.")
def starter(directory: Path | None, chat: bool, verify: bool) -> None:
    """Fetch the starter models, which need neither the Hub nor a token.

    They go to DIRECTORY, or else to STARTER_DIR, or else to the user's cache folder.
    """
    from speech_pipeline import starter

    directory = directory or ModelSettings.from_environment().starter_dir
    kinds = (*starter.DEFAULT_KINDS, "chat") if chat else starter.DEFAULT_KINDS
    with progress_bar("Starter models", announce=True) as progress:
        if verify:
            starter.verify(directory, kinds=kinds)
        else:
            starter.install(directory, kinds=kinds, progress=progress, thorough=True)
    click.echo(f"The starter models are complete: {click.format_filename(directory)}")


def _request(parameters: dict[str, Any]) -> InferenceConfig:
    try:
        return InferenceConfig.from_request(parameters)[0]
    except InvalidParameters as error:
        raise click.UsageError(error.message) from error


def _pairs(assignments: Sequence[str]) -> dict[str, str]:
    """``["num_beams=5"]`` as ``{"num_beams": "5"}``."""
    names = InferenceConfig.model_fields
    pairs = {name: value for name, _, value in (assignment.partition("=") for assignment in assignments)}
    for name in pairs:
        if name not in names:
            raise click.UsageError(f"{name!r} is not a parameter; the parameters are {', '.join(names)}.")
    return pairs


def _given(values: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value not in (None, "")}


def _ending(output: Path | None) -> str | None:
    """The format that a file's name asks for."""
    ending = "" if output is None else output.suffix.removeprefix(".").lower()
    return ending if ending in FORMATS else None


for command in (ask, serve, evaluate, bench, conversations):
    commands.add_command(command)
