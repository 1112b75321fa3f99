"""A pyannote.audio pipeline, from the hub or from a folder, made into the diarization stage."""

import contextlib
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch
import yaml

from speech_pipeline.diarization import Diarizer
from speech_pipeline.diarization_fast import FastPipeline
from speech_pipeline.errors import InvalidSettings, ModelUnavailable, OutOfMemory, SpeechError
from speech_pipeline.pyannote_import import import_pyannote

DEFAULT_BATCH_SIZE = 32
"""Windows, and stretches of speech, that are computed at once where the configuration does not say; pyannote's is 1."""

CONFIG_FILE = "config.yaml"

_PARTS = ("segmentation", "embedding", "plda")
_FILES = "*.yaml", "*.bin", "*.npz", "*.onnx"
_GATED_PARTS = {
    "pyannote/speaker-diarization-3.0": ("pyannote/segmentation-3.0",),
    "pyannote/speaker-diarization-3.1": ("pyannote/segmentation-3.0",),
}
"""What a gated pipeline needs besides itself; its configuration cannot be read before it is unlocked."""
_WORDS_OF_OTHER_EMBEDDINGS = ("pyannote", "speechbrain", "nvidia")


def load_diarizer(model: str, *, token: str | None, device: torch.device, fast: bool = True) -> Diarizer:
    """Load a speaker diarization pipeline of the generations 3.x and community-1, and move it to ``device``.

    Nothing is connected to when ``model`` and all its parts are local; usage is never reported.

    Args:
        model: hub id, a folder with ``config.yaml``, or such a file. In its configuration, ``$model/`` and relative
            paths stand for files beside it.
        token: hub token for gated and private repositories.
        device: where the networks run.
        fast: embed each stretch of speech once, see :mod:`speech_pipeline.diarization_fast`; otherwise the pipeline
            runs as pyannote wrote it.

    Raises:
        InvalidSettings: ``model`` is no pipeline folder and no hub id, or a pipeline of another kind.
        ModelUnavailable: a part is missing, gated, damaged or cannot be reached.
        OutOfMemory: the networks do not fit on the device.
    """
    repositories: list[str] = []
    with _explained_errors(repositories):
        path = Path(model).expanduser()
        if not path.exists():
            repositories += [model, *_GATED_PARTS.get(model, ())]
            path = _download(model, token)
        file = path if path.is_file() else path / CONFIG_FILE
        config = _read(file)
        parameters = config["pipeline"].setdefault("params", {})
        _fill_in_paths(parameters, file.parent.resolve())
        repositories += [value for part in _PARTS if _is_hub_id(value := parameters.get(part))]
        pipeline = _build(config, token).to(device)
        # Oracle clustering, an aid of research, has no embeddings that could be saved.
        return Diarizer(FastPipeline(pipeline) if fast and hasattr(pipeline, "_embedding") else pipeline)


def _download(model: str, token: str | None) -> Path:
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import HFValidationError

    try:
        return Path(snapshot_download(model, allow_patterns=list(_FILES), token=token))
    except HFValidationError:
        raise InvalidSettings(
            "DIARIZATION_MODEL must be a hub id such as pyannote/speaker-diarization-community-1, or an existing "
            "folder that holds a pyannote.audio pipeline."
        ) from None


def _read(file: Path) -> dict[str, Any]:
    if not file.is_file():
        raise InvalidSettings(
            "What DIARIZATION_MODEL names must hold a pyannote.audio pipeline: a config.yaml, and the models that it "
            "refers to."
        )
    try:
        config = yaml.safe_load(file.read_text(encoding="utf-8"))
        name = config["pipeline"]["name"]
    except (yaml.YAMLError, UnicodeDecodeError, KeyError, TypeError):
        raise InvalidSettings(
            "The config.yaml of the diarization model must be YAML that describes a pyannote.audio pipeline."
        ) from None
    if str(name).rpartition(".")[2] != "SpeakerDiarization":
        raise InvalidSettings("DIARIZATION_MODEL must be a pyannote.audio pipeline of the kind SpeakerDiarization.")
    return dict(config)


