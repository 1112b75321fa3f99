from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from transformers import PreTrainedTokenizerBase

from speech_pipeline.recognition.vocabulary import Vocabulary
from speech_pipeline.recognition.words import split_words
from tests.recognition.vocabularies import tokenizer_of, vocabulary_of

LANGUAGES = ["en", "de", "ar", "hi", "zh", "ja", "th"]


@pytest.fixture(scope="module")
def vocabulary(starter_dir: Path) -> Vocabulary:
    return vocabulary_of(starter_dir / "whisper-base")


@pytest.fixture(scope="module")
def tokenizer(starter_dir: Path) -> PreTrainedTokenizerBase:
    return tokenizer_of(starter_dir / "whisper-base")


def check(vocabulary: Vocabulary, ids: list[int], language: str) -> None:
    words = split_words(vocabulary, ids, language)
    text = vocabulary.decode(ids)
    assert "".join(word.text for word in words) == text
    if text:
        assert [position for word in words for position in word.tokens] == list(range(len(ids)))
    for word in words:
        assert len(word.tokens) > 0
        assert set(word.spoken) <= set(word.tokens)


@settings(max_examples=150, deadline=None)
@given(ids=st.lists(st.integers(0, 50_256), max_size=40), language=st.sampled_from(LANGUAGES))
def test_any_tokens_make_words_that_join_to_the_text(vocabulary: Vocabulary, ids: list[int], language: str) -> None:
    check(vocabulary, ids, language)


@settings(max_examples=60, deadline=None)
@given(ids=st.lists(st.integers(50_200, 51_864), max_size=12), language=st.sampled_from(LANGUAGES))
def test_special_tokens_are_part_of_words_and_write_nothing(
    vocabulary: Vocabulary, ids: list[int], language: str
) -> None:
    check(vocabulary, ids, language)


@settings(max_examples=100, deadline=None)
@given(text=st.text(max_size=30), cut=st.integers(0, 3), language=st.sampled_from(LANGUAGES))
def test_any_text_is_kept_even_when_it_ends_inside_a_character(
    vocabulary: Vocabulary, tokenizer: PreTrainedTokenizerBase, text: str, cut: int, language: str
) -> None:
    ids = tokenizer.encode(text, add_special_tokens=False)
    check(vocabulary, ids[: len(ids) - cut], language)


@settings(max_examples=60, deadline=None)
@given(
    text=st.lists(st.sampled_from([*"\"'“”‘’¿¡([{)]}-«»—…., ?!。，「」", "a", "no", "3", "中", " "]), max_size=25),
    language=st.sampled_from(LANGUAGES),
)
def test_every_word_but_a_lone_one_is_heard(
    vocabulary: Vocabulary, tokenizer: PreTrainedTokenizerBase, text: list[str], language: str
) -> None:
    ids = tokenizer.encode("".join(text), add_special_tokens=False)
    check(vocabulary, ids, language)
    words = split_words(vocabulary, ids, language)
    assert all(word.spoken for word in words) or len(words) == 1


@pytest.mark.parametrize(
    ("language", "words"),
    [
        ("en", [" Mr.", " Quilter", " paid", " $5,", " or", " 3.5", " of", " 1,000", " (50%)."]),
        ("en", [" The", " U.S.", " Army", " came", " at", " 3", " p.m.", " sharp."]),
        ("en", [" It's", " a", " well-known", ' "fact",', " don't", " you", " think?"]),
        ("en", [" Wait...", "what?", " Yes—", "no —", " and", " AT&T", " at", " 10:30"]),
        ("en", [" rock", " 'n'", " roll", " at", " -5", " degrees"]),
        ("en", [" Really?!", " No…", " Never."]),
        ("en", ["...and", " so", " on..."]),
        ("es", [" ¿Qué?", " ¡No!", " ¿¡Cómo!?", " «Hola»,", " dijo."]),
        ("es", [" - Hola,", " amigo."]),
        ("fr", [" Quoi ?", " « Bonjour » !", " Aujourd'hui,", " l'eau !"]),
        ("de", [" „Ja“,", " z.", " B.", " am", " 3.", " Oktober."]),
        ("ar", [" مرحبا،", " كيف", " حالك؟"]),
        ("hi", [" नमस्ते।", " कैसे", " हैं?"]),
        ("ko", [" 네,", ' "좋아요".', " 그래요?"]),
        ("ja", ["東", "京", "は", "「日」。"]),
        ("zh", ["价", "格", "3.5", "元，", "OpenAI", "的", "2025。"]),
        ("en", [" I", " like", " 東", "京", " a", " lot."]),
        ("en", [" 👍", " 👨\u200d👩\u200d👧", " ok!"]),
    ],
)
def test_punctuation_is_part_of_the_word_it_belongs_to(
    vocabulary: Vocabulary, tokenizer: PreTrainedTokenizerBase, language: str, words: list[str]
) -> None:
    ids = tokenizer.encode("".join(words), add_special_tokens=False)
    assert [word.text for word in split_words(vocabulary, ids, language)] == words


@pytest.mark.parametrize(
    ("text", "spoken"),
    [
        (' "Yes," (he) said...', ["Yes", "he", " said"]),
        (" ¿Qué?", ["Qué"]),
        (" 3.5, U.S.", [" 3.5", " U.S"]),
        (" — well —", [" well"]),
    ],
)
def test_what_is_heard_leaves_punctuation_out(
    vocabulary: Vocabulary, tokenizer: PreTrainedTokenizerBase, text: str, spoken: list[str]
) -> None:
    ids = tokenizer.encode(text, add_special_tokens=False)
    words = split_words(vocabulary, ids, "en")
    assert [vocabulary.decode([ids[position] for position in word.spoken]) for word in words] == spoken


def test_combining_marks_stay_with_their_letter(vocabulary: Vocabulary, tokenizer: PreTrainedTokenizerBase) -> None:
    ids = tokenizer.encode("สวัสดีครับ", add_special_tokens=False)
    words = split_words(vocabulary, ids, "th")
    assert len(words) > 3
    assert not any(word.text.startswith(("ั", "ี")) for word in words)


def test_marks_alone_are_one_word(vocabulary: Vocabulary) -> None:
    ids = [7] * 224  # "(" over and over
    assert [word.text for word in split_words(vocabulary, ids, "en")] == ["(" * 224]


def test_no_tokens_give_no_words(vocabulary: Vocabulary) -> None:
    assert split_words(vocabulary, [], "en") == []
