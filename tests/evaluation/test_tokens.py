"""Tokens are those of the whole text, with the speakers and times of the words they came from."""

from hypothesis import given
from hypothesis import strategies as st

from speech_pipeline.evaluation.normalization import normalizer
from speech_pipeline.evaluation.tokens import Token, tokenize

ENGLISH = normalizer("en")


def test_a_word_that_becomes_two_has_its_time_once() -> None:
    tokens = tokenize("They can't", ENGLISH, [Token("They", "A", 1.0), Token("can't", "B", 2.0)])
    assert tokens == (Token("they", "A", 1.0), Token("can", "B", 2.0), Token("not", "B", None))


def test_words_that_become_one_have_the_first_ones_time() -> None:
    tokens = tokenize(
        "twenty one dogs", ENGLISH, [Token("twenty", "A", 1.0), Token("one", "B", 2.0), Token("dogs", "B", 3.0)]
    )
    assert tokens == (Token("21", "A", 1.0), Token("dogs", "B", 3.0))


def test_words_without_a_text_of_their_own_are_passed_over() -> None:
    tokens = tokenize("uh hello", ENGLISH, [Token("uh", "A", 1.0), Token("hello", "B", 2.0)])
    assert tokens == (Token("hello", "B", 2.0),)


def test_text_without_words_has_no_speakers() -> None:
    assert tokenize("Hello there.", ENGLISH) == (Token("hello"), Token("there"))


@given(
    st.lists(
        st.tuples(st.sampled_from(["yes", "Mr.", "can't", "twenty", "1", "uh", "dogs"]), st.sampled_from("AB")),
        max_size=12,
    )
)
def test_tokens_are_those_of_the_text_and_speakers_those_of_the_words(words: list[tuple[str, str]]) -> None:
    spoken = [Token(word, speaker, float(number)) for number, (word, speaker) in enumerate(words)]
    text = " ".join(word for word, _ in words)
    tokens = tokenize(text, ENGLISH, spoken)
    assert [token.text for token in tokens] == ENGLISH(text).split()
    starts = [token.start for token in tokens if token.start is not None]
    assert starts == sorted(starts)
    assert all(spoken[int(token.start)].speaker == token.speaker for token in tokens if token.start is not None)
    assert all(token.speaker is not None for token in tokens)
