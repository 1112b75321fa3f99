"""What a voice is given to say: plain words, whatever the model wrote."""

import re
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from speech_pipeline.reply.number_words import LANGUAGES
from speech_pipeline.reply.spoken_text import SpokenText, spoken_text

MARKDOWN = [
    ("# Heading", "Heading"),
    ("**Bold**, *slanted* and ***both***.", "Bold, slanted and both."),
    ("Use `print` here.", "Use print here."),
    ("See [the page](https://example.com/a_b?c=d).", "See the page."),
    ("![a cat](cat.png) sits", "a cat sits"),
    ("- first", "first"),
    ("* [x] done", "done"),
    ("1. first", "one. first"),
    ("> quoted", "quoted"),
    ("---", ""),
    ("| a | b |", "a, b"),
    ("|---|:--:|", ""),
    ("~~old~~ new<br>er &amp; more", "old newer and more"),
    ("As shown [1].", "As shown."),
    ("```python\nx = 1\n```", ""),
    ("Before\n```\ncode\n```\nafter", "Before after"),
    ("**cut in", "cut in"),
    ("two.**", "two."),
    ("snake_case and 2*3", "snake case and two times three"),
    ("42.", "forty-two."),
]

ENGLISH = [
    (
        "It costs $12.50, or €1, about $3 million.",
        "It costs twelve dollars fifty, or one euro, about three million dollars.",
    ),
    ("$0.99 or 5 USD", "ninety-nine cents or five dollars"),
    ("5 km at 10 km/h", "five kilometers at ten kilometers per hour"),
    ("50% of 1,234.5 kg", "fifty percent of one thousand two hundred thirty-four point five kilograms"),
    ("-5 °C and 1 km", "minus five degrees Celsius and one kilometer"),
    ("Dr. Smith of 5 St. James St.", "Doctor Smith of five Saint James Street"),
    ("e.g. apples, etc.", "for example apples, et cetera"),
    ("in 1984 and the 1990s", "in nineteen eighty-four and the nineteen nineties"),
    ("2,005 of 2005", "two thousand five of two thousand five"),
    ("the 1st and 22nd", "the first and twenty-second"),
    ("at 14:30, 3:05 PM or 9:00", "at fourteen thirty, three oh five PM or nine o'clock"),
    ("on 2026-11-30", "on November thirtieth, twenty twenty-six"),
    ("pages 3-5", "pages three to five"),
    ("1/2 cup, ¾ cup", "one half cup, three quarters cup"),
    ("version 2.0.1 of H2O", "version two point zero point one of H two O"),
    ("2 + 2 = 4, AT&T, 24/7", "two plus two equals four, AT and T, twenty-four seven"),
    ("mail a.b@c.com, see www.example.com/x", "mail a dot b at c dot com, see example dot com"),
    ("agent 007", "agent zero zero seven"),
    ("99999999999999999999", " ".join(["nine"] * 20)),
    ("Great 👍🏽 :) ❤️!", "Great!"),
    ("1️⃣ one", "one one"),
    ("83 and 8D, 2+1 =3, =) ;-) :D", "eighty-three and eight D, two plus one equals three,"),
    ("#1 of #many", "number one of many"),
]

OTHER_LANGUAGES = [
    ("fr", "M. Dupont a 21 ans.", "Monsieur Dupont a vingt-et-un ans."),
    ("fr", "1 234,5 € et 1 €", "mille deux cent trente-quatre virgule cinq euros et un euro"),
    ("fr", "À 14h30, 1h00, le 1er et la 2e.", "À quatorze heures trente, une heure, le premier et la deuxième."),
    ("fr", "50 %, 5 km, c.-à-d. n° 7", "cinquante pour cent, cinq kilomètres, c'est-à-dire numéro sept"),
    ("es", "El Sr. López pagó 1.234,5 €.", "El señor López pagó mil doscientos treinta y cuatro coma cinco euros."),
    ("es", "21 libros y 1 hora", "veintiún libros y una hora"),
    ("es", "A las 14:30, 1 km, 50 %.", "A las catorce y treinta, un kilómetro, cincuenta por ciento."),
    ("es", "p. ej. 2/5 en EE. UU.", "por ejemplo dos quintos en Estados Unidos"),
    ("zh", "2026年涨了50%，2个，5 km。", "二零二六年涨了百分之五十，两个，五公里。"),
    ("zh", "２０２６-11-30 14:30，$12.50", "二零二六年十一月三十日十四点三十分，十二点五美元"),
    ("ja", "2026-11-30の14:30に5km、50%", "二千二十六年十一月三十日の十四時三十分に五キロメートル、五十パーセント"),
    ("ja", "¥500、-3°C、1/2", "五百円、摂氏マイナス三度、二分の一"),
    ("ko", "3개와 21살, 3시 30분", "세개와 스물한살, 세시 삼십분"),
    ("ko", "14:30, 50%, 5km, 3번째", "십사시 삼십분, 오십퍼센트, 오킬로미터, 세 번째"),
    ("ko", "3~5개 좋아요~", "삼에서 다섯개 좋아요"),
]  # fmt: skip


