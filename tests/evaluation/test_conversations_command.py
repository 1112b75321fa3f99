from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from speech_pipeline.evaluation.conversations_command import conversations
from speech_pipeline.evaluation.manifest import load_manifest


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(conversations, [str(argument) for argument in arguments])


def test_conversations_are_made_of_the_recordings_of_a_folder(tmp_path: Path, shared_data: Path) -> None:
    result = run("--data", shared_data, "--output", tmp_path / "made", "--count", 2, "--minutes", 1, "--speakers", 3)

    assert result.exit_code == 0, result.output
    assert [recording.num_speakers for recording in load_manifest(tmp_path / "made")] == [3, 3]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--language", "klingon"], "--language must be a language"),
        (["--overlap", "2"], "overlap_share must be from 0 to 0.3"),
        (["--minutes", "0"], "duration_s must be above 0"),
        (["--count", "0"], "--count"),
    ],
)
def test_wrong_options_are_wrong_usage(tmp_path: Path, arguments: list[str], message: str) -> None:
    result = run("--data", tmp_path, "--output", tmp_path / "made", *arguments)

    assert result.exit_code == 2
    assert message in result.output


def test_the_manifest_of_the_recordings_is_never_replaced(tmp_path: Path) -> None:
    result = run("--data", tmp_path, "--output", tmp_path)

    assert result.exit_code == 2
    assert "another folder" in result.output
