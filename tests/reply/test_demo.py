"""The demonstration of replies with the starter models."""

import io
import re
from pathlib import Path

import pytest
import soundfile

from config import ModelSettings
from speech_pipeline.cli import main
from speech_pipeline.reply.demo import recovered_words


def test_it_prints_question_answer_and_times_and_writes_what_can_be_played(
    chat_starter_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("hibari")
    for name in ModelSettings.model_fields:
        monkeypatch.delenv(name.upper(), raising=False)
    monkeypatch.setenv("STARTER_DIR", str(chat_starter_dir))
    assert main(["demo-reply", "--output", str(tmp_path / "demo")]) == 0
    printed = capsys.readouterr().out
    assert re.search(r"Answered: .*Paris", printed)
    percent = re.search(r"heard again: \d+ of \d+ \((\d+)%\)", printed)
    assert percent is not None
    assert int(percent[1]) >= 85
    moments = [float(re.search(rf"{name} +([\d.]+) s", printed)[1]) for name in ("first audio", "total")]  # type: ignore[index]
    assert 0 < moments[0] <= moments[1]
    for name in ("question.wav", "answer.wav"):
        samples, rate = soundfile.read(io.BytesIO((tmp_path / "demo" / name).read_bytes()))
        assert len(samples) > rate


@pytest.mark.parametrize(
    ("written", "heard", "expected"),
    [
        ("It is **blue**.", "it is blue", (3, 3)),
        ("It costs $5.", "It costs five dollars", (4, 4)),
        ("One two three four.", "One too three", (2, 4)),
        ("One.", "", (0, 1)),
    ],
)
def test_recovered_words(written: str, heard: str, expected: tuple[int, int]) -> None:
    assert recovered_words(written, heard) == expected