@pytest.mark.parametrize(("written", "spoken"), MARKDOWN)
def test_markdown_is_not_heard(written: str, spoken: str) -> None:
    assert spoken_text(written, "en") == spoken


@pytest.mark.parametrize(("written", "spoken"), ENGLISH)
def test_figures_and_signs_in_english(written: str, spoken: str) -> None:
    assert spoken_text(written, "en") == spoken


@pytest.mark.parametrize(("language", "written", "spoken"), OTHER_LANGUAGES)
def test_figures_and_signs_in_other_languages(language: str, written: str, spoken: str) -> None:
    assert spoken_text(written, language) == spoken


@pytest.mark.parametrize("written", ["", " \n", "👍", "❤️🔥", "***", "---", "```\nx = 1\n```", "...", "\x00\x07", "«»"])
def test_where_there_is_nothing_to_say_nothing_is_said(written: str) -> None:
    assert spoken_text(written, "en") == ""


def test_a_block_of_code_is_left_out_across_pieces() -> None:
    writer = SpokenText("en")
    pieces = ["Try this:\n", "```python\n", 'print("Hello. ', 'World.")\n', "~~~\n", "```\n", "That is all."]
    assert [writer.say(piece) for piece in pieces] == ["Try this:", "", "", "", "", "", "That is all."]


@pytest.mark.parametrize("language", ["de", "haw", None])
def test_other_languages_lose_markup_and_keep_their_figures(language: str | None) -> None:
    assert spoken_text("**5 km** 😀 [hier](https://x.de)", language) == "5 km hier"


PARTS = st.lists(
    st.one_of(
        st.text(max_size=8),
        st.sampled_from([*"0123456789.,:/-$€%°*_`#[]()!<>=+ \n", "km", "1,000", "😀", "```", "- ", "| ", "www.a.b"]),
    ),
    max_size=40,
).map("".join)  # fmt: skip


@given(st.sampled_from(LANGUAGES), PARTS)
def test_no_text_brings_figures_pictures_or_control_characters_to_the_voice(language: str, text: str) -> None:
    spoken = spoken_text(text, language)
    assert not any(character in "0123456789" or character in "\n\t" for character in spoken)
    assert not any(unicodedata.category(character) in ("So", "Cc", "Cn", "Co", "Cs") for character in spoken)
    assert spoken == spoken.strip()


@given(st.sampled_from((*LANGUAGES, "de")), st.text(alphabet="*_`~#>-| abc\n", max_size=80))
def test_no_marks_of_markdown_are_left(language: str, text: str) -> None:
    assert not set("*`~") & set(spoken_text(text, language))


@given(st.integers(0, 10**15 - 1), st.sampled_from(LANGUAGES))
def test_every_number_is_said_in_words(number: int, language: str) -> None:
    words = spoken_text(str(number), language)
    assert words
    assert not any(character.isascii() and character.isdigit() for character in words)


@given(
    st.integers(0, 10**6),
    st.sampled_from(["", "Take ", "(", "= ", "x =", "< ", "<", "#", "~", "-", ":", "a:", "No. ", "$", "*", "**", "8 "]),
    st.sampled_from(["", ".", ")", "]", "%", " kg", ":", ": yes", " :)", "th", "-", "/", " <3", "*", "**", "°", "D"]),
    st.sampled_from(LANGUAGES),
)
def test_no_number_is_lost(number: int, before: str, after: str, language: str) -> None:
    text = f"We know {before}{number}{after} here"
    without = spoken_text(text.replace(str(number), "", 1), language)
    assert len(re.findall(r"\w", spoken_text(text, language))) > len(re.findall(r"\w", without))
