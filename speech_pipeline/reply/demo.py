"""The demonstration of replies: a spoken question is heard, answered and spoken, and the answer is heard again."""

import re
from collections.abc import Callable
from difflib import SequenceMatcher
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING

import click

from config import STARTER, InferenceConfig, ModelSettings
from speech_pipeline.console import progress_bar
from speech_pipeline.errors import ReplyFailed
from speech_pipeline.progress import Progress
from speech_pipeline.transcript import Reply, Transcript

if TYPE_CHECKING:
    from speech_pipeline.pipeline import SpeechPipeline

QUESTION = "What is the capital of France, and which river runs through it?"

KINDS = ("whisper-base", "chat")
"""The starter models the demonstration fetches; the starter voice is a package."""


def run(load: Callable[[ModelSettings, Progress], "SpeechPipeline"], output: Path) -> None:
    """Fetch the models where they are missing, ask, print the answer, and write both voices into ``output``.

    Raises:
        SpeechError: the models could not be fetched or loaded, or there was no answer.
    """
    from speech_pipeline import starter

    settings = ModelSettings.from_environment().model_copy(
        update={
            **{"asr_model": STARTER, "assistant_model": None, "diarization_model": None},
            **{"lm_model": STARTER, "lm_base_url": None, "tts_model": STARTER, "tts_fallback": None},
        }
    )
    with progress_bar("Starter models", announce=True) as progress:
        starter.install(settings.starter_dir, kinds=KINDS, progress=progress)
    started = perf_counter()
    with progress_bar("Models", announce=True) as progress:
        pipeline = load(settings, progress)
    loaded_s = perf_counter() - started

    asked = pipeline.respond({"text": QUESTION, "task": "speak"}, InferenceConfig(language="en"))
    question = _voice(asked)
    started = perf_counter()
    transcript = pipeline.respond(question, InferenceConfig(language="en", reply=True))
    seconds = perf_counter() - started
    assert isinstance(transcript, Transcript)
    assert transcript.reply is not None
    answer = _voice(transcript.reply)
    again = pipeline.respond(answer, InferenceConfig(language="en"))
    assert isinstance(again, Transcript)

    reply = transcript.reply
    click.echo(f"\nAsked:    {QUESTION}\nHeard:    {transcript.text}\nAnswered: {reply.text}\nHeard:    {again.text}\n")
    right, words = recovered_words(reply.text, again.text)
    click.echo(f"Words of the answer that are heard again: {right} of {words} ({right / words:.0%})")
    for warning in transcript.warnings:
        click.echo(warning)
    heard_s = seconds - reply.timings["total"]
    click.echo(f"\nModels loaded in {loaded_s:.1f} s.")
    click.echo(f"  question heard after {heard_s:6.2f} s")
    for name in ("first_token", "first_sentence", "first_audio", "total"):
        click.echo(f"  {name.replace('_', ' '):<20} {heard_s + reply.timings[name]:6.2f} s")
    click.echo("")
    output.mkdir(parents=True, exist_ok=True)
    for name, data in (("question.wav", question), ("answer.wav", answer)):
        (output / name).write_bytes(data)
        click.echo(f"Written: {click.format_filename(output / name)}")


def recovered_words(written: str, heard: str) -> tuple[int, int]:
    """How many words of an English text were heard, in their order, and how many it has; figures count as words."""
    from speech_pipeline.reply.spoken_text import spoken_text

    said, understood = (re.findall(r"[\w']+", spoken_text(text, "en").lower()) for text in (written, heard))
    matches = SequenceMatcher(None, said, understood, autojunk=False).get_matching_blocks()
    return sum(match.size for match in matches), len(said)


def _voice(result: Transcript | Reply) -> bytes:
    """The file of a reply's voice."""
    if not isinstance(result, Reply) or result.audio is None:
        raise ReplyFailed(" ".join(result.warnings) or "There is no voice.")
    return result.audio.data
