"""The command line with scripted models: what is asked of the pipeline, where results go, and the exit codes."""

import io
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from config import InferenceConfig, ModelSettings
from speech_pipeline.cli import main
from speech_pipeline.errors import InvalidAudio, InvalidSettings, ModelMismatch, ModelUnavailable, SpeechError
from speech_pipeline.progress import Progress, no_progress
from speech_pipeline.transcript import Segment, SpeakerTurn, Transcript, Word
from tests.scripted_terminal import ScriptedTerminal

REPOSITORY = Path(__file__).resolve().parent.parent


class ScriptedPipeline:
    """Says what the bytes it is given say, and remembers what it was asked."""

    def __init__(self) -> None:
        self.settings: ModelSettings | None = None
        self.requests: list[tuple[object, InferenceConfig]] = []

    def transcribe(self, inputs: object, config: InferenceConfig, progress: Progress = no_progress) -> Transcript:
        assert isinstance(inputs, bytes)
        self.requests.append((inputs, config))
        progress("recognition", 0.5)
        if inputs == b"interrupt":
            raise KeyboardInterrupt
        if not inputs.startswith(b"says "):
            raise InvalidAudio("The bytes are not audio; send a wav file.")
        progress("recognition", 1.0)
        text = " " + inputs.decode().removeprefix("says ")
        words = (Word(text, 0.0, 1.0, speaker="SPEAKER_00"),)
        segment = Segment(text, 0.0, 1.0, words=words, speaker="SPEAKER_00", language="en")
        return Transcript(
            segments=(segment,),
            speaker_segments=(segment,),
            turns=(SpeakerTurn("SPEAKER_00", 0.0, 1.0),),
            language="en",
            duration=2.0,
            warnings=("A warning.",),
            timings={"recognition": 0.1},
        )


Terminal = ScriptedTerminal[ScriptedPipeline]


