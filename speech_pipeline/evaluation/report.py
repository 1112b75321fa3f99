"""What an evaluation found, as a table and as JSON."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from speech_pipeline.evaluation.diarization_errors import DiarizationErrors
from speech_pipeline.evaluation.evaluation import Figures, Result
from speech_pipeline.evaluation.word_errors import ErrorCounts
from speech_pipeline.evaluation.word_times import percentile

Cell = Callable[[Figures], str]


def table(results: Sequence[Result], total: Figures) -> str:
    """A line for each recording and one for all of them; columns without a value are left out.

    Rates without a reference, where nobody speaks, are shown as what was invented: ``+2`` words, ``+1.5 s``.
    """
    rows = [(result.recording.name, _language(result), result.figures) for result in results]
    rows.append((f"all {len(results)}", _share(total.language_accuracy), total))
    lines = [[name, language, *cells(figures).values()] for name, language, figures in rows]
    headings = ["recording", "language", *_COLUMNS]
    shown = [column for column in range(len(headings)) if any(line[column] for line in lines)]
    drawn = Table(box=SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
    for column in shown:
        drawn.add_column(headings[column], justify="right" if column > 1 else "left", overflow="fold")
    for line in lines:
        if line is lines[-1]:
            drawn.add_section()
        drawn.add_row(*(line[column] for column in shown))
    # As wide as it needs to be: a reader can scroll, and a file has no width.
    console = Console(width=10_000, color_system=None, markup=False, emoji=False, highlight=False)
    with console.capture() as capture:
        console.print(drawn, crop=False)
    return "\n".join(line.rstrip() for line in capture.get().splitlines()).strip("\n")


def cells(figures: Figures) -> dict[str, str]:
    """The figures as they are shown, by heading; ``""`` where there is nothing to show."""
    return {heading: cell(figures) for heading, cell in _COLUMNS.items()}


def to_json(results: Sequence[Result], failures: Mapping[str, str], total: Figures) -> dict[str, Any]:
    """Plain JSON types: rates with the counts they are made of; null is what cannot be scored.

    Args:
        results: recordings that were transcribed.
        failures: what went wrong with the others, by name.
        total: sum of the results.
    """
    files = [
        {
            "file": result.recording.name,
            "languages": list(result.recording.languages),
            "detected_language": result.detected_language,
            **_figures(result.figures),
        }
        for result in results
    ]
    failed = [{"file": name, "error": message} for name, message in failures.items()]
    return {"files": files, "failed": failed, "total": _figures(total)}


def _figures(figures: Figures) -> dict[str, Any]:
    scores = figures.scores
    speakers = scores.word_speakers
    turns = scores.diarization
    starts = scores.start_errors_s
    return {
        "wer": scores.words and scores.words.rate,
        "word_errors": scores.words and asdict(scores.words),
        "cer": scores.characters and scores.characters.rate,
        "character_errors": scores.characters and asdict(scores.characters),
        "cpwer": scores.speaker_words and scores.speaker_words.rate,
        "speaker_word_errors": scores.speaker_words and asdict(scores.speaker_words),
        "word_speaker_accuracy": speakers and speakers.accuracy,
        "word_speakers": speakers and asdict(speakers),
        "der": turns and turns.rate,
        "diarization_seconds": turns and {name: round(seconds, 3) for name, seconds in asdict(turns).items()},
        "word_starts": len(starts),
        "word_start_error_median_s": percentile(starts, 50),
        "word_start_error_p95_s": percentile(starts, 95),
        "language_accuracy": figures.language_accuracy,
        "audio_seconds": round(figures.audio_s, 3),
        "seconds": round(figures.seconds, 3),
        "rtfx": figures.rtfx,
        "peak_memory_mb": round(figures.peak_memory_mb),
    }


def _language(result: Result) -> str:
    """The language that is spoken, and the one that was heard where it is another."""
    spoken, heard = ",".join(result.recording.languages), result.detected_language
    if not spoken or heard is None or heard in result.recording.languages:
        return spoken
    return f"{spoken} (heard {heard})"


def _share(value: float | None) -> str:
    return "" if value is None else f"{100 * value:.1f} %"


def _rate(errors: ErrorCounts | None) -> str:
    if errors is None:
        return ""
    return f"+{errors.insertions}" if errors.rate is None else _share(errors.rate)


def _der(errors: DiarizationErrors | None) -> str:
    if errors is None:
        return ""
    return f"+{errors.false_alarm:.1f} s" if errors.rate is None else _share(errors.rate)


def _part(name: str) -> Cell:
    """A part of the diarization error rate."""

    def cell(figures: Figures) -> str:
        errors = figures.scores.diarization
        return _share(getattr(errors, name) / errors.reference) if errors and errors.reference else ""

    return cell


def _start(percent: float) -> Cell:
    def cell(figures: Figures) -> str:
        error = percentile(figures.scores.start_errors_s, percent)
        return "" if error is None else f"{error:.3f} s"

    return cell


def _word_speakers(figures: Figures) -> str:
    return "" if figures.scores.word_speakers is None else _share(figures.scores.word_speakers.accuracy)


_COLUMNS: dict[str, Cell] = {
    "WER": lambda figures: _rate(figures.scores.words),
    "CER": lambda figures: _rate(figures.scores.characters),
    "cpWER": lambda figures: _rate(figures.scores.speaker_words),
    "word+speaker": _word_speakers,
    "DER": lambda figures: _der(figures.scores.diarization),
    "missed": _part("missed"),
    "false alarm": _part("false_alarm"),
    "confusion": _part("confusion"),
    "start median": _start(50),
    "start p95": _start(95),
    "RTFx": lambda figures: "" if figures.rtfx is None else f"{figures.rtfx:.1f}",
    "peak MB": lambda figures: f"{figures.peak_memory_mb:.0f}",
}
