"""``python -m speech_pipeline bench``: latency, throughput, memory and cost; with ``--peers`` beside other systems."""

import importlib.util
import json
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from config import ModelSettings
from speech_pipeline.console import sentence, tell
from speech_pipeline.errors import InvalidParameters
from speech_pipeline.model_options import FILE_FAILED, SUCCESS, Loader, chosen_settings, load, model_options

if TYPE_CHECKING:
    from speech_pipeline.evaluation.bench.systems import Options

LIBRARIES = ("jiwer", "requests", "text_to_num", "whisper_normalizer")
"""Modules of requirements/bench.txt that every measurement needs; those of other systems may be missing."""

DEFAULT_MINUTES = "10"

_FOLDER = click.Path(path_type=Path, exists=True, file_okay=False)
_FILE = click.Path(path_type=Path, dir_okay=False)


class _Lengths(click.ParamType):
    """Minutes parted by commas."""

    name = "minutes"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[float, ...]:
        try:
            lengths = tuple(float(part) for part in str(value).split(","))
        except ValueError:
            lengths = ()
        if not lengths or not all(0 < length <= 600 for length in lengths):
            self.fail("must be minutes from above 0 to 600, such as 1,10,60", param, ctx)
        return lengths


@click.command(short_help="Measure latency, throughput, memory and cost.")
@click.option("--peers", is_flag=True, help="Compare with the systems people would pick instead.")
@click.option("--url", metavar="URL", help="Measure a running endpoint; HF_TOKEN is sent to it.")
@click.option("--data", type=_FOLDER, help="Folder with a manifest.json. Default: the phone call of the demo.")
@click.option("--minutes", type=_Lengths(), default=DEFAULT_MINUTES, show_default=True, help="Lengths, as 1,10,60.")
@click.option("--language", default="en", show_default=True, help="Language that is spoken; it is told.")
@click.option("--words/--no-words", default=True, show_default=True, help="Ask for word times.")
@click.option("--diarize/--no-diarize", default=False, show_default=True, help="Ask for speakers.")
@click.option("--requests", type=click.IntRange(1), default=10, show_default=True, help="Requests of each kind.")
@click.option("--price-per-hour", type=click.FloatRange(0, min_open=True), help="Price of this machine, in dollars.")
@click.option("--threads", type=click.IntRange(1), help="Threads to compute with. Default: all cores.")
@click.option("--seed", type=int, default=0, show_default=True, help="Order in which clips are joined.")
@click.option("--rounds", type=click.IntRange(1), default=3, show_default=True, help="With --peers: rounds in turn.")
@click.option("--conversations", type=_FOLDER, help="With --peers: folder of more recordings with known speakers.")
@click.option("--only", multiple=True, metavar="NAME", help="With --peers: these systems; * stands for anything.")
@click.option("--plot", "plot_file", type=_FILE, metavar="FILE", help="With --peers: draw the systems (PNG).")
@click.option("--json", "json_file", type=_FILE, metavar="FILE", help="Write all figures.")
@model_options
@click.pass_obj
def bench(
    loader: Loader, peers: bool, url: str | None, data: Path | None, json_file: Path | None, **options: Any
) -> int:
    """Measure how fast and how dear this is; with --peers beside other systems, in the same run.

    Recordings are made by joining the clips of a folder, so that they can be of any length. Tables go to standard
    output as Markdown.
    """
    missing = [name for name in LIBRARIES if importlib.util.find_spec(name) is None]
    if missing:
        raise click.UsageError(f"bench needs {', '.join(missing)}: pip install -r requirements/bench.txt")
    if peers and url:
        raise click.UsageError("--peers compares on this machine; leave out --url.")
    models = {name: options.pop(name) for name in ModelSettings.model_fields if name in options}
    settings = chosen_settings(models, diarize=peers or options["diarize"])
    with _data(data) as folder:
        if peers:
            results, text = _compare(settings, folder, **options)
        else:
            results, text = _measure(loader, settings, url, folder, **options)
    click.echo(text)
    try:
        if json_file is not None:
            json_file.parent.mkdir(parents=True, exist_ok=True)
            json_file.write_text(json.dumps(results, indent=2) + "\n", encoding="utf-8")
        plot_file = options["plot_file"]
        if peers and plot_file is not None:
            from speech_pipeline.evaluation.bench.plot import draw_systems

            plot_file.parent.mkdir(parents=True, exist_ok=True)
            draw_systems(results, plot_file)
    except OSError as error:
        tell(f"The results could not be written: {sentence(error)}")
        return FILE_FAILED
    return FILE_FAILED if any("failed" in system for system in results.get("systems", ())) else SUCCESS


