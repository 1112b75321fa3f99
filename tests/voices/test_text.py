"""Text that engines are given: what is not spoken is left out, and what is left is cut where a speaker would pause."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from speech_pipeline.voices.text import cut, speakable

ANY_TEXT = st.text(st.characters(), max_size=300)
"""Any characters, those that no encoding takes among them."""


def width(text: str) -> int:
    return sum(3 if unicodedata.east_asian_width(character) in "WF" else 1 for character in text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "   ",
        "\0\x07\x1b",
        "\u200b\u200d\ufeff",
        "😀👍🏽 👩‍👩‍👧 🇫🇷 ✨→☕",
        "...!?",
        "---",
        "<br/>",
        "\ud800",
        "**",
        "…。、",
    ],
)
def test_nothing_is_left_of_what_nobody_says(text: str) -> None:
    assert speakable(text) == ""


@pytest.mark.parametrize(
    ("text", "spoken"),
    [
        ("Hello\0 the\x1bre\u202e!", "Hello the re!"),
        ("Well done 👍🏽, Ann 🎉!", "Well done , Ann !"),
        ('<speak>Wait <break time="1s"/>here.</speak>', "Wait here."),
        ("<!-- not this -->But this.<br>", "But this."),
        ("1 < 2 and 3 > 2; x<y and y>z", "1 < 2 and 3 > 2; x<y and y>z"),
        ("20 °C, 5 ㎏, №3, ™", "20 °C, 5 kg, №3, ™"),
        ("One\r\ntwo\n\n\nthree\u2029four", "One two\n\nthree\n\nfour"),
        ("Wait......... what?!?!", "Wait. what?!?!"),
        ("e\u0301te\u0301", "été"),
        ("zero\u200bwidth \u2764\ufe0f joined", "zerowidth joined"),
        ("कि नमस्ते", "कि नमस्ते"),
        ("오늘은 좋다。", "오늘은 좋다。"),
    ],
)
def test_what_is_said_stays(text: str, spoken: str) -> None:
    assert speakable(text) == spoken


@given(ANY_TEXT)
def test_what_is_left_can_be_encoded_and_is_left_as_it_is(text: str) -> None:
    spoken = speakable(text)
    spoken.encode()
    assert not any(unicodedata.category(character) in ("Cc", "Cs") for character in spoken if character != "\n")
    assert speakable(spoken) == spoken


@given(st.one_of(ANY_TEXT, st.text("ab .,!?。，\n漢字", max_size=400)), st.integers(3, 60))
def test_pieces_hold_the_whole_text_and_none_is_too_long(text: str, longest: int) -> None:
    spoken = speakable(text)
    pieces = list(cut(spoken, longest))
    assert "".join("".join(pieces).split()) == "".join(spoken.split())
    assert all(piece and piece == piece.strip() and width(piece) <= longest for piece in pieces)


@pytest.mark.parametrize(
    ("text", "longest", "pieces"),
    [
        ("One two. Three four. Five.", 22, ["One two. Three four.", "Five."]),
        ("He said “Stop.” Then he left.", 20, ["He said “Stop.”", "Then he left."]),
        ("He said: one, two, three and four", 20, ["He said: one, two,", "three and four"]),
        ("Pi is 3.14159265 today", 12, ["Pi is", "3.14159265", "today"]),
        ("abcdefghij", 4, ["abcd", "efgh", "ij"]),
        ("今天很好。我们走吧。", 18, ["今天很好。", "我们走吧。"]),
        ("Title\n\nText.", 100, ["Title", "Text."]),
    ],
)
def test_cut_behind_sentences_then_clauses_then_words(text: str, longest: int, pieces: list[str]) -> None:
    assert list(cut(text, longest)) == pieces


def test_marks_stay_with_their_letters() -> None:
    assert list(cut("x\u0323" * 4, 3)) == ["x\u0323", "x\u0323", "x\u0323", "x\u0323"]
