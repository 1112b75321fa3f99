"""RTTM and STM: what is read, and what is said about files that are wrong."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from speech_pipeline.evaluation.references import Utterance, read_rttm, read_stm
from speech_pipeline.formats import to_rttm, to_stm
from speech_pipeline.transcript import Segment, SpeakerTurn, Transcript

RTTM = "SPEAKER call 1 {start} {duration} <NA> <NA> {speaker} <NA> <NA>\n"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("references")


def written(folder: Path, name: str, text: str) -> Path:
    file = folder / name
    file.write_text(text, encoding="utf-8")
    return file


def test_turns_are_ordered_by_start(folder: Path) -> None:
    text = (
        RTTM.format(start=2, duration=1.5, speaker="B")
        + ";; a comment\n\n"
        + RTTM.format(start=0, duration=1, speaker="A")
    )
    text += "SPKR-INFO call 1 <NA> <NA> <NA> unknown A <NA>\n"
    assert read_rttm(written(folder, "a.rttm", text)) == (SpeakerTurn("A", 0.0, 1.0), SpeakerTurn("B", 2.0, 3.5))


def test_utterances_without_those_that_are_not_scored(folder: Path) -> None:
    text = (
        ";; a comment\n"
        "call 1 B 2.0 3.0 <o,f0,female> How are you?\n"
        "call 1 A 0.0 1.0 Hello there.\n"
        "call 1 inter_segment_gap 3.0 4.0\n"
        "call 1 A 4.0 5.0 IGNORE_TIME_SEGMENT_IN_SCORING\n"
        "call 1 A 5.0 6.0\n"
    )
    assert read_stm(written(folder, "a.stm", text)) == (
        Utterance("A", 0.0, 1.0, "Hello there."),
        Utterance("B", 2.0, 3.0, "How are you?"),
        Utterance("A", 5.0, 6.0, ""),
    )


def test_of_several_recordings_the_one_of_the_files_name(folder: Path) -> None:
    lines = RTTM.format(start=0, duration=1, speaker="A") + RTTM.format(start=0, duration=1, speaker="B").replace(
        "call", "other"
    )
    assert read_rttm(written(folder, "other.rttm", lines)) == (SpeakerTurn("B", 0.0, 1.0),)
    with pytest.raises(ValueError, match="2 recordings; one of them must be named third"):
        read_rttm(written(folder, "third.rttm", lines))


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("call 1 A 0.0 1.0 Hello", "line 1 must begin with a type of RTTM"),
        ("SPEAKER call 1 0.0 1.0", "line 1 must be SPEAKER"),
        (RTTM.format(start="zero", duration=1, speaker="A"), "line 1 must have its times in seconds"),
        (RTTM.format(start=-1, duration=1, speaker="A"), "line 1 must have its times in seconds"),
        (RTTM.format(start=0, duration="nan", speaker="A"), "line 1 must have its times in seconds"),
        (RTTM.format(start=0, duration="inf", speaker="A"), "line 1 must have its times in seconds"),
    ],
)
def test_wrong_rttm(folder: Path, line: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        read_rttm(written(folder, "wrong.rttm", line))


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("call 1 A 0.0", "line 1 must be recording"),
        ("call 1 A zero 1.0 Hello", "line 1 must have its times in seconds"),
        ("call 1 A 2.0 1.0 Hello", "line 1 must not end before it starts"),
    ],
)
def test_wrong_stm(folder: Path, line: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        read_stm(written(folder, "wrong.stm", line))


@given(
    st.lists(
        st.tuples(
            st.sampled_from("ABC"),
            st.integers(0, 10_000),
            st.integers(1, 5_000),
            st.sampled_from(["yes", "Oh no!", "1 < 2"]),
        ),
        max_size=6,
    )
)
def test_what_this_project_writes_is_read_back(folder: Path, spoken: list[tuple[str, int, int, str]]) -> None:
    spoken = sorted(spoken, key=lambda turn: turn[1])
    turns = tuple(SpeakerTurn(who, start / 1000, (start + length) / 1000) for who, start, length, _ in spoken)
    segments = tuple(
        Segment(f" {text}", start / 1000, (start + length) / 1000, speaker=who) for who, start, length, text in spoken
    )
    transcript = Transcript(segments, segments, turns)
    read_turns = read_rttm(written(folder, "call.rttm", to_rttm(transcript, "call")))
    assert [(t.speaker, round(t.start, 3), round(t.end, 3)) for t in read_turns] == [
        (t.speaker, t.start, t.end) for t in turns
    ]
    read = read_stm(written(folder, "call.stm", to_stm(transcript, "call")))
    assert [(u.speaker, u.start, u.end, u.text) for u in read] == [
        (s.speaker, s.start, s.end, s.text.strip()) for s in segments
    ]
