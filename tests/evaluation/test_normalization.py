"""Texts that differ only in how they are written are equal after normalisation."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from speech_pipeline.evaluation.normalization import SPACELESS_LANGUAGES, normalizer

LANGUAGES = st.lists(st.sampled_from(["en", "de", "es", "fr", "ru", "zh", "th"]), max_size=3, unique=True)


@pytest.mark.parametrize(
    ("language", "texts", "normalised"),
    [
        ("en", ("1 2 3", "1, 2, 3", "One, two, three.", "one 2 3", "123"), "123"),
        ("en", ("twenty-one people", "21 people"), "21 people"),
        ("en", ("one thousand people", "1,000 people"), "1000 people"),
        ("en", ("It's Mr. Smith's colour!", "it is mister smith's color"), None),
        ("en", ("five dollars", "$5"), "$5"),
        ("en", ("555 12 34", "five five five, one two, three four"), "5551234"),
        ("en", ("Well, [laughs] uh, yes", "well yes...", "well yes"), "well yes"),
        ("de", ("eins, zwei, drei", "1 2 3"), "123"),
        ("de", ("zweiundzwanzig Häuser", "22 häuser"), "22 häuser"),
        ("de", ("tausend Leute", "1.000 Leute"), "1000 leute"),
        ("es", ("Tengo veintidós años.", "tengo 22 años"), "tengo 22 años"),
        ("fr", ("quatre-vingt-dix-neuf chats", "99 chats"), "99 chats"),
        ("it", ("ho ventidue cani", "Ho 22 cani!"), "ho 22 cani"),
        ("pt", ("vinte e dois", "22"), "22"),
        ("nl", ("tweeëntwintig", "22"), "22"),
        ("da", ("toogtyve", "22"), "22"),
        ("ru", ("Привет, мир!", "привет мир"), "привет мир"),
        ((), ("Ça va?", "ça va"), "ça va"),
        (("de", "en"), ("One, two, three. Einundzwanzig?", "1 2 3 21"), "12321"),
        (("es", "en"), ("Fasten twenty seat belts. ¿Veintidós?", "fasten 20 seat belts 22"), None),
        ("zh", ("你好，世界", "你好世界"), "你 好 世 界"),
    ],
)
def test_equal_texts(language: str | tuple[str, ...], texts: tuple[str, ...], normalised: str | None) -> None:
    languages = (language,) if isinstance(language, str) else language
    found = {normalizer(*languages)(text) for text in texts}
    assert len(found) == 1, found
    assert normalised is None or found == {normalised}


@pytest.mark.parametrize(("language", "text"), [("de", "I'm well"), ("fr", "colour")])
def test_rules_of_english_are_for_english_only(language: str, text: str) -> None:
    english = normalizer("en")(text)
    assert english not in (normalizer(language)(text), normalizer()(text), normalizer("en", language)(text))


@given(text=st.text(max_size=60), languages=LANGUAGES)
def test_any_text_becomes_words_parted_by_single_spaces(text: str, languages: list[str]) -> None:
    normalised = normalizer(*languages)(text)
    assert normalised == " ".join(normalised.split())
    assert normalised == normalizer(*languages)(f"  {text}\n")


@given(text=st.text(alphabet="ab你好，。 ", max_size=20), language=st.sampled_from(sorted(SPACELESS_LANGUAGES)))
def test_spaces_mean_nothing_in_languages_without_them(text: str, language: str) -> None:
    normalize = normalizer(language)
    assert normalize(text) == normalize("".join(text.split()))
    assert all(len(token) == 1 for token in normalize(text).split())


@pytest.mark.parametrize("text", ["", " ", "...", "[music]"])
@pytest.mark.parametrize("languages", [("en",), ("de",), ("ja",), (), ("en", "de")])
def test_nothing_said_is_empty(text: str, languages: tuple[str, ...]) -> None:
    assert normalizer(*languages)(text) == ""