def _fill_in_paths(parameters: dict[str, Any], folder: Path) -> None:
    """Replace what refers to files beside the configuration by absolute paths."""
    for part in _PARTS:
        value = parameters.get(part)
        if not isinstance(value, str):
            continue
        path = folder / value.removeprefix("$model/")
        if path.exists():
            parameters[part] = str(path)
            if part == "embedding":
                parameters[part] = _embedding_argument(path)
        elif value.startswith("$model/"):
            raise InvalidSettings(f"The diarization model lacks the {part} that its config.yaml names.")


def _embedding_argument(path: Path) -> str | dict[str, str]:
    """pyannote tells the kinds of embedding apart by words in a plain path; a dictionary is always its own kind."""
    if path.suffix != ".onnx":
        return {"checkpoint": str(path)}
    if "wespeaker" not in str(path) or any(word in str(path) for word in _WORDS_OF_OTHER_EMBEDDINGS):
        raise InvalidSettings(
            "The path of an ONNX speaker embedding must contain 'wespeaker' and none of "
            f"{', '.join(map(repr, _WORDS_OF_OTHER_EMBEDDINGS))}; move the folder of the diarization model."
        )
    return str(path)


def _is_hub_id(value: Any) -> bool:
    return isinstance(value, str) and value.count("/") == 1 and not value.startswith("/")


def _build(config: dict[str, Any], token: str | None) -> Any:
    pyannote_audio = import_pyannote()
    from pyannote.audio.core.plda import PLDA

    parameters = config["pipeline"]["params"]
    parameters.setdefault("segmentation_batch_size", DEFAULT_BATCH_SIZE)
    parameters.setdefault("embedding_batch_size", DEFAULT_BATCH_SIZE)
    if parameters.get("clustering", "VBxClustering") != "VBxClustering":
        # Only VBx uses a PLDA, but where none is given pyannote fetches one from a gated repository.
        parameters.setdefault("plda", PLDA.__new__(PLDA))
    config.pop("device", None)
    with contextlib.redirect_stdout(sys.stderr):  # pyannote prints advice, which would end up in a program's output.
        pipeline = pyannote_audio.Pipeline.from_pretrained(config, token=token)
    if pipeline is None:
        raise ModelUnavailable("The diarization model could not be loaded; set HF_TOKEN to a token that may read it.")
    return pipeline


@contextlib.contextmanager
def _explained_errors(repositories: list[str]) -> Iterator[None]:
    """Turn what goes wrong while loading into an error that says what to do.

    Args:
        repositories: hub repositories the model is made of; the block adds those it comes to know.
    """
    from huggingface_hub.errors import (
        EntryNotFoundError,
        GatedRepoError,
        HfHubHTTPError,
        LocalEntryNotFoundError,
        OfflineModeIsEnabled,
        RepositoryNotFoundError,
    )

    def model() -> str:
        return f"The diarization model ({' with '.join(dict.fromkeys(repositories))})"

    try:
        yield
    except SpeechError:
        raise
    except GatedRepoError as error:
        raise ModelUnavailable(
            f"{model()} is gated: accept the conditions on the page of each of these repositories on "
            "huggingface.co, and set HF_TOKEN to a token of the account that accepted them."
        ) from error
    except RepositoryNotFoundError as error:
        raise ModelUnavailable(
            f"{model()} was not found on the hub: set DIARIZATION_MODEL to an existing pipeline or folder, and "
            "HF_TOKEN to a token that may read it if it is private."
        ) from error
    except (LocalEntryNotFoundError, OfflineModeIsEnabled) as error:
        raise ModelUnavailable(
            f"{model()} is not in the local cache and the hub cannot be reached: allow the connection, or set "
            "DIARIZATION_MODEL to a folder."
        ) from error
    except (EntryNotFoundError, HfHubHTTPError) as error:
        raise ModelUnavailable(
            f"{model()} could not be fetched from the hub: check that it is a pyannote.audio pipeline and that "
            "HF_TOKEN is valid, or try again later."
        ) from error
    except (torch.OutOfMemoryError, MemoryError) as error:
        raise OutOfMemory("The diarization model does not fit in the memory of the device.") from error
    except Exception as error:
        # Reading a third party's files and building networks from them can fail in any way.
        raise ModelUnavailable(
            "The diarization model could not be loaded: its files must be complete and made for pyannote.audio 3 or 4."
        ) from error
