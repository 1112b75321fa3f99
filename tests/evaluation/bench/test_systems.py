"""The list of systems, and that the others are kept out of everything else."""

import ast
from pathlib import Path

import pytest

import speech_pipeline
from speech_pipeline.errors import InvalidParameters
from speech_pipeline.evaluation.bench.peers import chosen_contenders, own_name
from speech_pipeline.evaluation.bench.systems import CONTENDERS, Contender, Options

PEERS = {"faster_whisper", "ctranslate2", "whisper", "whisperx", "senko"}
"""Modules that only the benchmark may import."""

PACKAGE = Path(speech_pipeline.__file__).parent


def _imported(file: Path) -> set[str]:
    """First names of all modules that a file imports, anywhere in it."""
    modules: set[str] = set()
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            modules |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            modules.add(str(node.module).partition(".")[0])
    return modules


def test_other_systems_are_imported_by_the_benchmark_alone() -> None:
    importers = {file.relative_to(PACKAGE) for file in PACKAGE.rglob("*.py") if _imported(file) & PEERS}
    assert importers
    assert {file.parent for file in importers} == {Path("evaluation/bench")}
    for file in PACKAGE.parent.glob("*.py"):
        assert not _imported(file) & PEERS


def test_each_task_has_one_system_of_this_repository_and_it_comes_first() -> None:
    assert len({contender.name for contender in CONTENDERS}) == len(CONTENDERS)
    for task in dict.fromkeys(contender.task for contender in CONTENDERS):
        ours = [contender.package is None for contender in CONTENDERS if contender.task == task]
        assert ours == [True, *[False] * (len(ours) - 1)]
        assert own_name(task).startswith("speech_pipeline")


def test_systems_are_chosen_by_pattern() -> None:
    assert chosen_contenders(()) == list(CONTENDERS)
    names = [contender.name for contender in chosen_contenders(("speech_pipeline", "* int8"))]
    assert names == ["speech_pipeline", "faster-whisper batched int8", "faster-whisper sequential int8"]
    with pytest.raises(InvalidParameters, match="openai-whisper"):
        chosen_contenders(("nobody",))


def test_a_loader_that_does_not_exist_is_no_missing_package() -> None:
    with pytest.raises(AttributeError):
        Contender("x", "recognition", "systems:nothing").load(Options("", "en", 1))
