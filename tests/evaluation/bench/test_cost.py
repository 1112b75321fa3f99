"""Cost of an hour of audio, worked out by hand."""

import pytest

from speech_pipeline.evaluation.bench.cost import INSTANCES, cost_per_audio_hour, cost_table


def test_an_hour_of_audio_costs_the_share_of_an_hour_it_takes() -> None:
    # At RTFx 30 an hour of audio takes two minutes: a thirtieth of the price.
    assert cost_per_audio_hour(0.6, 30) == pytest.approx(0.02)


def test_the_table_says_how_fast_another_machine_would_have_to_be() -> None:
    rows = {row["instance"]: row for row in cost_table(rtfx=30, price_per_hour=0.1)}
    measured = rows.pop("the measured machine")
    assert measured["cost_per_audio_hour"] == pytest.approx(0.1 / 30)
    assert measured["rtfx_to_match"] is None
    # Ten times the price needs ten times the speed.
    assert rows["aws nvidia-a10g x1"]["rtfx_to_match"] == pytest.approx(300)
    assert rows["aws nvidia-a10g x1"]["cost_per_audio_hour"] == pytest.approx(1 / 30)
    assert len(rows) == len(INSTANCES)


def test_without_a_price_nothing_is_to_be_matched() -> None:
    rows = cost_table(rtfx=10)
    assert [row["rtfx_to_match"] for row in rows] == [None] * len(INSTANCES)
