"""What goes wrong while a model of ``transformers`` is loaded, as a sentence that says what would be right."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from speech_pipeline.errors import ModelUnavailable, OutOfMemory, SpeechError
from speech_pipeline.memory import is_out_of_memory


@contextmanager
def explained_errors(model: str, setting: str, *, kind: str, files: str) -> Iterator[None]:
    """Turn every error of the block into one for the person who deploys.

    Args:
        model: hub id or folder; it is named where it is no path.
        setting: the environment variable that names it.
        kind: what it should be: ``a Whisper model``.
        files: what a folder must hold: ``config.json and model.safetensors``.

    Raises:
        ModelUnavailable: the model is missing, gated, damaged, of another kind, or cannot be reached.
        OutOfMemory: it does not fit in memory.
        SpeechError: what the block raises itself.
    """
    try:
        yield
    except SpeechError:
        raise
    # The libraries raise errors of all kinds over damaged files, Exception itself among them.
    except Exception as error:
        raise _explained(error, model, setting, kind, files) from error


def _explained(error: Exception, model: str, setting: str, kind: str, files: str) -> SpeechError:
    from huggingface_hub.errors import (
        GatedRepoError,
        HFValidationError,
        LocalEntryNotFoundError,
        RepositoryNotFoundError,
    )

    name = setting if Path(model).is_absolute() else f"{setting} ({model[:100]})"
    if _is_due_to(error, GatedRepoError):
        return ModelUnavailable(
            f"{name} is gated: accept its conditions on its page on the hub, and set HF_TOKEN to a token of the "
            "account that did."
        )
    if _is_due_to(error, RepositoryNotFoundError, HFValidationError):
        return ModelUnavailable(f"{name} was not found: check the name, and set HF_TOKEN if the repository is private.")
    if is_out_of_memory(error):
        return OutOfMemory(f"{name} does not fit in memory; use a smaller model or a larger machine.")
    if is_folder(model):
        return ModelUnavailable(f"{name} could not be loaded: the folder must hold {files}, all undamaged.")
    if _is_due_to(error, LocalEntryNotFoundError, ConnectionError):
        return ModelUnavailable(f"{name} is not on this machine and the hub cannot be reached.")
    return ModelUnavailable(
        f"{name} could not be loaded: it is not on this machine and the hub cannot be reached, or its files are not "
        f"those of {kind}."
    )


def is_folder(model: str) -> bool:
    """Whether the name of a model is a folder on this machine."""
    try:
        return Path(model).is_dir()
    except OSError:  # longer than a file name may be
        return False


def _is_due_to(error: BaseException | None, *kinds: type[BaseException]) -> bool:
    """Whether an error of one of the kinds is in the chain of causes; transformers turns hub errors into OSError."""
    while error is not None and not isinstance(error, kinds):
        error = error.__cause__ or error.__context__
    return error is not None
