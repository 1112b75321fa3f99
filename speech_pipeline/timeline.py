"""Transcript -> a picture of who speaks when: one lane a speaker, turns as bars, what was said below them."""

import textwrap
import warnings
from collections.abc import Sequence
from math import ceil
from pathlib import Path
from unicodedata import east_asian_width

from matplotlib import font_manager
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, MultipleLocator

from speech_pipeline.transcript import Segment, SpeakerTurn, Transcript

COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#F0E442")
"""Palette that colour-blind readers can tell apart (Okabe and Ito, 2008); more speakers are hatched as well."""

HATCHES = (None, "///", "...", "xxx", "|||")

ROW_SECONDS = (30, 60, 120, 300, 600, 1200, 1800, 3600, 7200, 14_400)
"""Lengths a row of the picture can have; the shortest is taken that keeps the picture below ``MAX_HEIGHT_IN``."""

TICK_SECONDS = {30: 5, 60: 10, 120: 20, 300: 60, 600: 60, 1200: 120, 1800: 300, 3600: 600, 7200: 1200, 14_400: 1800}

LONGEST_ROW_WITH_TEXT_S = 60
WIDTH_IN = 16.0
MAX_HEIGHT_IN = 60.0
LANE_WITH_TEXT_IN = 0.72
LANE_IN = 0.22
ROW_MARGIN_IN = 0.45
TITLE_IN = 0.4
LEFT_IN, RIGHT_IN = 1.1, 0.2
FONT_PT = 6.5
TEXT_LINES = 4
DOTS_PER_INCH = 110

NARROW_EM, WIDE_EM = 0.56, 1.0
"""Usual width of a Latin and of a Chinese, Japanese or Korean character, in font sizes."""

GAP_PT = 4.0
SAME_BLOCK_PAUSE_S = 0.8
LARGEST_HEIGHT_IN = 400.0
"""A picture can have 65 536 rows of pixels at most."""

CJK_FONTS = (
    "Noto Sans CJK SC",
    "Noto Sans CJK JP",
    "WenQuanYi Micro Hei",
    "Hiragino Sans",
    "Microsoft YaHei",
    "Malgun Gothic",
)
"""Fonts for scripts the default font lacks, used where they are installed."""


_Block = tuple[float, str]
"""Start in seconds, and text to write from there."""


def draw_timeline(transcript: Transcript, destination: Path, title: str = "") -> None:
    """Write a PNG of the recording, wrapped into rows. Rows longer than a minute are too dense for text and have none.

    Args:
        transcript: its turns are the bars; where it has none, its segments are.
        destination: file to write; replaced if there is one.
        title: line above the picture.

    Raises:
        OSError: the file cannot be written.
    """
    segments = transcript.speaker_segments or transcript.segments
    bars = transcript.turns or tuple(SpeakerTurn(s.speaker or "", s.start, s.end) for s in segments)
    lanes = sorted({bar.speaker for bar in bars} | {segment.speaker or "" for segment in segments}) or [""]
    duration = max([transcript.duration, 1.0, *(bar.end for bar in bars)])
    row_s, rows, height = _page(duration, len(lanes))

    figure = Figure(figsize=(WIDTH_IN, height), dpi=DOTS_PER_INCH)
    canvas = FigureCanvasAgg(figure)
    if title:
        figure.text(0.5, 1 - 0.25 / height, title, ha="center", va="center", fontsize=11, parse_math=False)
    row_height = (height - TITLE_IN) / rows
    for row in range(rows):
        bottom = (height - TITLE_IN - (row + 1) * row_height + ROW_MARGIN_IN) / height
        axes = figure.add_axes(
            (LEFT_IN / WIDTH_IN, bottom, 1 - (LEFT_IN + RIGHT_IN) / WIDTH_IN, (row_height - ROW_MARGIN_IN) / height)
        )
        _prepare(axes, row * row_s, row_s, lanes)
        for lane, speaker in enumerate(lanes):
            _draw_bars(axes, lane, [bar for bar in bars if bar.speaker == speaker], row_s <= LONGEST_ROW_WITH_TEXT_S)
            if row_s <= LONGEST_ROW_WITH_TEXT_S:
                spoken = [segment for segment in segments if (segment.speaker or "") == speaker]
                _write(axes, lane, _blocks(spoken, row * row_s, (row + 1) * row_s), row_s)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing from")
        canvas.print_png(destination)


