"""``bench`` from the command line, against an endpoint on loopback."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from speech_pipeline.cli import main
from speech_pipeline.errors import AssistantUnavailable
from speech_pipeline.evaluation.bench_command import bench
from tests.host.server import serve
from tests.host.toolkit_app import create_app_for


def _run(*arguments: str) -> Result:
    return CliRunner().invoke(bench, arguments)


@pytest.fixture
def url(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """An endpoint without an assistant."""
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")

    def handler(body: dict[str, Any]) -> dict[str, Any]:
        if body["parameters"].get("assisted"):
            raise AssistantUnavailable("assisted needs an assistant model")
        assert body["parameters"]["language"] == "en"
        return {"text": "hello", "timings": {"voice_activity": 0.001, "recognition": 0.002, "total": 0.003}}

    with serve(create_app_for(handler)) as address:
        yield address


def test_an_endpoint_is_measured_and_priced(url: str, tmp_path: Path) -> None:
    file = tmp_path / "bench.json"
    arguments = ("--url", url, "--requests", "3", "--minutes", "0.5", "--price-per-hour", "0.5", "--json", str(file))
    done = _run(*arguments)
    assert done.exit_code == 0, done.output
    results = json.loads(file.read_text(encoding="utf-8"))
    assert [(row["request"], row["assisted"]) for row in results["latency"]] == [("short", False), ("long", False)]
    assert results["throughput"][0]["audio_s"] == 30
    costs = {row["instance"]: row["cost_per_audio_hour"] for row in results["cost"]}
    assert costs["the measured machine"] == pytest.approx(0.5 / results["throughput"][0]["rtfx"])
    for expected in ("| short, not assisted |", "not the work of a model", "0.5 min", "aws intel-spr x2"):
        assert expected in done.stdout
    assert "hello" not in done.output


@pytest.mark.parametrize(
    "arguments",
    [
        ("--minutes", "0"),
        ("--minutes", "1,x"),
        ("--minutes", "nan"),
        ("--minutes", ""),
        ("--requests", "0"),
        ("--price-per-hour", "0"),
        ("--peers", "--url", "http://127.0.0.1:9"),
        ("--peers", "--only", "nobody"),
        ("--peers", "--minutes", "1,10"),
        ("--data", "no such folder"),
    ],
)
def test_what_makes_no_sense_is_wrong_usage(arguments: tuple[str, ...]) -> None:
    done = _run(*arguments)
    assert done.exit_code == 2
    assert "Error" in done.output
    assert "Traceback" not in done.output


def test_help_names_what_is_needed() -> None:
    done = _run("--help")
    assert done.exit_code == 0
    for option in ("--peers", "--url", "--minutes", "--price-per-hour", "--conversations", "--threads"):
        assert option in done.output


def test_this_machine_is_measured_with_real_models(
    starter_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("speech_pipeline.evaluation.bench.material.LONG_S", 12.0)  # a minute takes too long for a test
    file = tmp_path / "results" / "bench.json"
    arguments = ("--model", "starter", "--requests", "1", "--minutes", "0.2", "--no-words", "--json", str(file))
    assert main(["bench", *arguments]) == 0
    results = json.loads(file.read_text(encoding="utf-8"))
    assert {row["request"] for row in results["latency"]} == {"short", "long"}
    assert results["latency"][0]["stages"]["voice_activity"] > 0
    (row,) = results["throughput"]
    assert row["rtfx"] > 0.1
    assert row["peak_memory_mb"] > 200
    assert results["machine"]["cores"] >= 1
