"""What of a model's output is its answer, however it is chopped up."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from speech_pipeline.reply.answer_filter import AnswerFilter

STOPS = ("\nUser:", "\nAssistant:")


def filtered(chunks: list[str], *, reasoning: bool = False) -> tuple[str, bool]:
    answer = AnswerFilter(STOPS, reasoning=reasoning)
    text = "".join(answer.feed(chunk) for chunk in chunks) + answer.finish()
    return text, answer.stopped


@pytest.mark.parametrize(
    ("written", "answer", "stopped"),
    [
        ("Plain text.", "Plain text.", False),
        ("Fine.\nUser: And you?", "Fine.", True),
        ("Fine.\nAssistant: Fine.", "Fine.", True),
        ("Fine.\nUse", "Fine.\nUse", False),
        ("<think>Hm.\nUser: x</think>Fine.", "Fine.", False),
        ("A <b> c <think", "A <b> c <think", False),
        ("<think>It never ends", "", False),
        ("One<think>two</think> three<think>four</think>.", "One three.", False),
        ("", "", False),
    ],
)
def test_answer(written: str, answer: str, stopped: bool) -> None:
    assert filtered([written]) == (answer, stopped)
    assert filtered(list(written)) == (answer, stopped)


def test_reasoning_may_have_begun_in_the_prompt() -> None:
    assert filtered(["Hm. ", "Well.</th", "ink>\n\nFine."], reasoning=True) == ("\n\nFine.", False)


def test_what_is_certain_is_given_at_once() -> None:
    answer = AnswerFilter(STOPS)
    assert answer.feed("Good day.") == "Good day."
    assert answer.feed("\nUs") == ""
    assert answer.feed("ual") == "\nUsual"


PARTS = ["<think>", "</think>", "\nUser:", "\nAssistant:", "<", "\n", "User", "a ", "thi"]


@given(st.lists(st.sampled_from(PARTS), max_size=12), st.data())
def test_chunks_make_no_difference(parts: list[str], data: st.DataObject) -> None:
    text = "".join(parts)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(text)), max_size=6)))
    chunks = [text[start:end] for start, end in zip([0, *cuts], [*cuts, len(text)], strict=True)]
    assert filtered(chunks) == filtered([text])
