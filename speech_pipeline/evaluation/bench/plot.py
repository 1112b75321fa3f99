"""Systems side by side as a picture: speed as bars, errors as dots, one row a system."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from speech_pipeline.evaluation.bench.tables import TITLES

OURS, OTHERS = "#0072B2", "#999999"
"""Colours that colour-blind readers can tell apart (Okabe and Ito, 2008)."""

WIDTH_IN = 11.0
ROW_IN = 0.34
MARGIN_IN = 1.0
DOTS_PER_INCH = 120


def draw_systems(results: Mapping[str, Any], file: Path) -> None:
    """Draw the systems that were measured, task by task, the fastest first.

    Args:
        results: what :func:`speech_pipeline.evaluation.bench.peers.compare` returns.
        file: PNG to write.

    Raises:
        OSError: the file cannot be written.
    """
    measured = [system for system in results["systems"] if system["rtfx"] is not None]
    groups = {task: [system for system in measured if system["task"] == task] for task in TITLES}
    groups = {task: sorted(group, key=lambda system: system["rtfx"]) for task, group in groups.items() if group}
    heights = [len(group) * ROW_IN + MARGIN_IN for group in groups.values()]
    figure = Figure(figsize=(WIDTH_IN, max(sum(heights), MARGIN_IN)), dpi=DOTS_PER_INCH, layout="constrained")
    FigureCanvasAgg(figure)
    if groups:
        rows = figure.subplots(len(groups), 2, sharey="row", squeeze=False, height_ratios=heights, width_ratios=[3, 2])
        for (speed, errors), (task, group) in zip(rows, groups.items(), strict=True):
            _draw_speed(speed, group, TITLES[task])
            _draw_errors(errors, group, "der" if task == "diarization" else "wer")
    figure.savefig(file, format="png")


def _draw_speed(axes: Any, systems: Sequence[Mapping[str, Any]], title: str) -> None:
    names = [system["name"] for system in systems]
    bars = axes.barh(names, [system["rtfx"] for system in systems], color=[_colour(system) for system in systems])
    axes.bar_label(bars, fmt="%.1f", padding=3)
    axes.margins(x=0.12)
    axes.set_title(title, loc="left", fontweight="bold")
    axes.set_xlabel("RTFx: seconds of audio for each second of work (more is better)")
    axes.spines[["top", "right"]].set_visible(False)


def _draw_errors(axes: Any, systems: Sequence[Mapping[str, Any]], measure: str) -> None:
    known = [system for system in systems if system.get(measure) is not None]
    rates = [100 * system[measure] for system in known]
    names = [system["name"] for system in known]
    axes.scatter(rates, names, color=[_colour(system) for system in known], zorder=3)
    for name, rate in zip(names, rates, strict=True):
        axes.annotate(f"{rate:.1f} %", (rate, name), xytext=(6, 0), textcoords="offset points", va="center")
    axes.set_xlim(0, max([*rates, 1.0]) * 1.25)
    axes.set_xlabel(f"{measure.upper()} in % (less is better)")
    axes.grid(axis="x", alpha=0.3)
    axes.spines[["top", "right"]].set_visible(False)


def _colour(system: Mapping[str, Any]) -> str:
    return OURS if system["name"].startswith("speech_pipeline") else OTHERS
