"""Where a stream of text is cut, in six languages: never early, never late, and the same however it arrives."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from speech_pipeline.reply.sentences import MAX_WIDTH, SentenceSplitter, split_sentences

LANGUAGES = ("en", "fr", "es", "zh", "ja", "ko")

SENTENCES = [
    ("en", ["He paid $29.50. ", "Then he left."]),
    ("en", ["Dr. Smith lives at 5 Main St. in the U.S. now. ", "Fine."]),
    ("en", ["Wait... what? ", "Yes!"]),
    ("en", ['"Stop!" he said. ', '"Go." ', "Fine."]),
    ("en", ['He said, "Stop. Go." ', "Then he left."]),
    ("en", ["Really?! ", "Yes."]),
    ("en", ["Bring fruit, e.g. apples, to J. R. R. Tolkien. ", "Thanks."]),
    ("en", ["It was 3 p.m. when we left. ", "See No. 5 there."]),
    ("en", ["See www.example.com. ", "Version 2.0.1 is out."]),
    ("en", ["The iPhone costs 1,000 dollars. ", "That is all."]),
    ("en", ["**Stop.** ", "*Go!* ", "`x` is **bold. ", "So** it is."]),
    ("en", ["1. Preheat the oven. ", "2. Wait."]),
    ("en", ["Buy these:\n", "- milk\n", "- bread\n\n", "Done"]),
    ("fr", ["M. Dupont habite av. Foch. ", "Il dort."]),
    ("fr", ["« Bonjour ! » dit-il. ", "Oui ?"]),
    ("fr", ["« Bonjour. Ça va ? » ", "Il part."]),
    ("fr", ["Quoi ? ", "Rien ! ", "Il pèse 3,5 kg."]),
    ("fr", ["Prends un fruit, p. ex. une pomme. ", "Merci."]),
    ("es", ["El Sr. López vive en EE. UU. desde 2010. ", "¿Qué tal? ", "¡Bien!"]),
    ("es", ["Cuesta 1.500 euros. ", "Es mucho."]),
    ("zh", ["他说：“你好。”", "然后走了。", "再见！", "好吗？"]),
    ("zh", ["价格是3.5元。", "不贵。"]),
    ("ja", ["「行こう。」と言った。", "はい。"]),
    ("ja", ["本当ですか？", "はい！", "「はい。」", "彼は言った。"]),
    ("ja", ["えっ!?", "本当ですか。"]),
    ("ko", ['"가자."라고 했다. ', "네. ", "3.5킬로입니다. ", "좋아요!"]),
]


@pytest.mark.parametrize(("language", "pieces"), SENTENCES, ids=lambda value: value if isinstance(value, str) else "")
def test_sentences(language: str, pieces: list[str]) -> None:
    assert split_sentences("".join(pieces), language) == pieces


def test_a_sentence_comes_with_the_first_character_of_the_next() -> None:
    splitter = SentenceSplitter("en")
    assert splitter.feed("That is all.") == []
    assert splitter.feed(" ") == []
    assert splitter.feed("N") == ["That is all. "]
    assert splitter.finish() == ["N"]


@pytest.mark.parametrize(
    ("language", "text", "likely"),
    [
        ("en", "That is all.", True),
        ("en", '"Is that all?"', True),
        ("zh", "你好。", True),
        ("ja", "「はい。」", True),
        ("fr", "« Bonjour ! »", True),
        ("en", "That is", False),
        ("en", "It costs $29.", False),
        ("en", "Ask Dr.", False),
        ("en", "Bring e.g.", False),
        ("en", '"Stop.', False),
        ("en", "...", False),
        ("en", "", False),
    ],
)
def test_a_sentence_may_be_guessed_before_it_is_certain(language: str, text: str, likely: bool) -> None:
    splitter = SentenceSplitter(language)
    assert splitter.feed(text) == []
    assert splitter.likely() == (text if likely else "")
    assert splitter.finish() == [text] * bool(text)


def test_a_guess_is_cut_off_unless_the_text_has_gone_on() -> None:
    splitter = SentenceSplitter("en")
    splitter.feed("That is all.")
    assert splitter.cut_at("That is") == ""
    assert splitter.cut_at("That is all.") == "That is all."
    assert splitter.feed(" More.") == []
    assert splitter.cut_at("More.") == "", "only the first piece is in a hurry"
    assert splitter.finish() == [" More."]


def test_scripts_without_spaces_need_none() -> None:
    splitter = SentenceSplitter("ja")
    assert splitter.feed("はい。") == []
    assert splitter.feed("次") == ["はい。"]


def test_the_first_piece_may_end_at_a_comma_and_the_next_may_not() -> None:
    first = "The sky looks blue to us because the air, "
    second = "which scatters short waves of light far more than long ones, sends blue light here. "
    assert split_sentences(first + second + "Fine.", "en") == [first, second, "Fine."]
    first, second = "天空看起来是蓝色的，因为空气中的微小颗粒，", "把阳光里的蓝光散射得比红光多得多，所以我们看到蓝色。"
    assert split_sentences(first + second, "zh") == [first, second]


def test_a_short_first_piece_does_not_end_at_a_comma() -> None:
    assert split_sentences("Well, yes, of course.", "en") == ["Well, yes, of course."]


def test_numbers_are_not_cut_at_their_commas() -> None:
    text = "The distance to the moon is on average about 384,400 kilometers, give or take."
    assert split_sentences(text, "en")[0].endswith("kilometers, ")


@pytest.mark.parametrize(("language", "text"), [("en", "word " * 500), ("en", "x" * 3_000), ("zh", "蓝" * 2_000)])
def test_text_that_never_ends_a_sentence_comes_in_pieces_of_bounded_length(language: str, text: str) -> None:
    pieces = split_sentences(text, language)
    assert "".join(pieces) == text
    assert max(map(len, pieces)) <= MAX_WIDTH
    assert len(pieces) > 3
    assert all(piece.endswith(" ") for piece in pieces[:-1] if " " in text)


def test_a_quotation_that_is_never_closed_does_not_hold_the_rest_back() -> None:
    text = '"Listen. ' + "This sentence is one of many. " * 20
    assert len(split_sentences(text, "en")) > 3


def test_a_family_of_emoji_is_not_taken_apart() -> None:
    family = "👨\u200d👩\u200d👧"
    pieces = split_sentences(family * 100, "en")
    assert "".join(pieces) == family * 100
    assert all(piece.startswith("👨") for piece in pieces)


@pytest.mark.parametrize("text", ["", " ", "\n\n", "...", "1.", "?!", "。"])
def test_what_holds_no_words_is_one_piece_at_most(text: str) -> None:
    assert split_sentences(text, "en") == [text] * bool(text)


@pytest.mark.parametrize("language", [None, "de", "yue", "haw", "xx"])
def test_other_languages_are_cut_too(language: str | None) -> None:
    assert split_sentences("Eins zwei drei. Vier fünf.", language) == ["Eins zwei drei. ", "Vier fünf."]


TEXTS = st.lists(
    st.sampled_from(
        [
            *"abXYé1234.,!?;:…'\"()«»“” \n\t",
            *"。！？，、；「」『』（）你好世界はい空네좋아요",
            *("3.14", "1,000", "Dr. ", "M. ", "e.g. ", "p. ej. ", "...", "```\n", "- ", "**", "😀", "é", "word ", "と"),
        ]
    ),
    max_size=120,
).map("".join)
"""Texts made of all that could be hard to cut."""


@st.composite
def chopped_texts(draw: st.DrawFn) -> tuple[str, list[str]]:
    """A text, and the same in chunks."""
    text = draw(TEXTS)
    cuts = sorted(draw(st.lists(st.integers(0, len(text)), max_size=20)))
    return text, [text[start:end] for start, end in itertools.pairwise([0, *cuts, len(text)])]


@given(st.sampled_from(LANGUAGES), chopped_texts())
def test_joined_pieces_are_the_text_however_it_arrives(language: str, chopped: tuple[str, list[str]]) -> None:
    text, chunks = chopped
    splitter = SentenceSplitter(language)
    pieces = [piece for chunk in chunks for piece in splitter.feed(chunk)] + splitter.finish()
    assert "".join(pieces) == text
    assert pieces == split_sentences(text, language)
    assert all(pieces)


@given(st.sampled_from(LANGUAGES), st.text(max_size=200))
def test_any_text_is_given_back(language: str, text: str) -> None:
    assert "".join(split_sentences(text, language)) == text


@given(st.sampled_from(LANGUAGES), TEXTS, TEXTS)
def test_what_was_cut_off_does_not_depend_on_what_comes_later(language: str, text: str, continuation: str) -> None:
    before = SentenceSplitter(language).feed(text)
    assert split_sentences(text + continuation, language)[: len(before)] == before
