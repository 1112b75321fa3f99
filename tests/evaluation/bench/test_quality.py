"""Errors of joined clips, worked out by hand, and diarization error rates."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from speech_pipeline.evaluation.bench.dialogues import Dialogue
from speech_pipeline.evaluation.bench.quality import diarization_error_rates, joined_clips_errors
from speech_pipeline.evaluation.bench.systems import Output
from speech_pipeline.transcript import SpeakerTurn

SENTENCES = ("the cat sleeps on the mat", "a dog barks", "birds sing in tall trees")


def test_each_clip_counts_once_however_often_it_was_joined() -> None:
    clips = [("a", "The cat sleeps."), ("b", "A dog barks loudly."), ("a", "The cat sleeps.")]
    errors = joined_clips_errors(clips, "the cat sleeps a fog barks loudly the cat", "en")
    # Once: half an error of three words (none in the first "a", one in the second), and one of four.
    assert errors.once == pytest.approx((0.5 + 1) / 7)
    assert errors.all == pytest.approx(2 / 10)


def test_invented_words_count_for_the_clip_before_them() -> None:
    clips = [("a", "The cat sleeps."), ("b", "A dog barks.")]
    assert joined_clips_errors(clips, "the cat sleeps well a dog barks", "en").all == pytest.approx(1 / 6)
    assert joined_clips_errors([("a", "The cat sleeps.")], "so the cat sleeps", "en").once == pytest.approx(1 / 3)


def test_spelling_punctuation_and_numbers_are_no_errors() -> None:
    clips = [("a", "Mr. Quilter's colour is grey."), ("b", "one two three"), ("c", "1 2 3")]
    errors = joined_clips_errors(clips, "mister quilter's color is gray, 1 2 3. One two three!", "en")
    assert (errors.once, errors.all) == (0, 0)


def test_nothing_heard_is_all_wrong() -> None:
    errors = joined_clips_errors([("a", "The cat sleeps."), ("a", "The cat sleeps.")], "", "en")
    assert (errors.once, errors.all) == (1, 1)


@given(st.lists(st.sampled_from(SENTENCES), min_size=1, max_size=6))
def test_what_is_heard_right_has_no_errors(sentences: list[str]) -> None:
    clips = [(sentence, sentence) for sentence in sentences]
    errors = joined_clips_errors(clips, " ".join(sentences), "en")
    assert (errors.once, errors.all) == (0, 0)


@given(st.permutations(SENTENCES), st.permutations(SENTENCES))
def test_distinct_clips_have_one_rate_both_ways(said: list[str], heard: list[str]) -> None:
    errors = joined_clips_errors([(sentence, sentence) for sentence in said], " ".join(heard), "en")
    assert errors.once == pytest.approx(errors.all)


def test_der_of_the_dialogues_a_system_worked_on() -> None:
    turns = (SpeakerTurn("Anna", 0, 4), SpeakerTurn("Ben", 5, 9))
    dialogues = [Dialogue(name, np.zeros(160_000, np.float32), turns) for name in ("first", "second")]
    # Of 8 s of speech the last 2 s are missed, and 1 s of silence is taken for speech.
    outputs = {"first": Output(turns=(("x", 0.0, 5.0), ("y", 5.0, 7.0)))}
    assert diarization_error_rates(dialogues, outputs) == {"first": pytest.approx(3 / 8)}
