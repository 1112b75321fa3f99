"""``evaluate`` with a scripted pipeline: what is asked, what is printed and written, and the exit codes."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from config import InferenceConfig, ModelSettings
from speech_pipeline.cli import main
from speech_pipeline.errors import InvalidAudio, ModelUnavailable
from speech_pipeline.progress import Progress, no_progress
from speech_pipeline.transcript import Segment, Transcript
from tests.evaluation import worked_example
from tests.synthetic_audio import encode, tone


class ScriptedPipeline:
    """Has a transcript for each recording; samples, of which the language is detected, are English."""

    def __init__(self, transcripts: Mapping[bytes, Transcript]) -> None:
        self.transcripts = transcripts
        self.settings: ModelSettings | None = None
        self.requests: list[InferenceConfig] = []
        self.detections: list[InferenceConfig] = []

    def transcribe(self, inputs: object, config: InferenceConfig, progress: Progress = no_progress) -> Transcript:
        if isinstance(inputs, dict):
            self.detections.append(config)
            return Transcript(language="en")
        self.requests.append(config)
        assert isinstance(inputs, bytes)
        if inputs not in self.transcripts:
            raise InvalidAudio("The bytes are not audio; send a wav file.")
        progress("recognition", 1.0)
        return self.transcripts[inputs]


class Bench:
    """A folder with a manifest, and the command run on it."""

    def __init__(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.folder = folder
        self.pipeline = ScriptedPipeline({})
        self._entries: list[dict[str, Any]] = []
        self._transcripts: dict[bytes, Transcript] = {}
        self._capsys = capsys

    def add(self, entry: dict[str, Any], transcript: Transcript | None) -> None:
        """Add a recording; one without a transcript fails."""
        audio = encode(tone(0.1, frequency=200 + 50 * len(self._entries)))
        (self.folder / entry["file"]).write_bytes(audio)
        self._entries.append(entry)
        if transcript is not None:
            self._transcripts[audio] = transcript

    def run(self, *arguments: str) -> tuple[int, str, str]:
        """Exit code, standard output, standard error."""
        (self.folder / "manifest.json").write_text(json.dumps(self._entries))
        self.pipeline = ScriptedPipeline(self._transcripts)

        def load(settings: ModelSettings, progress: Progress) -> ScriptedPipeline:
            self.pipeline.settings = settings
            return self.pipeline

        code = main(["evaluate", "--data", str(self.folder), *arguments], load=load)  # type: ignore[arg-type]
        return code, *self._capsys.readouterr()


@pytest.fixture
def bench(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Bench:
    for name in ModelSettings.model_fields:
        monkeypatch.delenv(name.upper(), raising=False)
    return Bench(tmp_path, capsys)


def call_entry(folder: Path) -> dict[str, Any]:
    """The worked example as an entry of a manifest."""
    recording = worked_example.recording()
    assert recording.turns is not None
    (folder / "call.rttm").write_text(
        "".join(
            f"SPEAKER call 1 {turn.start} {turn.duration} <NA> <NA> {turn.speaker} <NA> <NA>\n"
            for turn in recording.turns
        )
    )
    return {
        "file": "call.wav",
        "language": "en",
        "text": recording.text,
        "words": [word.model_dump(exclude_none=True) for word in recording.words],
        "rttm": "call.rttm",
    }


def says(text: str, language: str | None) -> Transcript:
    return Transcript((Segment(f" {text}", 0.0, 1.0, language=language),), language=language, duration=1.0)


def test_table_of_the_worked_example(bench: Bench) -> None:
    bench.add(call_entry(bench.folder), worked_example.transcript())
    code, out, err = bench.run()
    assert code == 0
    for figure in ("30.0 %", "22.2 %", "50.0 %", "70.0 %", "5.6 %", "11.1 %", "0.050 s", "0.330 s"):
        assert figure in out
    assert "call.wav: 10.0 s of audio" in err
    assert "Traceback" not in err


def test_json_has_the_counts_and_the_total_is_their_sum(bench: Bench, tmp_path: Path) -> None:
    bench.add(call_entry(bench.folder), worked_example.transcript())
    bench.add({"file": "hello.wav", "language": "de", "text": "Guten Morgen allerseits hier"}, says("Guten Tag", "de"))
    bench.add({"file": "silence.wav", "language": None, "text": ""}, says("Thanks for watching", "en"))
    code, _, _ = bench.run("--json", str(tmp_path / "out" / "figures.json"))
    figures = json.loads((tmp_path / "out" / "figures.json").read_text())
    assert code == 0
    call, hello, silence = figures["files"]
    assert call["wer"] == pytest.approx(0.3)
    assert call["cpwer"] == pytest.approx(0.5)
    assert call["der"] == pytest.approx(2 / 9)
    assert call["diarization_seconds"] == {"missed": 0.5, "false_alarm": 0.5, "confusion": 1.0, "reference": 9.0}
    assert call["word_speaker_accuracy"] == pytest.approx(0.7)
    assert hello["word_errors"] == {"substitutions": 1, "deletions": 2, "insertions": 0, "reference": 4}
    assert hello["der"] is None
    assert silence["wer"] is None
    assert silence["word_errors"]["insertions"] == 3
    total = figures["total"]
    assert total["wer"] == pytest.approx((3 + 3 + 3) / (10 + 4))
    assert total["der"] == pytest.approx(2 / 9)
    assert total["audio_seconds"] == 12.0
    assert total["rtfx"] > 0
    assert total["peak_memory_mb"] >= max(file["peak_memory_mb"] for file in figures["files"]) > 0


def test_given_language_is_told_and_detected_aside(bench: Bench, tmp_path: Path) -> None:
    bench.add({"file": "a.wav", "language": "German", "text": "Guten Tag"}, says("Guten Tag", "de"))
    bench.add({"file": "b.wav", "language": "en", "text": "Hello"}, says("Hello", "en"))
    bench.add({"file": "c.wav", "language": "en,de"}, says("Hello", "de"))
    bench.add({"file": "d.wav"}, says("Hello", "en"))
    _, out, _ = bench.run("--json", str(tmp_path / "figures.json"))
    assert [request.language for request in bench.pipeline.requests] == ["de", "en", None, None]
    assert [request.language for request in bench.pipeline.detections] == [None, None]
    figures = json.loads((tmp_path / "figures.json").read_text())
    # a is heard as English beside what is told; c has one of its languages; nobody knows that of d
    assert [file["language_accuracy"] for file in figures["files"]] == [0.0, 1.0, 1.0, None]
    assert figures["total"]["language_accuracy"] == pytest.approx(2 / 3)
    assert "de (heard en)" in out


def test_detected_language_is_that_of_the_transcript(bench: Bench, tmp_path: Path) -> None:
    bench.add({"file": "a.wav", "language": "de", "text": "Guten Tag"}, says("Guten Tag", "nl"))
    bench.run("--language", "auto", "--json", str(tmp_path / "figures.json"))
    assert [request.language for request in bench.pipeline.requests] == [None]
    assert bench.pipeline.detections == []
    (file,) = json.loads((tmp_path / "figures.json").read_text())["files"]
    assert (file["detected_language"], file["language_accuracy"]) == ("nl", 0.0)


def test_channels_and_hotwords_are_part_of_the_request(bench: Bench) -> None:
    bench.add({"file": "a.wav", "channels": ["yes", "no"], "hotwords": ["Ann", "Bob"]}, says("yes", "en"))
    bench.run()
    (request,) = bench.pipeline.requests
    assert (request.channels, request.hotwords) == ("separate", "Ann Bob")


def test_number_of_speakers_is_not_told(bench: Bench) -> None:
    bench.add({"file": "a.wav", "text": "yes", "num_speakers": 2}, says("yes", "en"))
    bench.run()
    assert bench.pipeline.requests[0].num_speakers is None


def test_a_recording_that_fails_does_not_stop_the_others(bench: Bench, tmp_path: Path) -> None:
    bench.add({"file": "broken.wav", "text": "yes"}, None)
    bench.add({"file": "good.wav", "text": "yes"}, says("yes", "en"))
    code, out, err = bench.run("--json", str(tmp_path / "figures.json"))
    assert code == 1
    assert "good.wav" in out
    assert "broken.wav: The bytes are not audio; send a wav file. [invalid_audio]" in err
    figures = json.loads((tmp_path / "figures.json").read_text())
    assert [file["file"] for file in figures["files"]] == ["good.wav"]
    assert [file["file"] for file in figures["failed"]] == ["broken.wav"]


def test_nothing_but_failures(bench: Bench, tmp_path: Path) -> None:
    bench.add({"file": "broken.wav", "text": "yes"}, None)
    code, out, _ = bench.run("--json", str(tmp_path / "figures.json"), "--html", str(tmp_path / "page.html"))
    assert (code, out) == (1, "")
    assert json.loads((tmp_path / "figures.json").read_text())["total"]["wer"] is None


def test_columns_without_a_figure_are_left_out(bench: Bench) -> None:
    bench.add({"file": "a.wav", "text": "yes"}, says("yes", "en"))
    _, out, _ = bench.run()
    assert "WER" in out
    assert "DER" not in out
    assert "start median" not in out


def test_models_are_those_of_the_options(bench: Bench) -> None:
    bench.add({"file": "a.wav"}, says("yes", "en"))
    bench.run("--model", "starter")
    assert bench.pipeline.settings is not None
    assert (bench.pipeline.settings.asr_model, bench.pipeline.settings.diarization_model) == ("starter", "starter")
    bench.run("--model", "my/whisper", "--diarization-model", "my/pyannote")
    assert (bench.pipeline.settings.asr_model, bench.pipeline.settings.diarization_model) == (
        "my/whisper",
        "my/pyannote",
    )


def test_wrong_manifest_is_wrong_usage(bench: Bench) -> None:
    code, out, err = bench.run()
    assert (code, out) == (2, "")
    assert "one at least. [invalid_manifest]" in err


def test_missing_folder_is_wrong_usage(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["evaluate", "--data", "/nowhere/at/all"]) == 2
    assert "does not exist" in capsys.readouterr().err


def test_missing_model(bench: Bench, capsys: pytest.CaptureFixture[str]) -> None:
    bench.add({"file": "a.wav"}, None)
    bench.run()

    def load(settings: ModelSettings, progress: Progress) -> ScriptedPipeline:
        raise ModelUnavailable("The model is not there.")

    code = main(["evaluate", "--data", str(bench.folder)], load=load)  # type: ignore[arg-type]
    assert code == 3
    assert "--model starter" in capsys.readouterr().err


def test_file_that_cannot_be_written_comes_after_the_table(bench: Bench) -> None:
    bench.add({"file": "a.wav", "text": "yes"}, says("yes", "en"))
    code, out, err = bench.run("--json", str(bench.folder / "a.wav" / "figures.json"))
    assert code == 1
    assert "a.wav" in out
    assert "Could not open file" in err


def test_missing_libraries_are_named(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("speech_pipeline.evaluation.evaluate_command.LIBRARIES", ("json", "no_such_library"))
    code, _, err = bench.run()
    assert code == 2
    assert "evaluate needs no_such_library: pip install -r requirements/evaluation.txt" in err


def test_without_a_folder_the_phone_call_is_evaluated(
    sample_call: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    pipeline = ScriptedPipeline({sample_call.read_bytes(): says("Hello", "en")})
    assert main(["evaluate"], load=lambda settings, progress: pipeline) == 0  # type: ignore[arg-type, return-value]
    assert sample_call.name in capsys.readouterr().out
