"""The command line with a scripted pipeline in place of real models, in a folder of its own."""

from pathlib import Path
from typing import Generic, Protocol, TypeVar

import pytest

from config import InferenceConfig, ModelSettings
from speech_pipeline.cli import main
from speech_pipeline.progress import Progress


class Scripted(Protocol):
    """What every scripted pipeline remembers: how it was loaded, and what it was asked."""

    settings: ModelSettings | None

    @property
    def requests(self) -> list[tuple[object, InferenceConfig]]: ...


Pipeline = TypeVar("Pipeline", bound=Scripted)


class ScriptedTerminal(Generic[Pipeline]):
    """Runs commands with one scripted pipeline, from an empty folder and without any settings in the environment."""

    def __init__(
        self,
        pipeline: Pipeline,
        capsys: pytest.CaptureFixture[str],
        folder: Path,
        monkeypatch: pytest.MonkeyPatch,
        command: tuple[str, ...] = (),
    ) -> None:
        """Move to a folder.

        Args:
            pipeline: what every command works with.
            capsys: reads what is printed.
            folder: where commands run.
            monkeypatch: undoes the move.
            command: what every command line begins with.
        """
        monkeypatch.chdir(folder)
        for name in ModelSettings.model_fields:
            monkeypatch.delenv(name.upper(), raising=False)
        self.pipeline = pipeline
        self._capsys = capsys
        self._command = command

    def run(self, *arguments: str) -> tuple[int, str, str]:
        """Exit code, standard output, standard error."""

        def load(settings: ModelSettings, progress: Progress) -> Pipeline:
            progress("recognition", 1.0)
            self.pipeline.settings = settings
            return self.pipeline

        code = main((*self._command, *arguments), load=load)  # type: ignore[arg-type]
        return code, *self._capsys.readouterr()

    @property
    def config(self) -> InferenceConfig:
        """What the last request asked for."""
        return self.pipeline.requests[-1][1]