@pytest.fixture
def terminal(capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Terminal:
    terminal = Terminal(ScriptedPipeline(), capsys, tmp_path, monkeypatch)
    Path("call.wav").write_bytes(b"says hello there")
    Path("meeting.wav").write_bytes(b"says good morning")
    Path("broken.wav").write_bytes(b"noise")
    return terminal


def failing(error: BaseException) -> Callable[[ModelSettings, Progress], ScriptedPipeline]:
    def load(settings: ModelSettings, progress: Progress) -> ScriptedPipeline:
        raise error

    return load


def test_text_goes_to_standard_output_and_the_rest_to_standard_error(terminal: Terminal) -> None:
    code, out, err = terminal.run("transcribe", "call.wav")
    assert code == 0
    assert "hello there" in out
    assert "call.wav" not in out
    assert "A warning." not in out
    assert "call.wav: A warning." in err
    assert "RTFx" in err


def test_options_become_parameters_and_the_rest_keep_their_defaults(terminal: Terminal) -> None:
    terminal.run(
        *("transcribe", "call.wav", "--diarize", "--no-words", "--language", "German", "--task", "translate"),
        *("--batch-size", "3", "--min-speakers", "2", "--max-speakers", "4", "--prompt", "a b", "--hotwords", "c d"),
        *("-p", "num_beams=2", "-p", "vad=false"),
    )
    expected, _ = InferenceConfig.from_request(
        {
            **{"diarize": True, "word_timestamps": False, "language": "de", "task": "translate", "batch_size": 3},
            **{"min_speakers": 2, "max_speakers": 4, "prompt": "a b", "hotwords": "c d", "num_beams": 2, "vad": False},
            "format": "txt",
        }
    )
    assert terminal.config == expected


@pytest.mark.parametrize(("flag", "assisted"), [("--assisted", True), ("--assisted-auto", "auto")])
def test_assisted_does_not_swallow_the_file_after_it(terminal: Terminal, flag: str, assisted: bool | str) -> None:
    code, _, _ = terminal.run("transcribe", flag, "call.wav")
    assert code == 0
    assert terminal.config.assisted == assisted


def test_separate_channels_and_no_diarization(terminal: Terminal) -> None:
    terminal.run("transcribe", "call.wav", "--channels", "separate", "--no-diarize")
    assert terminal.config.channels == "separate"
    assert terminal.config.diarize is False


def test_model_options_take_the_place_of_the_environment(terminal: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ASR_MODEL", "environment/asr")
    monkeypatch.setenv("ASSISTANT_MODEL", "environment/assistant")
    terminal.run("transcribe", "call.wav", "--model", "option/asr", "--device", "cpu", "--dtype", "float32")
    settings = terminal.pipeline.settings
    assert settings is not None
    assert (settings.asr_model, settings.assistant_model) == ("option/asr", "environment/assistant")
    assert (settings.device, settings.dtype) == ("cpu", "float32")


@pytest.mark.parametrize(
    ("options", "diarization_model"),
    [
        (("--model", "starter", "--diarize"), "starter"),
        (("--model", "starter"), None),
        (("--model", "starter", "--diarize", "--diarization-model", "some/pipeline"), "some/pipeline"),
        (("--model", "some/whisper", "--diarize"), None),
    ],
)
def test_starter_whisper_comes_with_starter_diarization(
    terminal: Terminal, options: tuple[str, ...], diarization_model: str | None
) -> None:
    terminal.run("transcribe", "call.wav", *options)
    assert terminal.pipeline.settings is not None
    assert terminal.pipeline.settings.diarization_model == diarization_model


def test_one_bad_file_does_not_stop_the_others(terminal: Terminal) -> None:
    Path("folder").mkdir()
    code, out, err = terminal.run("transcribe", "broken.wav", "missing.wav", "folder", "call.wav")
    assert code == 1
    assert "hello there" in out
    assert "broken.wav: The bytes are not audio; send a wav file. [invalid_audio]" in err
    assert "missing.wav: No such file or directory." in err
    assert "folder: Is a directory." in err
    assert "Traceback" not in err


def test_several_texts_are_told_apart(terminal: Terminal) -> None:
    _, out, _ = terminal.run("transcribe", "call.wav", "meeting.wav")
    assert out.index("call.wav:") < out.index("hello there") < out.index("meeting.wav:") < out.index("good morning")


def test_json_on_standard_output_is_the_response(terminal: Terminal) -> None:
    _, out, _ = terminal.run("transcribe", "call.wav", "--format", "json")
    response = json.loads(out)
    assert response["text"] == "hello there"
    assert response["speakers"][0]["speaker"] == "SPEAKER_00"


def test_standard_input(terminal: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"says from a pipe")))
    code, out, _ = terminal.run("transcribe", "-")
    assert code == 0
    assert "from a pipe" in out


def test_an_oversized_file_is_not_read_whole(terminal: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MAX_AUDIO_BYTES", "4")
    terminal.run("transcribe", "call.wav")
    assert terminal.pipeline.requests[0][0] == b"says "


def test_output_file_gives_the_format(terminal: Terminal) -> None:
    code, out, err = terminal.run("transcribe", "call.wav", "--output", "new/result.srt")
    assert (code, out) == (0, "")
    assert "new/result.srt" in err
    written = Path("new/result.srt").read_text()
    assert "00:00:00,000 --> " in written
    assert "hello there" in written


def test_output_folder_names_files_after_the_recordings(terminal: Terminal) -> None:
    Path("other").mkdir()
    Path("other/call.wav").write_bytes(b"says something else")
    terminal.run("transcribe", "call.wav", "other/call.wav", "meeting.wav", "--output", "texts", "--format", "vtt")
    assert {path.name for path in Path("texts").iterdir()} == {"call.vtt", "call-2.vtt", "meeting.vtt"}
    assert "hello there" in Path("texts/call.vtt").read_text()
    assert "something else" in Path("texts/call-2.vtt").read_text()


@pytest.mark.parametrize("output", ["call.wav", "./call.wav"])
def test_a_recording_is_never_replaced(terminal: Terminal, output: str) -> None:
    code, _, err = terminal.run("transcribe", "call.wav", "--output", output)
    assert code == 2
    assert "replace a recording" in err
    assert Path("call.wav").read_bytes() == b"says hello there"


def test_output_that_cannot_be_written_fails_that_file(terminal: Terminal) -> None:
    code, _, err = terminal.run("transcribe", "call.wav", "--output", "meeting.wav/result.txt")
    assert code == 1
    assert err.count("\n") == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "FILE"),
        (("call.wav", "--batch-size", "0"), "batch_size"),
        (("call.wav", "--batch-size", "many"), "many"),
        (("call.wav", "--language", "klingon"), "language"),
        (("call.wav", "--num-speakers", "2", "--min-speakers", "1"), "leave out min_speakers"),
        (("call.wav", "--format", "docx"), "docx"),
        (("call.wav", "-p", "beams=2"), "num_beams"),
        (("call.wav", "meeting.wav", "--output", "one.srt"), "folder"),
        (("call.wav", "--unknown"), "--unknown"),
    ],
)
def test_wrong_usage_is_told_before_anything_is_loaded(
    terminal: Terminal, arguments: tuple[str, ...], message: str
) -> None:
    code, out, err = terminal.run("transcribe", *arguments)
    assert code == 2
    assert out == ""
    assert message in err
    assert terminal.pipeline.settings is None


