import pytest

from speech_pipeline.recognition.language import OWN_LANGUAGE_S, SURE, vote, window_language


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
