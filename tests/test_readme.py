"""What README.md says agrees with the code."""

import json
import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_type_hints

import click
import pytest
import yaml
from openai.types.audio import TranslationCreateParams
from openai.types.audio.transcription_create_params import TranscriptionCreateParamsStreaming
from pydantic_settings import BaseSettings

from config import InferenceConfig, ModelSettings, ServerSettings
from speech_pipeline.cli import commands
from speech_pipeline.errors import SpeechError
from speech_pipeline.evaluation.manifest import Entry
from speech_pipeline.transcript import Reply, ReplyAudio, Transcript

REPOSITORY = Path(__file__).resolve().parent.parent
README = (REPOSITORY / "README.md").read_text(encoding="utf-8")


def section(title: str) -> str:
    """The text under a heading of the second level."""
    match = re.search(rf"^## {title}\n(.*?)(?=^## |\Z)", README, re.MULTILINE | re.DOTALL)
    assert match is not None, f"README.md has no section {title}"
    return match[1]


def table(title: str) -> dict[str, list[str]]:
    """The first table of a section: the name in each row's first cell, and the row's other cells."""
    rows = re.findall(r"^\| `(\w+)` \| (.*) \|$", section(title), re.MULTILINE)
    assert len(rows) == len(dict(rows)), f"a row of {title} is there twice"
    return {name: rest.split(" | ") for name, rest in rows}


def code(language: str, text: str = README) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", text, re.MULTILINE | re.DOTALL)


def error_codes(kind: type[SpeechError] = SpeechError) -> Iterator[str]:
    yield kind.code
    for derived in kind.__subclasses__():
        yield from error_codes(derived)


def test_header_is_a_model_card() -> None:
    header = yaml.safe_load(README.split("---\n")[1])
    assert header["license"] == "apache-2.0"
    assert header["pipeline_tag"] == "automatic-speech-recognition"
    assert "endpoints-template" in header["tags"]


def test_every_parameter_is_there_with_its_default() -> None:
    expected = {name: f"`{json.dumps(field.default)}`" for name, field in InferenceConfig.model_fields.items()}
    assert {name: cells[0] for name, cells in table("Parameters").items()} == expected


@pytest.mark.parametrize(("settings", "title"), [(ModelSettings, "Deploy"), (ServerSettings, "Server")])
def test_every_setting_is_there_with_its_default(settings: type[BaseSettings], title: str) -> None:
    def shown(default: Any) -> str:
        if isinstance(default, bool):
            return f"`{json.dumps(default)}`"
        return (
            "unset" if default in (None, ()) else f"`{default:.0f}`" if isinstance(default, float) else f"`{default}`"
        )

    expected = {
        name.upper(): shown(field.default) if field.default_factory is None else "user's cache folder"
        for name, field in settings.model_fields.items()
    }
    assert {name: cells[0] for name, cells in table(title).items()} == expected


def test_every_field_of_openai_is_there_with_a_test_that_exists() -> None:
    fields = {*get_type_hints(TranscriptionCreateParamsStreaming), *get_type_hints(TranslationCreateParams)}
    assert set(table("OpenAI API")) == fields - {"known_speaker_references"}
    tests = (REPOSITORY / "tests" / "server" / "test_openai_transcriptions.py").read_text(encoding="utf-8")
    for *_, test in table("OpenAI API").values():
        assert f"def {test.strip('`')}(" in tests


def test_every_error_code_is_there() -> None:
    assert set(table("Errors")) == set(error_codes())


def test_every_key_of_a_manifest_is_there() -> None:
    assert set(table("Accuracy")) == set(Entry.model_fields)


def test_response_is_the_one_that_is_sent() -> None:
    response = Transcript(formatted="", reply=Reply()).to_response()
    (example,) = code("json", section("Response"))
    assert set(table("Response")) == set(response)
    assert set(json.loads(example)) == set(response) - {"formatted", "reply"}


def test_reply_is_the_one_that_is_sent() -> None:
    audio = ReplyAudio(data=b"", format="wav", sampling_rate=1, duration=0.0)
    reply = Reply(audio=audio).to_json()
    assert set(table("Replies")) == set(reply)
    assert all(f"`{key}`" in table("Replies")["audio"][0] for key in reply["audio"])


@pytest.mark.parametrize("source", code("python"))
def test_python_compiles(source: str) -> None:
    compile(source, "README.md", "exec")


@pytest.mark.parametrize(
    "line", [line for block in code("bash") for line in block.splitlines() if "speech_pipeline" in line]
)
def test_command_lines_are_understood(line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for folder in ("DIR", "conversations"):
        (tmp_path / folder).mkdir()
    _, _, _, name, *arguments = shlex.split(line.partition("<")[0], comments=True)
    command = commands.get_command(click.Context(commands), name)
    assert command is not None
    command.make_context(name, arguments)


def test_every_option_of_made_conversations_is_there_with_its_default() -> None:
    command = commands.get_command(click.Context(commands), "conversations")
    assert command is not None
    options = {option.opts[0]: option for option in command.params if isinstance(option, click.Option)}
    rows = dict(re.findall(r"^\| `(--[\w-]+)` \| ([^|]+) \|", README, re.MULTILINE))
    assert set(rows) == set(options) - {"--data", "--output"}
    for name, shown in rows.items():
        default = options[name].to_info_dict()["default"]
        assert shown == str(default) or not isinstance(default, int)


def test_make_targets_exist() -> None:
    makefile = (REPOSITORY / "Makefile").read_text(encoding="utf-8")
    targets = set(re.findall(r"^([a-z-]+):", makefile, re.MULTILINE))
    mentioned = set(re.findall(r"(?:^|`)make ([a-z-]+)", README, re.MULTILINE))
    assert mentioned
    assert mentioned <= targets


@pytest.mark.parametrize("path", ["requirements.txt", *sorted(p.name for p in (REPOSITORY / "requirements").iterdir())])
def test_requirements_are_pinned(path: str) -> None:
    file = REPOSITORY / path if path == "requirements.txt" else REPOSITORY / "requirements" / path
    for line in file.read_text(encoding="utf-8").splitlines():
        requirement = line.partition("#")[0].strip()
        assert not requirement or requirement.startswith("-r ") or re.fullmatch(r"[\w.-]+==[\w.]+", requirement), line
