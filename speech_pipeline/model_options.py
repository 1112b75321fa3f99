"""Options of the commands that load models, and the exit codes of all commands."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar, get_args

import click

from config import NO_MODEL, STARTER, ModelSettings
from speech_pipeline.console import progress_bar
from speech_pipeline.errors import ModelUnavailable
from speech_pipeline.progress import Progress

if TYPE_CHECKING:
    from speech_pipeline.pipeline import SpeechPipeline

Loader = Callable[[ModelSettings, Progress], "SpeechPipeline"]
"""Loads the models that the settings name."""

SUCCESS = 0
FILE_FAILED = 1
WRONG_USAGE = 2
MODEL_UNAVAILABLE = 3
INTERRUPTED = 130

DTYPES = get_args(ModelSettings.model_fields["dtype"].annotation)

Command = TypeVar("Command", bound=Callable[..., Any])

_OPTIONS = (
    click.option(
        "--model", "asr_model", metavar="ID", help=f"Whisper model: Hub id, folder or {STARTER}; instead of ASR_MODEL."
    ),
    click.option("--assistant", "assistant_model", metavar="ID", help="Assistant model, instead of ASSISTANT_MODEL."),
    click.option("--diarization-model", metavar="ID", help="Diarization model, instead of DIARIZATION_MODEL."),
    click.option("--device", metavar="D", help="auto, cpu, cuda, cuda:1 or mps; instead of DEVICE."),
    click.option("--dtype", type=click.Choice(DTYPES), help="Precision of Whisper, instead of DTYPE."),
)


def model_options(command: Command) -> Command:
    """Add the options that say which models are loaded; their names are those of the settings."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def chosen_settings(options: dict[str, Any], *, diarize: bool, reply: bool = False) -> ModelSettings:
    """The settings of the environment with the options put in their place.

    Args:
        options: values of :func:`model_options`, None where not given.
        diarize: whether the starter diarization model comes with the starter Whisper model, where none is set.
        reply: whether the starter models for replies do; without it no models for replies are loaded.

    Raises:
        InvalidSettings: a variable has a value of the wrong kind.
    """
    given = {name: value for name, value in options.items() if value not in (None, "")}
    settings = ModelSettings.from_environment().model_copy(update=given)
    if diarize and given.get("asr_model") == STARTER and not settings.diarization_model:
        settings = settings.model_copy(update={"diarization_model": STARTER})
    if not reply:
        return settings.model_copy(update={"lm_model": None, "lm_base_url": None, "tts_model": None})
    if given.get("asr_model") == STARTER:
        unset = {name: STARTER for name in ("lm_model", "tts_model") if getattr(settings, name) is None}
        settings = settings.model_copy(update=unset)
    return settings


def load(loader: Loader, settings: ModelSettings) -> "SpeechPipeline":
    """Load the models with a progress bar.

    Raises:
        SpeechError: what the loader raises; a model that is not available names the starter models.
    """
    try:
        with progress_bar("Models") as progress:
            return loader(settings, progress)
    except ModelUnavailable as error:
        if settings.asr_model in (STARTER, NO_MODEL) and settings.lm_model in (STARTER, None):
            raise
        hint = f"Where the Hub cannot be reached, --model {STARTER} takes models that need neither it nor a token."
        raise ModelUnavailable(f"{error.message} {hint}") from error
