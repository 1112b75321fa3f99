"""``python -m speech_pipeline ask``: a spoken or written question, answered aloud."""

from pathlib import Path
from time import perf_counter
from typing import Any, get_args

import click

from config import NO_MODEL, InferenceConfig, ModelSettings
from speech_pipeline.console import progress_bar, sentence, tell
from speech_pipeline.errors import InvalidParameters
from speech_pipeline.files import STANDARD_INPUT, read_recording
from speech_pipeline.model_options import FILE_FAILED, SUCCESS, Loader, chosen_settings, load, model_options
from speech_pipeline.reply.options import ReplyOptions
from speech_pipeline.transcript import Reply, Transcript

FORMATS = get_args(ReplyOptions.model_fields["audio_format"].annotation)
_ENDINGS = {**{name: name for name in FORMATS}, "ogg": "opus"}
_RECORDINGS = frozenset({".wav", ".mp3", ".flac", ".m4a", ".ogg", ".opus", ".webm", ".aiff", ".amr", ".mp4", ".aac"})


@click.command(short_help="Answer a spoken or written question aloud.")
@click.argument("question", metavar="FILE|TEXT")
@click.option(
    "--output", "-o", type=click.Path(path_type=Path, dir_okay=False), default="reply.wav", show_default=True,
    help=f"File for the voice; its ending is its format: {', '.join(FORMATS)}.",
)  # fmt: skip
@click.option("--speak", is_flag=True, help="Speak TEXT as it stands instead of answering it.")
@click.option("--language", metavar="L", help="Language of the question: en, french, pt-BR. Default: detected.")
@click.option("--reply-language", metavar="L", help="Language of the answer. Default: that of the question.")
@click.option("--system-prompt", metavar="TEXT", help="How to answer.")
@click.option("--max-reply-tokens", type=int, metavar="N", help="Longest answer, in tokens.")
@click.option("--reply-temperature", type=float, metavar="T", help="0: the likeliest answer. Default: 0.")
@click.option("--seed", type=int, metavar="N", help="Makes answers with a temperature repeatable.")
@click.option("--voice", metavar="NAME", help="One of the voices of TTS_MODEL.")
@click.option("--speed", type=float, metavar="X", help="Pace of the voice, 0.5 to 2.")
@click.option("--lm", "lm_model", metavar="ID", help="Language model, instead of LM_MODEL.")
@click.option("--tts", "tts_model", metavar="ID", help="Voice, instead of TTS_MODEL.")
@model_options
@click.pass_obj
def ask(
    loader: Loader,
    question: str,
    output: Path,
    speak: bool,
    **options: Any,
) -> int:
    """Answer a question aloud: a recording (FILE, or - for standard input) or a TEXT.

    The answer goes to standard output as text and to --output as voice. With --model starter the starter language model
    and voice are taken where none are set.
    """
    spoken = question == STANDARD_INPUT or Path(question).is_file()
    if not spoken and Path(question).suffix.lower() in _RECORDINGS:
        raise click.UsageError(f"There is no file {click.format_filename(question)}.")
    if spoken and speak:
        raise click.UsageError("--speak takes a text.")
    ending = output.suffix.removeprefix(".").lower()
    if ending not in _ENDINGS:
        raise click.UsageError(f"--output must end in one of {', '.join('.' + name for name in _ENDINGS)}.")
    models = {name: options.pop(name) for name in ModelSettings.model_fields if name in options}
    settings = chosen_settings(models, diarize=False, reply=True)
    settings = settings.model_copy(update=_needless_models(spoken=spoken, speak=speak))
    parameters = {name: value for name, value in options.items() if value is not None}
    task = {"reply": True, "diarize": False} if spoken else {"task": "speak" if speak else "answer"}
    try:
        config, _ = InferenceConfig.from_request({**parameters, **task, "audio_format": _ENDINGS[ending]})
    except InvalidParameters as error:
        raise click.UsageError(error.message) from error
    try:
        inputs = read_recording(question, settings.max_audio_bytes) if spoken else question
    except OSError as error:
        tell(f"{click.format_filename(question)}: {sentence(error)}")
        return FILE_FAILED
    pipeline = load(loader, settings)
    started = perf_counter()
    with progress_bar("Reply") as progress:
        result = pipeline.respond(inputs, config, progress)
    return _show(result, output, perf_counter() - started)


def _needless_models(*, spoken: bool, speak: bool) -> dict[str, str | None]:
    """Settings that keep from being loaded what a question does without."""
    needless = {} if spoken else dict.fromkeys(("asr_model", "assistant_model"), NO_MODEL)
    return {**needless, "diarization_model": NO_MODEL, **({"lm_model": None, "lm_base_url": None} if speak else {})}


def _show(result: Transcript | Reply, output: Path, seconds: float) -> int:
    """Print the answer and write its voice; returns the exit code."""
    reply = result
    if isinstance(result, Transcript):
        tell(f"Heard: {result.text}")
        assert result.reply is not None
        reply = result.reply
    assert isinstance(reply, Reply)
    for warning in result.warnings:
        tell(warning)
    if reply.text:
        click.echo(reply.text)
    if reply.audio is None:
        return FILE_FAILED
    try:
        output.parent.mkdir(parents=True, exist_ok=True)
        output.write_bytes(reply.audio.data)
    except OSError as error:
        tell(f"{click.format_filename(output)}: {sentence(error)}")
        return FILE_FAILED
    first = reply.timings["first_audio"] + seconds - reply.timings["total"]
    voice = f"{reply.audio.duration:.1f} s of voice, begun after {first:.2f} s of {seconds:.2f} s"
    tell(f"{click.format_filename(output)}: {voice}")
    return SUCCESS
