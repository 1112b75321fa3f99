"""Alignment of words and counts of errors."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from speech_pipeline.evaluation.word_errors import ErrorCounts, align, character_errors, word_errors

WORDS = st.lists(st.sampled_from("abcd"), max_size=8)


@pytest.mark.parametrize(
    ("reference", "hypothesis", "expected"),
    [
        ("a b c", "a b c", ErrorCounts(0, 0, 0, 3)),
        ("a b c", "a x c", ErrorCounts(1, 0, 0, 3)),
        ("a b c", "a c", ErrorCounts(0, 1, 0, 3)),
        ("a b c", "a b x c", ErrorCounts(0, 0, 1, 3)),
        ("a b", "", ErrorCounts(0, 2, 0, 2)),
        ("", "a b", ErrorCounts(0, 0, 2, 0)),
        ("", "", ErrorCounts(0, 0, 0, 0)),
    ],
)
def test_counts(reference: str, hypothesis: str, expected: ErrorCounts) -> None:
    assert word_errors(reference.split(), hypothesis.split()) == expected


@given(WORDS, WORDS)
def test_alignment_holds_every_word_in_order(reference: list[str], hypothesis: list[str]) -> None:
    pairs = align(reference, hypothesis)
    assert [left for left, _ in pairs if left is not None] == list(range(len(reference)))
    assert [right for _, right in pairs if right is not None] == list(range(len(hypothesis)))
    assert (None, None) not in pairs


@given(WORDS, WORDS)
def test_errors_lie_between_the_difference_and_the_longer_of_the_two(reference: list[str], heard: list[str]) -> None:
    errors = word_errors(reference, heard).errors
    assert abs(len(reference) - len(heard)) <= errors <= max(len(reference), len(heard))
    assert (errors == 0) == (reference == heard)
    assert errors == word_errors(heard, reference).errors


def test_spaces_count_as_characters_where_there_are_any() -> None:
    assert character_errors(["ab", "c"], ["abc"]) == ErrorCounts(deletions=1, reference=4)
    assert character_errors(["ab", "c"], ["abc"], spaces=False) == ErrorCounts(reference=3)


def test_rate_of_nothing_is_unknown() -> None:
    assert ErrorCounts(insertions=2).rate is None