def _page(duration: float, lanes: int) -> tuple[float, int, float]:
    """Seconds of a row, number of rows, height of the picture in inches."""
    row_s: float = ROW_SECONDS[0]
    while True:
        rows = ceil(duration / row_s)
        lane_height = LANE_WITH_TEXT_IN if row_s <= LONGEST_ROW_WITH_TEXT_S else LANE_IN
        height = TITLE_IN + rows * (lanes * lane_height + ROW_MARGIN_IN)
        if height <= MAX_HEIGHT_IN or rows == 1:
            return row_s, rows, min(height, LARGEST_HEIGHT_IN)
        row_s = next((longer for longer in ROW_SECONDS if longer > row_s), row_s * 2)


def _prepare(axes: Axes, start: float, row_s: float, lanes: Sequence[str]) -> None:
    axes.set_xlim(start, start + row_s)
    axes.set_ylim(len(lanes), 0)
    middle = 0.17 if row_s <= LONGEST_ROW_WITH_TEXT_S else 0.44
    axes.set_yticks([lane + middle for lane in range(len(lanes))], lanes, fontsize=FONT_PT + 1, parse_math=False)
    axes.xaxis.set_major_locator(MultipleLocator(TICK_SECONDS.get(int(row_s), row_s / 8)))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda seconds, _: _clock(seconds)))
    axes.tick_params(axis="x", labelsize=FONT_PT + 1)
    axes.tick_params(axis="y", length=0)
    axes.grid(axis="x", color="0.9", linewidth=0.6)
    axes.set_axisbelow(True)
    for side in ("top", "right", "left"):
        axes.spines[side].set_visible(False)


def _draw_bars(axes: Axes, lane: int, turns: Sequence[SpeakerTurn], with_text: bool) -> None:
    left, right = axes.get_xlim()
    visible = [(max(t.start, left), min(t.end, right)) for t in turns if t.end > left and t.start < right]
    axes.broken_barh(
        [(start, end - start) for start, end in visible],
        (lane + 0.04, 0.26 if with_text else 0.8),
        facecolors=COLOURS[lane % len(COLOURS)],
        hatch=HATCHES[lane // len(COLOURS) % len(HATCHES)],
        edgecolor="0.25",
        linewidth=0.4,
    )


def _blocks(segments: Sequence[Segment], start: float, end: float) -> list[_Block]:
    """What one speaker says in a row; sentences that follow one another closely are one block."""
    blocks: list[_Block] = []
    said_until = -1e9
    for segment in sorted(segments, key=lambda segment: segment.start):
        parts = segment.words or (segment,)
        inside = [part for part in parts if start <= part.start < end]
        text = "".join(part.text for part in inside)
        if not text.strip():
            continue
        if blocks and inside[0].start - said_until < SAME_BLOCK_PAUSE_S:
            blocks[-1] = (blocks[-1][0], blocks[-1][1] + text)
        else:
            blocks.append((inside[0].start, text))
        said_until = inside[-1].end
    return blocks


def _write(axes: Axes, lane: int, blocks: Sequence[_Block], row_s: float) -> None:
    """Write each block below its lane, wrapped into the space before the next block."""
    points_per_second = (WIDTH_IN - LEFT_IN - RIGHT_IN) * 72 / row_s
    families = ["DejaVu Sans", *sorted(set(CJK_FONTS) & set(font_manager.get_font_names()))]
    for index, (start, text) in enumerate(blocks):
        limit = blocks[index + 1][0] if index + 1 < len(blocks) else axes.get_xlim()[1]
        axes.text(
            start,
            lane + 0.34,
            _wrap(text, (limit - start) * points_per_second - GAP_PT),
            fontsize=FONT_PT,
            family=families,
            va="top",
            linespacing=1.1,
            parse_math=False,
            clip_on=True,
        )


def _wrap(text: str, width_points: float) -> str:
    """The text in at most ``TEXT_LINES`` lines, with an ellipsis if there is more."""
    text = " ".join(text.split())
    average_em = sum(WIDE_EM if east_asian_width(character) in "WF" else NARROW_EM for character in text) / len(text)
    characters = max(2, int(width_points / (average_em * FONT_PT)))
    return textwrap.fill(text, characters, max_lines=TEXT_LINES, placeholder="…")


def _clock(seconds: float) -> str:
    """``m:ss``, or ``h:mm:ss`` from an hour on."""
    minutes, second = divmod(round(seconds), 60)
    hours, minute = divmod(minutes, 60)
    return f"{hours}:{minute:02d}:{second:02d}" if hours else f"{minute}:{second:02d}"