def test_a_wrong_setting_in_the_environment_is_wrong_usage(terminal: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MAX_AUDIO_BYTES", "lots")
    code, _, err = terminal.run("transcribe", "call.wav")
    assert code == 2
    assert "MAX_AUDIO_BYTES" in err


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (ModelUnavailable("some/model could not be fetched."), 3),
        (ModelMismatch("The assistant has another vocabulary."), 3),
        (InvalidSettings("DEVICE: there is no cuda here."), 2),
        (KeyboardInterrupt(), 130),
    ],
)
def test_exit_code_when_loading_fails(
    terminal: Terminal, capsys: pytest.CaptureFixture[str], error: BaseException, code: int
) -> None:
    assert main(["transcribe", "call.wav"], load=failing(error)) == code
    out, err = capsys.readouterr()
    assert out == ""
    assert "Traceback" not in err
    if isinstance(error, SpeechError):
        assert error.message in err
        assert error.code in err


@pytest.mark.parametrize(("model", "hinted"), [("openai/whisper-base", True), ("starter", False)])
def test_an_unreachable_hub_brings_up_the_starter_models(
    terminal: Terminal, capsys: pytest.CaptureFixture[str], model: str, hinted: bool
) -> None:
    main(["transcribe", "call.wav", "--model", model], load=failing(ModelUnavailable("No network.")))
    assert ("--model starter" in capsys.readouterr().err) is hinted


def test_interruption_ends_with_130(terminal: Terminal) -> None:
    Path("call.wav").write_bytes(b"interrupt")
    code, _, err = terminal.run("transcribe", "call.wav", "meeting.wav")
    assert code == 130
    assert "Interrupted." in err
    assert len(terminal.pipeline.requests) == 1


def test_a_reader_that_leaves_early_is_no_error() -> None:
    script = "from tests.test_cli import ScriptedPipeline as P; from speech_pipeline.cli import main; import sys;"
    script += "sys.exit(main(['transcribe', '-'], load=lambda settings, progress: P()))"
    process = subprocess.Popen(
        [sys.executable, "-c", script],
        cwd=REPOSITORY,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.close()
    process.stdin.write(b"says hello")
    process.stdin.close()
    assert b"Traceback" not in process.stderr.read()
    assert process.wait() == 1


def test_help_needs_no_model_library() -> None:
    script = "from speech_pipeline.cli import main; import sys; assert main(['transcribe', '--help']) == 0;"
    script += "print(sorted({'torch', 'transformers', 'numpy', 'librosa'} & set(sys.modules)))"
    answer = subprocess.run([sys.executable, "-c", script], cwd=REPOSITORY, capture_output=True, text=True, check=True)
    assert answer.stdout.splitlines()[-1] == "[]"


def test_demo_prints_the_call_and_writes_its_files(
    starter_dir: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["demo", "--output", str(tmp_path / "demo")]) == 0
    out, _ = capsys.readouterr()
    assert "2 speakers" in out
    assert "RTFx" in out
    response = json.loads((tmp_path / "demo" / "phone_call.json").read_text())
    assert {turn["speaker"] for turn in response["speakers"]} == {turn["speaker"] for turn in response["turns"]}
    assert all(turn["text"].strip() in out for turn in response["speakers"])
    assert (tmp_path / "demo" / "phone_call.srt").read_text().count("-->") > 1
    assert (tmp_path / "demo" / "phone_call.png").read_bytes().startswith(b"\x89PNG")
