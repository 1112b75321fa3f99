"""Transcripts written in every format, and subtitles read back."""

import json
from collections.abc import Sequence
from itertools import pairwise

import pysubs2
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from speech_pipeline.errors import InvalidParameters
from speech_pipeline.formats import FORMATS, format_transcript, to_json, to_rttm, to_srt, to_stm, to_txt, to_vtt
from speech_pipeline.subtitles import LINE_WIDTH, MAX_CUE_S, MIN_CUE_S, READING_SPEED, display_width, layout
from speech_pipeline.transcript import Segment, SpeakerTurn, Transcript, Word


def spoken(text: str, start: float, end: float, speaker: str | None = None) -> Segment:
    """A segment whose words are spread evenly from start to end."""
    words = text.split()
    step = (end - start) / len(words)
    timed = tuple(Word(f" {w}", start + i * step, start + (i + 1) * step, 1.0, speaker) for i, w in enumerate(words))
    return Segment("".join(word.text for word in timed), start, end, timed, speaker)


def transcript(*segments: Segment, turns: Sequence[SpeakerTurn] = (), duration: float = 60.0) -> Transcript:
    attributed = segments if any(segment.speaker for segment in segments) else ()
    return Transcript(segments, attributed, tuple(turns), "en", duration)


CALL = transcript(
    spoken("Oh, hello. I didn't know you were there.", 1.0, 3.0, "SPEAKER_00"),
    spoken("Neither did I.", 3.1, 4.0, "SPEAKER_01"),
    spoken("What a surprise.", 4.2, 5.0, "SPEAKER_01"),
    spoken("Anyway, I have to go.", 9.0, 10.0, "SPEAKER_01"),
    turns=(SpeakerTurn("SPEAKER_00", 0.9, 3.05), SpeakerTurn("SPEAKER_01", 3.1, 10.0)),
)


def test_json_is_the_response() -> None:
    assert format_transcript(CALL, "json") is None
    assert json.loads(to_json(CALL)) == CALL.to_response()
    assert "好" in to_json(transcript(Segment("好", 0, 1)))


def test_txt_has_a_paragraph_a_speaker_and_long_pause() -> None:
    assert to_txt(CALL) == (
        "SPEAKER_00: Oh, hello. I didn't know you were there.\n\n"
        "SPEAKER_01: Neither did I. What a surprise.\n\n"
        "SPEAKER_01: Anyway, I have to go.\n"
    )


def test_txt_without_speakers() -> None:
    assert (
        to_txt(transcript(spoken("One.", 0, 1), spoken("Two.", 1, 2), spoken("Three.", 8, 9)))
        == "One. Two.\n\nThree.\n"
    )


def test_srt() -> None:
    assert to_srt(CALL).startswith(
        "1\n00:00:01,000 --> 00:00:03,100\nSPEAKER_00: Oh, hello.\nI didn't know you were there.\n\n"
        "2\n00:00:03,100 --> 00:00:05,"
    )


def test_vtt() -> None:
    assert to_vtt(CALL).startswith(
        "WEBVTT\n\n1\n00:00:01.000 --> 00:00:03.000\n<v SPEAKER_00>Oh, hello. I didn't know you were there.\n\n"
    )


def test_rttm() -> None:
    assert to_rttm(CALL, "my call") == (
        "SPEAKER my_call 1 0.900 2.150 <NA> <NA> SPEAKER_00 <NA> <NA>\n"
        "SPEAKER my_call 1 3.100 6.900 <NA> <NA> SPEAKER_01 <NA> <NA>\n"
    )


def test_rttm_of_channels_that_are_speakers() -> None:
    assert to_rttm(transcript(spoken("Hi.", 1, 2, "SPEAKER_01"))) == (
        "SPEAKER recording 1 1.000 1.000 <NA> <NA> SPEAKER_01 <NA> <NA>\n"
    )


def test_stm() -> None:
    assert to_stm(CALL, "call").splitlines()[1] == "call 1 SPEAKER_01 3.100 4.000 Neither did I."
    assert to_stm(transcript(spoken("Hi.", 1, 2))) == "recording 1 <NA> 1.000 2.000 Hi.\n"


@pytest.mark.parametrize("recording", [";;comment", " a\tb\nc ", "", ";; "])
def test_names_are_single_fields(recording: str) -> None:
    for text in (to_rttm(CALL, recording), to_stm(CALL, recording)):
        fields = text.splitlines()[0].split(" ")
        assert len(fields) >= 6
        assert all(fields)
        assert not text.startswith(";;")


@pytest.mark.parametrize("format", FORMATS)
def test_empty_transcript(format: str) -> None:
    text = format_transcript(Transcript(), format)
    assert text == {"json": None, "vtt": "WEBVTT\n\n"}.get(format, "")


def test_unknown_format() -> None:
    with pytest.raises(InvalidParameters, match="json, txt"):
        format_transcript(CALL, "docx")


HOSTILE = "a --> b\n\n2\n00:00:01,000 --> 00:00:02,000\n<b>x</b> & c {\\an8} \\N d"


def test_text_that_looks_like_markup_stays_text_in_srt() -> None:
    text = to_srt(transcript(Segment(HOSTILE, 0, 9)))
    assert text.count("-->") == len(text.strip().split("\n\n"))
    assert "00:00:01,000 → 00:00:02,000" in " ".join(text.split())
    assert "{" in text
    assert "<" not in text


def test_text_that_looks_like_markup_is_escaped_in_vtt() -> None:
    segment = Segment(HOSTILE, 0, 9, speaker="<v A&B>")
    text = to_vtt(Transcript((segment,), (segment,), duration=9))
    body = [line for line in text.splitlines() if " --> " not in line]
    assert not any("-->" in line for line in body)
    assert "<v &lt;v A&amp;B&gt;>" in text
    assert "&lt;b&gt;x&lt;/b&gt; &amp; c" in " ".join(text.split())


