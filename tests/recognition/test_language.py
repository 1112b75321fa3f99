import pytest

from speech_pipeline.recognition.language import (
    OTHER_LANGUAGE_S,
    OWN_LANGUAGE_S,
    STRANGE,
    SURE,
    strange_stretches,
    vote,
    window_language,
)


def test_the_language_with_the_most_probability_wins() -> None:
    assert vote([({"en": 0.6, "de": 0.4}, 10.0), ({"en": 0.3, "de": 0.7}, 10.0)]) == "de"


def test_windows_weigh_as_much_as_they_hold_speech() -> None:
    assert vote([({"en": 0.9, "de": 0.1}, 25.0), ({"de": 0.99, "en": 0.01}, 5.0), ({"de": 0.9}, 5.0)]) == "en"
    assert vote([({"en": 0.9, "de": 0.1}, 5.0), ({"de": 0.99, "en": 0.01}, 25.0)]) == "de"


def test_one_ballot_decides_alone() -> None:
    assert vote([({"it": 0.4, "es": 0.35, "pt": 0.25}, 0.1)]) == "it"


def test_windows_without_any_weight_still_elect_a_language() -> None:
    assert vote([({"it": 0.4, "es": 0.6}, 0.0)]) in ("it", "es")


@pytest.mark.parametrize(
    ("probabilities", "duration_s", "language"),
    [
        ({"de": 0.95, "en": 0.05}, 20.0, "de"),
        ({"de": SURE, "en": 1 - SURE}, OWN_LANGUAGE_S, "de"),
        ({"de": 0.75, "en": 0.25}, 20.0, "en"),
        ({"de": 0.95, "en": 0.05}, 2.0, "en"),
        ({"en": 0.95, "de": 0.05}, 2.0, "en"),
    ],
    ids=["sure", "just sure", "unsure", "too short", "too short but the same"],
)
def test_a_window_follows_the_vote_unless_it_is_long_and_sure(
    probabilities: dict[str, float], duration_s: float, language: str
) -> None:
    assert window_language(probabilities, "en", duration_s) == language


@pytest.mark.parametrize(
    ("german", "seconds", "strange"),
    [
        ([0.9, 0.01, 0.9], [4.0, 4.0, 4.0], [1]),
        ([0.01, 0.9, 0.02], [1.0, 9.0, 1.0], [0, 2]),
        ([0.9, STRANGE, 0.9], [4.0, 4.0, 4.0], []),
        ([0.9, 0.01], [9.0, OTHER_LANGUAGE_S], [1]),
        ([0.9, 0.01], [9.0, OTHER_LANGUAGE_S - 0.1], []),
        ([0.9, 0.8, 0.9], [4.0, 4.0, 4.0], []),
        ([0.9], [30.0], []),
    ],
    ids=["between", "several", "perhaps the same", "just long enough", "too short", "none", "one stretch"],
)
def test_stretches_that_do_not_seem_to_be_in_the_language_of_the_rest(
    german: list[float], seconds: list[float], strange: list[int]
) -> None:
    heard = [({"de": share, "en": 1 - share}, length) for share, length in zip(german, seconds, strict=True)]
    assert strange_stretches(heard) == ("de", strange)


def test_where_no_language_stands_out_nothing_is_strange() -> None:
    flat = {"de": 0.26, "en": 0.25, "fr": 0.25, "it": 0.24}
    assert strange_stretches([(flat, 5.0), (flat, 5.0)]) == ("de", [])
