"""Systems measured in turn: each gets its figures, and one that fails takes none from the others."""

from speech_pipeline.evaluation.bench.rounds import Measurement, Recording, measure
from tests.evaluation.bench.scripted import TEXT, command


def test_systems_take_turns(recording: Recording) -> None:
    steps: list[str] = []
    measured = measure(
        {"a": command("steady"), "b": command("steady")},
        [recording],
        rounds=2,
        short=recording,
        repetitions=3,
        progress=lambda step, fraction: steps.append(step),
    )
    rounds = [step for step in steps if "round" in step]
    assert rounds == ["a: round 1 of 2", "b: round 1 of 2", "a: round 2 of 2", "b: round 2 of 2"]
    for measurement in measured.values():
        assert len(measurement.seconds) == 2
        assert len(measurement.short_seconds) == len(measurement.short_timings) == 3
        assert measurement.outputs["speech"].text == TEXT
        assert measurement.peak_memory_mb > 0
        assert measurement.failure is None


def test_others_keep_their_results_when_one_fails(recording: Recording) -> None:
    kinds = ("missing", "broken", "steady", "dying")
    measured = measure({kind: command(kind) for kind in kinds}, [recording], rounds=2)
    assert {kind: measured[kind].missing for kind in kinds} == dict.fromkeys(kinds, False) | {"missing": True}
    assert {kind: len(measured[kind].seconds) for kind in kinds} == dict.fromkeys(kinds, 0) | {"steady": 2}
    assert measured["steady"].failure is None
    assert "signal 9" in str(measured["dying"].failure)


def test_progress_never_goes_back_and_ends_with_one(recording: Recording) -> None:
    fractions: list[float] = []
    measure({"a": command("steady")}, [recording], rounds=3, progress=lambda _, fraction: fractions.append(fraction))
    assert fractions == sorted(fractions)
    assert fractions[-1] == 1.0


def test_the_time_of_a_round_is_the_median_over_rounds() -> None:
    assert Measurement(seconds=[5.0, 1.0, 2.0]).median_s == 2.0
    assert Measurement().median_s is None