def test_one_line_formats_take_text_with_line_breaks() -> None:
    hostile = transcript(Segment(HOSTILE, 0, 9, speaker="A\nB"))
    assert len(to_stm(hostile).splitlines()) == 1
    assert len(to_txt(hostile).splitlines()) == 1


# Cues


def test_cues_end_at_sentence_ends_speaker_changes_and_pauses() -> None:
    long = spoken(
        "This sentence is a little longer than one line of subtitles. The next one begins here and it is "
        "about as long as the first.",
        0.0,
        9.0,
    )
    cues = layout(transcript(long, spoken("Then", 20, 20.3), spoken("nothing.", 24, 24.4)))
    assert [" ".join(cue.lines) for cue in cues] == [
        "This sentence is a little longer than one line of subtitles.",
        "The next one begins here and it is about as long as the first.",
        "Then",
        "nothing.",
    ]
    assert [" ".join(cue.lines) for cue in layout(CALL)][:2] == [
        "Oh, hello. I didn't know you were there.",
        "Neither did I. What a surprise.",
    ]


def test_cues_stay_into_the_silence_until_they_are_read() -> None:
    short, cue = layout(transcript(spoken("Yes.", 1.0, 1.1), spoken("Far too fast to read this text.", 5.0, 5.5)))
    assert short.end - short.start == pytest.approx(MIN_CUE_S)
    assert cue.end - cue.start == pytest.approx(len(cue.lines[0]) / READING_SPEED)


def test_cues_do_not_stay_beyond_the_recording() -> None:
    (cue,) = layout(transcript(spoken("Yes, I know.", 1.0, 1.1), duration=1.3))
    assert cue.end == 1.3


def test_chinese_lines_hold_18_characters_and_do_not_begin_with_punctuation() -> None:
    text = "今天天气很好，我们去公园散步吧。明天可能会下雨，所以最好带一把雨伞出门，不然会被淋湿的。" * 3
    cues = layout(transcript(Segment(text, 0, 40)))
    lines = [line for cue in cues for line in cue.lines]
    assert "".join(lines) == text
    assert max(map(len, lines)) <= 18
    assert not any(line[0] in "，。" for line in lines)


def test_words_in_pieces_are_not_broken() -> None:
    words = tuple(Word(text, i, i + 1) for i, text in enumerate([" don", "'t", " fort", "y-two"]))
    cues = layout(transcript(Segment(" don't forty-two", 0, 4, words)))
    assert [cue.lines for cue in cues] == [("don't forty-two",)]


def test_thai_words_are_places_to_break() -> None:
    words = tuple(Word("สวัสดี", 0.3 * i, 0.3 * (i + 1)) for i in range(30))
    lines = [line for cue in layout(transcript(Segment("สวัสดี" * 30, 0, 9, words))) for line in cue.lines]
    assert "".join(lines) == "สวัสดี" * 30
    assert max(map(display_width, lines)) <= LINE_WIDTH


letters = st.text("abcdefghij", min_size=1, max_size=12)
marks = st.sampled_from(["", "", "", ".", ",", "?", '!"'])
latin = st.builds(lambda text, mark: f" {text}{mark}", letters, marks)
characters = st.text("好天气我们去公园", min_size=1, max_size=3)
wide = st.builds(lambda text, mark: text + mark, characters, st.sampled_from(["", "，", "。"]))
huge = st.just(f" {'x' * 60}")
pieces = st.one_of(latin, latin, latin, wide, huge)


@st.composite
def transcripts(draw: st.DrawFn) -> Transcript:
    """Recordings with pauses, words at one time, words out of order, and segments without words."""
    segments = []
    clock = draw(st.floats(0, 3))
    for _ in range(draw(st.integers(0, 8))):
        speaker = draw(st.sampled_from([None, "SPEAKER_00", "SPEAKER_01"]))
        words = []
        for text in draw(st.lists(pieces, min_size=1, max_size=25)):
            length = draw(st.sampled_from([0.0, 0.1, 0.3, 0.5, 9.0]))
            words.append(Word(text, clock, clock + length))
            clock = max(0.0, clock + length + draw(st.sampled_from([0.0, 0.0, 0.2, 3.0, -0.4])))
        text = "".join(word.text for word in words)
        timed = tuple(words) if draw(st.booleans()) else ()
        segments.append(Segment(text, words[0].start, max(words[0].start, words[-1].end), timed, speaker))
    return transcript(*segments, duration=clock + 2)


@given(transcripts(), st.sampled_from(["srt", "vtt"]))
@settings(deadline=None)
def test_subtitles_read_back(given_transcript: Transcript, format: str) -> None:
    text = format_transcript(given_transcript, format)
    assert text is not None
    cues = list(pysubs2.SSAFile.from_string(text, format_=format)) if "-->" in text else []

    assert all(0 <= cue.start < cue.end for cue in cues)
    assert all(cue.end - cue.start <= MAX_CUE_S * 1000 for cue in cues)
    assert all(before.end <= after.start for before, after in pairwise(cues))
    lines = [line for cue in cues for line in cue.text.split(r"\N")]
    assert all(cue.text.count(r"\N") <= 1 for cue in cues)
    assert all(display_width(line) <= LINE_WIDTH or " " not in line for line in lines)

    said = "".join("".join(segment.text for segment in given_transcript.segments).split())
    shown = "".join(lines)
    for speaker in ("SPEAKER_00:", "SPEAKER_01:"):
        shown = shown.replace(speaker, "")
    assert "".join(shown.split()) == said