def _compare(settings: ModelSettings, data: Path, **options: Any) -> tuple[dict[str, Any], str]:
    from speech_pipeline.evaluation.bench.dialogues import load_dialogues
    from speech_pipeline.evaluation.bench.machine import cores
    from speech_pipeline.evaluation.bench.material import long_speech
    from speech_pipeline.evaluation.bench.peers import Plan, chosen_contenders, compare
    from speech_pipeline.evaluation.bench.tables import peers_tables
    from speech_pipeline.evaluation.bench.weights import convert

    try:
        chosen = chosen_contenders(options["only"])
    except InvalidParameters as error:
        raise click.UsageError(error.message) from error
    settings = settings.model_copy(update={"device": "cpu"})
    system = _system_options(settings, options["language"], options["threads"] or cores())
    if len(options["minutes"]) > 1:
        raise click.UsageError("--peers takes one length; give one number as --minutes.")
    dialogues = load_dialogues(data)
    if options["conversations"] is not None:
        dialogues += load_dialogues(options["conversations"])
    plan = Plan(
        speech=long_speech(data, 60 * options["minutes"][0], options["language"], options["seed"]),
        dialogues=dialogues,
        options=convert(system, settings.starter_dir.parent / "bench", {contender.package for contender in chosen}),
        rounds=options["rounds"],
        repetitions=options["requests"],
        only=options["only"],
    )
    results = compare(plan, _tell_progress)
    return results, peers_tables(results)


def _measure(
    loader: Loader, settings: ModelSettings, url: str | None, data: Path, **options: Any
) -> tuple[dict[str, Any], str]:
    from speech_pipeline.evaluation.bench import tables
    from speech_pipeline.evaluation.bench.cost import cost_table
    from speech_pipeline.evaluation.bench.endpoint import endpoint, in_process
    from speech_pipeline.evaluation.bench.latency import measure_latency
    from speech_pipeline.evaluation.bench.machine import cores, describe_machine
    from speech_pipeline.evaluation.bench.material import LONG_S, SHORT_S, encoded, long_speech
    from speech_pipeline.evaluation.bench.process import worker_command
    from speech_pipeline.evaluation.bench.throughput import measure_endpoint, measure_throughput

    language = options["language"]
    parameters = {
        "language": language,
        "word_timestamps": options["words"],
        "diarize": options["diarize"],
        # Clips that come again and again look like a model that repeats itself, and would be decoded again and again.
        "temperature": [0.0],
    }
    speech = long_speech(data, 60 * max((*options["minutes"], LONG_S / 60)), language, options["seed"])
    requests = {"short": encoded(speech.cut(SHORT_S)), "long": encoded(speech.cut(LONG_S))}
    results: dict[str, Any] = {"parameters": parameters}
    if url is not None:
        token = settings.hf_token.get_secret_value() if settings.hf_token else None
        with endpoint(url, token) as transcribe:
            latency = measure_latency(transcribe, requests, parameters, options["requests"], _tell_progress)
            throughput = measure_endpoint(transcribe, parameters, speech.cut, options["minutes"], _tell_progress)
    else:
        pipeline = load(loader, settings)
        transcribe = in_process(pipeline)
        latency = measure_latency(transcribe, requests, parameters, options["requests"], _tell_progress)
        del pipeline, transcribe
        system = _system_options(settings, language, options["threads"] or cores())
        command = worker_command(_own(options["words"], options["diarize"]), system)
        throughput = measure_throughput(command, speech.cut, options["minutes"], _tell_progress)
        results["machine"] = describe_machine(system.threads)
    results |= {"latency": latency, "throughput": throughput}
    parts = [tables.latency_table(latency), tables.throughput_table(throughput)]
    speeds = [row["rtfx"] for row in throughput if "rtfx" in row]
    if speeds:
        results["cost"] = cost_table(speeds[-1], options["price_per_hour"])
        parts.append(tables.cost_lines(results["cost"], speeds[-1]))
    return results, "\n\n".join(parts)


def _system_options(settings: ModelSettings, language: str, threads: int) -> "Options":
    """What the worker processes are given; folders as absolute paths, for they work in another folder."""
    from speech_pipeline.evaluation.bench.systems import Options
    from speech_pipeline.loading import resolve_sources

    def absolute(model: str | None) -> str:
        return str(Path(model).resolve()) if model and Path(model).exists() else model or ""

    sources = resolve_sources(settings)
    return Options(absolute(sources.asr), language, threads, absolute(sources.diarization), device=settings.device)


def _own(words: bool, diarize: bool) -> str:
    """Name of this repository's system that does what is asked for."""
    if diarize:
        return "speech_pipeline words and speakers"
    return "speech_pipeline words" if words else "speech_pipeline"


@contextmanager
def _data(folder: Path | None) -> Iterator[Path]:
    """The folder of recordings; where none is named, one with the phone call of the demo."""
    if folder is not None:
        yield folder
        return
    from speech_pipeline.demo import phone_call

    recording = phone_call()
    with tempfile.TemporaryDirectory() as name:
        entry = {"file": recording.name, "language": "en"}
        for kind in ("rttm", "stm"):
            entry[kind] = recording.with_suffix(f".{kind}").name
        for file in (entry["file"], entry["rttm"], entry["stm"]):
            shutil.copy(recording.with_name(file), name)
        (Path(name) / "manifest.json").write_text(json.dumps([entry]), encoding="utf-8")
        yield Path(name)


def _tell_progress(step: str, fraction: float) -> None:
    """A line for each step: a run takes minutes, and its log is read afterwards."""
    tell(f"{fraction:4.0%}  {step}")
