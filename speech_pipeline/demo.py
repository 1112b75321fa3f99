"""The demonstration: a real phone call, transcribed with models that need neither the Hub nor a token."""

import importlib.util
from collections.abc import Callable
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING

import click

from config import STARTER, InferenceConfig, ModelSettings
from speech_pipeline.console import progress_bar, speed
from speech_pipeline.errors import ModelUnavailable
from speech_pipeline.evaluation.diarization_errors import diarization_errors
from speech_pipeline.evaluation.references import read_rttm
from speech_pipeline.progress import Progress
from speech_pipeline.transcript import Transcript

if TYPE_CHECKING:
    from speech_pipeline.pipeline import SpeechPipeline

KINDS = ("whisper-base", "diarization")
"""The starter models the demonstration uses."""


def run(load: Callable[[ModelSettings, Progress], "SpeechPipeline"], output: Path) -> None:
    """Fetch the models where they are missing, transcribe the call, print it, and write its files into ``output``.

    Raises:
        SpeechError: the models could not be fetched or loaded, or the call could not be transcribed.
    """
    from speech_pipeline import starter

    settings = ModelSettings.from_environment().model_copy(
        update={"asr_model": STARTER, "assistant_model": None, "diarization_model": STARTER}
    )
    config = InferenceConfig(language="en", diarize=True)
    recording = phone_call()
    with progress_bar("Starter models", announce=True) as progress:
        starter.install(settings.starter_dir, kinds=KINDS, progress=progress)
    started = perf_counter()
    with progress_bar("Models", announce=True) as progress:
        pipeline = load(settings, progress)
    loaded = perf_counter()
    with progress_bar(recording.name, announce=True) as progress:
        transcript = pipeline.transcribe(recording.read_bytes(), config, progress)
    seconds = perf_counter() - loaded

    click.echo(conversation(transcript))
    errors = diarization_errors(read_rttm(recording.with_suffix(".rttm")), transcript.turns, transcript.duration)
    click.echo(f"Diarization error rate against the reference beside the recording: {errors.rate:.1%}")
    click.echo(f"\nModels loaded in {loaded - started:.1f} s.")
    for stage, stage_s in transcript.timings.items():
        click.echo(f"  {stage:<20}{stage_s:6.2f} s")
    click.echo(f"{speed(transcript.duration, seconds)}\n")
    for path in write_files(transcript, output):
        click.echo(f"Written: {click.format_filename(path)}")


def phone_call() -> Path:
    """A telephone call of 30 s between two people, in pyannote.audio's own wheel; its references lie beside it.

    Raises:
        ModelUnavailable: pyannote.audio is not installed.
    """
    # Asking for the parent package finds the folder without importing pyannote.audio, which takes seconds.
    spec = importlib.util.find_spec("pyannote.audio")
    if spec is None or spec.origin is None:
        raise ModelUnavailable("The demonstration needs pyannote.audio; install requirements.txt.")
    return Path(spec.origin).parent / "sample" / "sample.wav"


def conversation(transcript: Transcript) -> str:
    """Who said what: start as minutes and seconds, speaker and text, one line for each change of speaker."""
    lines = []
    for segment in transcript.speaker_segments:
        minutes, seconds = divmod(segment.start, 60)
        lines.append(f"{minutes:2.0f}:{seconds:04.1f}  {segment.speaker}  {segment.text.strip()}")
    speakers = {segment.speaker for segment in transcript.speaker_segments}
    return "\n".join(["", *lines, "", f"{len(speakers)} speakers in {transcript.duration:.1f} s."])


def write_files(transcript: Transcript, output: Path) -> list[Path]:
    """Write the transcript as json, srt and a picture of the turns; returns the paths."""
    from speech_pipeline.formats import to_json, to_srt
    from speech_pipeline.timeline import draw_timeline

    output.mkdir(parents=True, exist_ok=True)
    texts = {output / "phone_call.json": to_json(transcript), output / "phone_call.srt": to_srt(transcript)}
    for path, text in texts.items():
        path.write_text(text, encoding="utf-8")
    picture = output / "phone_call.png"
    draw_timeline(transcript, picture, title="Phone call")
    return [*texts, picture]
