"""The picture of a recording, looked at as an image."""

from pathlib import Path

import numpy as np
import pytest
from matplotlib.colors import to_rgb
from matplotlib.image import imread

from speech_pipeline.timeline import COLOURS, draw_timeline
from speech_pipeline.transcript import Segment, SpeakerTurn, Transcript, Word


def share_of(picture: Path, colour: str) -> float:
    """Part of the pixels that have the colour."""
    pixels = imread(picture)[..., :3]
    return float(np.mean(np.abs(pixels - to_rgb(colour)).max(axis=-1) < 0.01))


def ink_of(picture: Path) -> int:
    """Pixels that are almost black: text and axes."""
    return int(np.sum(imread(picture)[..., :3].max(axis=-1) < 0.2))


def two_speakers(text: str = " Hello there.") -> Transcript:
    segments = tuple(
        Segment(text, start, start + 2, (Word(text, start, start + 2),), speaker)
        for speaker, start in (("SPEAKER_00", 1.0), ("SPEAKER_01", 4.0))
    )
    turns = (SpeakerTurn("SPEAKER_00", 1, 3), SpeakerTurn("SPEAKER_01", 4, 10))
    return Transcript(segments, segments, turns, "en", 12.0)


def test_bars_have_the_colour_of_their_speaker_and_the_length_of_their_turns(tmp_path: Path) -> None:
    draw_timeline(two_speakers(), tmp_path / "call.png", "A call")
    first, second = (share_of(tmp_path / "call.png", colour) for colour in COLOURS[:2])
    assert first > 0
    assert second / first == pytest.approx(3.0, rel=0.1)


def test_what_was_said_is_written(tmp_path: Path) -> None:
    draw_timeline(two_speakers(), tmp_path / "text.png")
    draw_timeline(two_speakers(" "), tmp_path / "none.png")
    assert ink_of(tmp_path / "text.png") > ink_of(tmp_path / "none.png")


def test_long_recordings_are_wrapped_into_rows(tmp_path: Path) -> None:
    draw_timeline(two_speakers(), tmp_path / "short.png")
    turns = tuple(SpeakerTurn(f"s{index % 3}", 10.0 * index, 10.0 * index + 9) for index in range(720))
    two_hours = Transcript(turns=turns, duration=7200)
    draw_timeline(two_hours, tmp_path / "long.png")
    short, long = imread(tmp_path / "short.png"), imread(tmp_path / "long.png")
    assert long.shape[1] == short.shape[1]
    assert 3 * short.shape[0] < long.shape[0] < 10_000


def test_segments_are_the_bars_where_there_are_no_turns(tmp_path: Path) -> None:
    draw_timeline(Transcript((Segment(" Hi.", 0, 5),), duration=10.0), tmp_path / "plain.png")
    assert share_of(tmp_path / "plain.png", COLOURS[0]) > 0.01


@pytest.mark.parametrize(
    "unusual",
    [
        Transcript(),
        two_speakers(" costs $5 or $x_{ or \\frac{1} & <b>"),
        two_speakers(" 今天天气很好，我们去公园散步吧。"),
        two_speakers(f" {'x' * 500}"),
        Transcript((Segment(" late", 90_000, 90_001),), duration=90_001.0),
        Transcript(turns=tuple(SpeakerTurn(f"s{i}", i, i + 1) for i in range(40)), duration=41.0),
        Transcript(turns=(SpeakerTurn("a", 3, 3),), duration=4.0),
    ],
    ids=["empty", "mathematics", "chinese", "one long word", "a day", "40 speakers", "no length"],
)
def test_unusual_transcripts_give_a_picture(unusual: Transcript, tmp_path: Path) -> None:
    draw_timeline(unusual, tmp_path / "picture.png", "costs $5 or $x_{")
    assert imread(tmp_path / "picture.png").size > 0
