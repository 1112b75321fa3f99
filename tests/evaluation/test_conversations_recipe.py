from typing import Any

import pytest

from speech_pipeline.errors import InvalidParameters
from speech_pipeline.evaluation.conversations_recipe import Recipe, default_recipes


def test_the_usual_twelve_differ_in_everything() -> None:
    recipes = default_recipes()

    assert len(recipes) == 12
    assert {recipe.speakers for recipe in recipes} == {2, 3, 4, 5, 6}
    assert {recipe.duration_s for recipe in recipes} == {60, 120, 180, 240, 300}
    for name in ("gap_s", "overlap_share", "backchannel_share", "level_difference_db", "noise_snr_db", "noise"):
        assert len({getattr(recipe, name) for recipe in recipes}) > 1
    assert len({recipe.seed for recipe in recipes}) == 12


def test_count_length_seed_and_languages_can_be_set() -> None:
    recipes = default_recipes(3, minutes=0.5, seed=7, languages=["en"])

    assert [(recipe.duration_s, recipe.seed, recipe.languages) for recipe in recipes] == [
        (30, 7, ("en",)),
        (30, 8, ("en",)),
        (30, 9, ("en",)),
    ]


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"speakers": 1}, "speakers must be from 2 to 6"),
        ({"speakers": 7}, "speakers must be from 2 to 6"),
        ({"duration_s": 0}, "duration_s must be above 0"),
        ({"duration_s": float("nan")}, "duration_s must be above 0"),
        ({"seed": -1}, "seed must not be negative"),
        ({"gap_s": (1.0, 0.5)}, "gap_s must be two rising numbers"),
        ({"overlap_share": 0.6}, "overlap_share must be from 0 to 0.3"),
        ({"backchannel_share": -0.1}, "backchannel_share must be from 0 to 1"),
        ({"level_difference_db": 41}, "level_difference_db must be from 0 to 40"),
        ({"noise_snr_db": float("inf")}, "noise_snr_db must be from -20 to 100"),
        ({"noise": "brown"}, "noise must be pink or white"),
    ],
)
def test_values_out_of_range_are_refused(values: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidParameters, match=message):
        Recipe(**values)
