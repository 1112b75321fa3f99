from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from speech_pipeline.recognition.segments import MAX_SEGMENT_S, PAUSE_S, split_segments
from speech_pipeline.transcript import Word


def spoken(*texts: str, word_s: float = 0.3, pause_s: float = 0.0) -> list[Word]:
    """Words one after the other."""
    step = word_s + pause_s
    return [Word(text, i * step, i * step + word_s) for i, text in enumerate(texts)]


def sentences(text: str) -> list[str]:
    """The segments of a text whose words are parted by spaces, spoken without a pause."""
    words = spoken(*(f" {word}" for word in text.split()))
    return ["".join(word.text for word in segment).strip() for segment in split_segments(words)]


@st.composite
def word_lists(draw: st.DrawFn) -> list[Word]:
    texts = st.sampled_from([" yes", " No.", " Mr.", " 3.", " well,", "好", "。", " U.S.", " ok?", " ...", "", " "])
    words: list[Word] = []
    time = 0.0
    for text, pause, length in draw(
        st.lists(st.tuples(texts, st.sampled_from([0.0, 0.2, 0.99, 1.0, 7.0]), st.floats(0, 9)), max_size=60)
    ):
        words.append(Word(text, time + pause, time + pause + length))
        time += pause + length
    return words


@given(word_lists())
def test_segments_join_to_the_words(words: list[Word]) -> None:
    segments = list(split_segments(words))
    assert [word for segment in segments for word in segment] == words
    assert all(segments)


@given(word_lists())
def test_no_segment_is_too_long_or_holds_a_long_pause(words: list[Word]) -> None:
    for segment in split_segments(words):
        assert segment[-1].end - segment[0].start <= MAX_SEGMENT_S or len(segment) < 4
        assert all(round(right.start - left.end, 3) < PAUSE_S for left, right in pairwise(segment))


@pytest.mark.parametrize(
    "text",
    [
        "Where are you? | I am here. | Good!",
        'He said "Stop." | Then he left.',
        "(Yes.) | Well… | I think so.",
        "No. | I do not think so.",
        "It was me and I. | We left.",
        "Apples, pears, etc. | Then we left.",
        "I have 3. | You have 12. | He has 3.5. | So?",
        "مرحبا. | كيف حالك؟ | بخير.",
        "네. | 알겠습니다. | 그래요?",
        "क्या? | हाँ। | ठीक है।",
        "Così è. | Poi basta.",
    ],
)
def test_sentences_end(text: str) -> None:
    assert sentences(text.replace("|", "")) == [part.strip() for part in text.split("|")]


@pytest.mark.parametrize(
    "text",
    [
        "Mr. Quilter is the apostle of the middle classes.",
        "We met Dr. Smith and Prof. Jones in St. Louis near Mt. Hood.",
        "The U.S. Army and the U.K. Government agreed.",
        "Come at 3 p.m. Eastern or at 9 a.m. Pacific time.",
        "He came at 3 p.m. on Monday, e.g. Easter.",
        "J. R. R. Tolkien and J.K. Rowling wrote books.",
        "А. С. Пушкин родился в Москве.",
        '"Mr. Smith" is here.',
        "It costs $3.5 or 1,000 in all.",
        "Well... maybe not.",
        "Well… maybe not.",
        '"Stop." he said.',
        "See No. 5 and Fig. 3 of Jan. 12.",
        "Das war am 3. Oktober im 19. Jahrhundert.",
        "Wir nehmen z. B. Hamburg oder d. h. Berlin bzw. Köln.",
        "La Sra. García y el Sr. López vs. Pérez.",
    ],
)
def test_abbreviations_numbers_and_hesitation_end_no_sentence(text: str) -> None:
    assert sentences(text) == [text]


def test_sentences_end_in_scripts_without_spaces() -> None:
    words = spoken("你", "好。", "你", "好", "吗？", "「好！」", "我", "很", "好")
    assert ["".join(word.text for word in segment) for segment in split_segments(words)] == [
        "你好。",
        "你好吗？",
        "「好！」",
        "我很好",
    ]


def test_a_pause_ends_a_segment_whatever_the_words_are() -> None:
    words = [Word(" Mr.", 0.0, 0.4), Word(" Quilter", 1.4, 1.8), Word(" is", 2.7, 2.9)]
    assert [len(segment) for segment in split_segments(words)] == [1, 2]


def test_a_long_segment_is_cut_after_a_comma() -> None:
    texts = [" word"] * 60
    texts[33] = " word,"
    first, second = split_segments(spoken(*texts))
    assert first[-1].text == " word,"
    assert len(first) == 34
    assert len(second) == 26


def test_a_long_segment_without_commas_is_cut_at_the_longest_gap() -> None:
    words = spoken(*[" word"] * 60)
    moved = [*words[:25], *(Word(word.text, word.start + 0.4, word.end + 0.4) for word in words[25:])]
    assert [len(segment) for segment in split_segments(moved)] == [25, 35]


def test_a_long_segment_without_any_break_is_halved() -> None:
    assert [len(segment) for segment in split_segments(spoken(*[" word"] * 60))] == [30, 30]


def test_no_words_give_no_segments() -> None:
    assert list(split_segments([])) == []
