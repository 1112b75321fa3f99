"""The command ``ask`` with a scripted pipeline: what is asked of it, where results go, and the exit codes."""

import io
import sys
from pathlib import Path

import pytest

from config import InferenceConfig, ModelSettings
from speech_pipeline.cli import main
from speech_pipeline.errors import ReplyUnavailable
from speech_pipeline.progress import Progress, no_progress
from speech_pipeline.transcript import Reply, ReplyAudio, Segment, Transcript
from tests.scripted_terminal import ScriptedTerminal

ANSWER = Reply(
    text="It is blue.",
    language="en",
    audio=ReplyAudio(data=b"voice", format="wav", sampling_rate=8_000, duration=1.5),
    timings={"first_audio": 0.2, "total": 0.5},
)


class ScriptedPipeline:
    """Answers everything with the same reply and remembers what it was asked."""

    def __init__(self, reply: Reply = ANSWER) -> None:
        self.reply = reply
        self.settings: ModelSettings | None = None
        self.requests: list[tuple[object, InferenceConfig]] = []

    def respond(self, inputs: object, config: InferenceConfig, progress: Progress = no_progress) -> Transcript | Reply:
        self.requests.append((inputs, config))
        if isinstance(inputs, str):
            return self.reply
        segments = (Segment(" Why is it blue?", 0.0, 1.0),)
        return Transcript(segments=segments, reply=self.reply, warnings=self.reply.warnings)


Terminal = ScriptedTerminal[ScriptedPipeline]


@pytest.fixture
def terminal(capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Terminal:
    terminal = Terminal(ScriptedPipeline(), capsys, tmp_path, monkeypatch, ("ask",))
    Path("question.wav").write_bytes(b"a question")
    return terminal


def test_a_written_question(terminal: Terminal) -> None:
    code, out, err = terminal.run("Why is the sky blue?")
    assert (code, out) == (0, "It is blue.\n")
    assert "1.5 s of voice" in err
    assert Path("reply.wav").read_bytes() == b"voice"
    (inputs, config), *_ = terminal.pipeline.requests
    assert (inputs, config.task, config.audio_format) == ("Why is the sky blue?", "answer", "wav")


def test_a_spoken_question(terminal: Terminal) -> None:
    code, out, err = terminal.run("question.wav", "-o", "new/answer.mp3")
    assert (code, out) == (0, "It is blue.\n")
    assert "Heard: Why is it blue?" in err
    assert Path("new/answer.mp3").read_bytes() == b"voice"
    (inputs, config), *_ = terminal.pipeline.requests
    assert (inputs, config.reply, config.audio_format) == (b"a question", True, "mp3")


def test_standard_input(terminal: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"piped")))
    assert terminal.run("-")[0] == 0
    assert terminal.pipeline.requests[0][0] == b"piped"


def test_a_text_is_spoken(terminal: Terminal) -> None:
    terminal.run("Good day.", "--speak", "-o", "day.ogg")
    assert terminal.pipeline.requests[0][1].task == "speak"
    assert terminal.pipeline.requests[0][1].audio_format == "opus"


def test_options_become_parameters(terminal: Terminal) -> None:
    terminal.run(
        *("Pourquoi ?", "--language", "French", "--reply-language", "en", "--system-prompt", "Be kind.", "--seed", "3"),
        *("--max-reply-tokens", "9", "--reply-temperature", "0.5", "--voice", "anna", "--speed", "1.5"),
    )
    config = terminal.pipeline.requests[0][1]
    assert (config.language, config.reply_language, config.system_prompt, config.seed) == ("fr", "en", "Be kind.", 3)
    assert (config.max_reply_tokens, config.reply_temperature, config.voice, config.speed) == (9, 0.5, "anna", 1.5)


@pytest.mark.parametrize(
    ("arguments", "models"),
    [
        (("question.wav",), (None, None, None)),
        (("question.wav", "--model", "starter"), ("starter", "starter", "starter")),
        (("question.wav", "--model", "some/asr", "--lm", "some/chat", "--tts", "espeak"),
         ("some/asr", "some/chat", "espeak")),
        (("question.wav", "--lm", "some/chat"), (None, "some/chat", None)),
        (("Why?",), ("none", None, None)),
        (("Why?", "--model", "starter"), ("none", "starter", "starter")),
        (("Why?", "--speak", "--model", "starter", "--tts", "espeak"), ("none", None, "espeak")),
    ],
)  # fmt: skip
def test_only_models_that_are_needed_are_loaded(
    terminal: Terminal, arguments: tuple[str, ...], models: tuple[str | None, ...]
) -> None:
    terminal.run(*arguments)
    settings = terminal.pipeline.settings
    assert settings is not None
    assert (settings.asr_model, settings.lm_model, settings.tts_model) == models
    assert settings.diarization_model == "none"


def test_other_commands_do_not_load_models_for_replies(terminal: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LM_MODEL", "some/chat")
    seen: list[ModelSettings] = []

    def load(settings: ModelSettings, progress: Progress) -> ScriptedPipeline:
        seen.append(settings)
        raise ReplyUnavailable("stop here")

    main(["transcribe", "question.wav"], load=load)  # type: ignore[arg-type]
    main(["transcribe", "question.wav", "-p", "reply=true"], load=load)  # type: ignore[arg-type]
    assert [settings.lm_model for settings in seen] == [None, "some/chat"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "FILE|TEXT"),
        (("missing.wav",), "no file missing.wav"),
        (("question.wav", "--speak"), "--speak takes a text"),
        (("Why?", "-o", "reply.txt"), "--output"),
        (("Why?", "-o", "reply"), "--output"),
        (("Why?", "--speed", "9"), "speed"),
        (("Why?", "--language", "klingon"), "language"),
    ],
)
def test_wrong_usage_is_told_before_anything_is_loaded(
    terminal: Terminal, arguments: tuple[str, ...], message: str
) -> None:
    code, out, err = terminal.run(*arguments)
    assert (code, out) == (2, "")
    assert message in err
    assert terminal.pipeline.settings is None


def test_an_answer_without_voice_is_printed_and_fails(terminal: Terminal) -> None:
    terminal.pipeline.reply = Reply(text="It is blue.", complete=False, warnings=("[synthesis_failed] No.",))
    code, out, err = terminal.run("Why?")
    assert (code, out) == (1, "It is blue.\n")
    assert "[synthesis_failed] No." in err
    assert not Path("reply.wav").exists()


def test_a_file_that_cannot_be_written_is_named(terminal: Terminal) -> None:
    code, out, err = terminal.run("Why?", "-o", "question.wav/reply.wav")
    assert (code, out) == (1, "It is blue.\n")
    assert "reply.wav" in err
    assert "Traceback" not in err
