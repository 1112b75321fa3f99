import pytest
from hypothesis import given
from hypothesis import strategies as st

from speech_pipeline.languages import language_code, language_codes, language_name, most_spoken
from speech_pipeline.transcript import Segment


@pytest.mark.parametrize(
    ("written", "code"),
    [
        ("en", "en"),
        ("EN", "en"),
        ("english", "en"),
        ("English", "en"),
        (" ES ", "es"),
        ("pt-BR", "pt"),
        ("zh_CN", "zh"),
        ("zh-Hant-TW", "zh"),
        ("de_DE.UTF-8", "de"),
        ("ca_ES@valencia", "ca"),
        ("en-us", "en"),
        ("<|fr|>", "fr"),
        ("<|FR|>", "fr"),
        ("mandarin", "zh"),
        ("castilian", "es"),
        ("flemish", "nl"),
        ("Haitian Creole", "ht"),
        ("yue", "yue"),
        ("cantonese", "yue"),
        ("nb-NO", "no"),
        ("iw", "he"),
        ("jv", "jw"),
        ("javanese", "jw"),
        ("fil", "tl"),
        ("deu", "de"),
        ("ger", "de"),
        ("nld", "nl"),
        ("jpn", "ja"),
    ],
)
def test_languages_as_people_write_them(written: str, code: str) -> None:
    assert language_code(written) == code


@pytest.mark.parametrize("written", ["", " ", "klingon", "xx", "xx-en", "C", "POSIX", "e", "e n", "<||>", "en de", "İ"])
def test_an_unknown_language_is_refused_with_what_would_be_right(written: str) -> None:
    with pytest.raises(ValueError, match=r"'en'.*'english'.*'pt-BR'"):
        language_code(written)


def test_every_code_and_every_name_is_its_own() -> None:
    codes = language_codes()
    assert len(codes) == len(set(codes)) == 100
    for code in codes:
        assert language_code(code) == code
        assert language_code(f"<|{code}|>") == code
        assert language_code(language_name(code)) == code
        assert language_code(language_name(code).title()) == code


def test_names_are_english() -> None:
    assert [language_name(code) for code in ("de", "zh", "my", "yue")] == ["german", "chinese", "myanmar", "cantonese"]


@given(st.text(max_size=20))
def test_any_text_is_a_language_or_refused(text: str) -> None:
    try:
        code = language_code(text)
    except ValueError:
        return
    assert code in language_codes()


def test_most_spoken_goes_by_time() -> None:
    segments = [Segment("", 0, 1, language="fr"), Segment("", 1, 9), Segment("", 9, 12, language="en")]
    assert most_spoken(segments) == "en"
    assert most_spoken(segments[1:2]) is None
