"""Results as Markdown tables, which read well in a terminal and can be pasted into a README."""

from collections.abc import Mapping, Sequence
from typing import Any

from speech_pipeline.evaluation.bench.cost import PRICES_FROM
from speech_pipeline.evaluation.bench.latency import overhead_share
from speech_pipeline.evaluation.bench.systems import Task

TITLES: Mapping[Task, str] = {
    "recognition": "Text",
    "words": "Text with word times",
    "diarization": "Speakers",
    "all": "Text, word times and speakers",
}

Cells = Sequence[Sequence[str]]


def markdown(headings: Sequence[str], rows: Cells) -> str:
    """A table with its columns aligned: the first to the left, the others to the right."""
    columns = range(len(headings))
    shown = [column for column in columns if any(row[column] for row in rows)]
    widths = {column: max(len(headings[column]), *(len(row[column]) for row in rows)) for column in shown}

    def line(cells: Sequence[str]) -> str:
        padded = (cells[n].ljust(widths[n]) if n == 0 else cells[n].rjust(widths[n]) for n in shown)
        return f"| {' | '.join(padded)} |"

    rules = [("-" * widths[n]) if n == 0 else f"{'-' * (widths[n] - 1)}:" for n in columns if n in widths]
    return "\n".join([line(headings), f"| {' | '.join(rules)} |", *(line(row) for row in rows)])


def peers_tables(results: Mapping[str, Any]) -> str:
    """One table for each task, and what was not measured."""
    parts = []
    for task, title in TITLES.items():
        systems = [system for system in results["systems"] if system["task"] == task]
        measured = [system for system in systems if system["rtfx"] is not None]
        if measured:
            parts.append(f"{title}\n\n{_systems_table(measured)}")
        parts += [
            f"{system['name']}: {system.get('skipped') or system.get('failed')}"
            for system in systems
            if "skipped" in system or "failed" in system
        ]
    for system in results["systems"]:
        if "short_stages_s" in system:
            parts.append(stages_table(f"8 s request, {system['name']}", system["short_stages_s"]))
    parts.append(_measured_on(results))
    return "\n\n".join(parts)


def latency_table(rows: Sequence[Mapping[str, Any]]) -> str:
    """Milliseconds by kind of request, then where those of the first kind go."""
    names = ("avg", "min", "med", "max", "p90", "p95")
    cells = [[_kind(row), *(f"{row[name] * 1e3:.0f}" for name in names)] for row in rows]
    return f"{markdown(['milliseconds', *names], cells)}\n\n{stages_table(_kind(rows[0]), rows[0]['stages'])}"


def stages_table(title: str, stages: Mapping[str, float]) -> str:
    """Where the time of a request goes, and how much of it is no model's work."""
    whole = sum(stages.values())
    shown = {**stages, "not the work of a model": whole * overhead_share(stages)}
    rows = [[stage, f"{seconds * 1e3:.1f}", _percent(seconds / whole)] for stage, seconds in shown.items()]
    return markdown([title, "ms", "share"], rows)


def throughput_table(rows: Sequence[Mapping[str, Any]]) -> str:
    """Speed and memory by length."""
    headings = ["audio", "RTFx", "seconds", "peak MB", "MB per hour"]
    cells = []
    for row in rows:
        length = f"{row['audio_s'] / 60:.1f} min"
        if "failed" in row:
            cells.append([f"{length}: {row['failed']}", "", "", "", ""])
            continue
        memory, slope = row.get("peak_memory_mb"), row.get("mb_per_hour")
        cells.append(
            [
                length,
                f"{row['rtfx']:.1f}",
                f"{row['seconds']:.1f}",
                "" if memory is None else f"{memory:.0f}",
                "" if slope is None else f"{slope:.0f}",
            ]
        )
    return markdown(headings, cells)


def cost_lines(rows: Sequence[Mapping[str, Any]], rtfx: float) -> str:
    """Cost of an audio hour by instance."""
    headings = ["instance", "hardware", "$ per hour", f"$ per audio hour at RTFx {rtfx:.1f}", "RTFx to cost no more"]
    cells = [
        [
            row["instance"],
            row["hardware"],
            f"{row['price_per_hour']:.3f}",
            f"{row['cost_per_audio_hour']:.5f}",
            "" if row["rtfx_to_match"] is None else f"{row['rtfx_to_match']:.1f}",
        ]
        for row in rows
    ]
    note = "A cost holds for the machine that was measured; for another, only if it were as fast."
    return f"{markdown(headings, cells)}\n\n{note} {PRICES_FROM}"


def _systems_table(systems: Sequence[Mapping[str, Any]]) -> str:
    headings = ["system", "RTFx", "time, ours = 1", "WER", "WER, all clips", "DER", "8 s request", "peak MB"]
    return markdown(
        headings,
        [
            [
                f"{system['name']} {system.get('version') or ''}".strip(),
                f"{system['rtfx']:.1f}",
                "" if system["ratio"] is None else f"{system['ratio']:.2f}",
                _percent(system.get("wer")),
                _percent(system.get("wer_all")),
                _percent(system.get("der")),
                "" if "short_s" not in system else f"{system['short_s'] * 1e3:.0f} ms",
                str(system["peak_memory_mb"]),
            ]
            for system in systems
        ],
    )


def _measured_on(results: Mapping[str, Any]) -> str:
    machine = results["machine"]
    lengths = f"{results['audio_seconds'] / 60:.1f} minutes of speech"
    if results["dialogue_seconds"]:
        lengths += f", {results['dialogue_seconds'] / 60:.1f} minutes of dialogue"
    rounds = "one round" if results["rounds"] == 1 else f"medians of {results['rounds']} rounds in turn"
    return (
        f"{results['model']}, greedy, language {results['language']} given; {lengths}; {rounds}; "
        f"{machine['threads']} threads on {machine['cores']} cores of {machine['cpu']}."
    )


def _kind(row: Mapping[str, Any]) -> str:
    return f"{row['request']}, {'' if row['assisted'] else 'not '}assisted"


def _percent(share: float | None) -> str:
    return "" if share is None else f"{100 * share:.1f} %"
