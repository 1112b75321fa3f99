"""Latency: statistics and stages worked out by hand, and which kinds of request are measured."""

from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from speech_pipeline.errors import AssistantUnavailable, InvalidAudio
from speech_pipeline.evaluation.bench.latency import Latency, measure_latency, overhead_share, stage_seconds

TIMINGS = {"decoding": 0.01, "voice_activity": 0.02, "recognition": 0.06, "total": 0.1}


def test_statistics_of_eleven_requests() -> None:
    latency = Latency.of([float(value) for value in (11, 1, 10, 2, 9, 3, 8, 4, 7, 5, 6)])
    # Sorted they are 1 to 11: the 90th percentile is the tenth, the 95th lies half way to the eleventh.
    assert latency == Latency(avg=6, min=1, med=6, max=11, p90=10, p95=10.5)


@given(st.lists(st.floats(0.001, 1_000), min_size=1, max_size=50))
def test_statistics_are_in_order(seconds: list[float]) -> None:
    latency = Latency.of(seconds)
    ordered = [latency.min, latency.med, latency.p90, latency.p95, latency.max]
    assert ordered == sorted(ordered)


def test_stages_add_up_to_what_the_caller_waited() -> None:
    stages = stage_seconds(TIMINGS, 0.15)
    assert stages == pytest.approx({"decoding": 0.01, "voice_activity": 0.02, "recognition": 0.06, "other": 0.06})
    assert overhead_share(stages) == pytest.approx(0.07 / 0.15)


def test_parts_of_recognition_are_not_counted_twice() -> None:
    parts = {"mel": 0.005, "encoder": 0.03, "decoder": 0.02}
    stages = stage_seconds({**TIMINGS, **parts}, 0.1)
    assert sum(stages.values()) == pytest.approx(0.1)
    assert stages["recognition, rest"] == pytest.approx(0.005)
    # Decoding of the audio, the rest of recognition, and what no stage accounts for.
    assert overhead_share(stages) == pytest.approx((0.01 + 0.005 + 0.01) / 0.1)


def test_no_time_has_no_overhead() -> None:
    assert overhead_share({}) == 0


def _answer(calls: list[tuple[bytes, bool]], *, assistant: bool) -> Any:
    def transcribe(audio: bytes, parameters: Mapping[str, Any]) -> Mapping[str, Any]:
        calls.append((audio, parameters.get("assisted", False)))
        if parameters.get("assisted") and not assistant:
            raise AssistantUnavailable("assisted needs an assistant")
        assert parameters["language"] == "en"
        return {"text": "hello", "timings": TIMINGS}

    return transcribe


def test_each_kind_of_request_is_warmed_up_and_repeated() -> None:
    calls: list[tuple[bytes, bool]] = []
    transcribe = _answer(calls, assistant=True)
    rows = measure_latency(transcribe, {"short": b"s", "long": b"l"}, {"language": "en"}, 3)
    assert [(row["request"], row["assisted"]) for row in rows] == [
        ("short", False),
        ("short", True),
        ("long", False),
        ("long", True),
    ]
    assert calls.count((b"s", True)) == calls.count((b"l", False)) == 4
    assert all(row["min"] <= row["med"] <= row["max"] for row in rows)
    assert set(rows[0]["stages"]) == {"decoding", "voice_activity", "recognition", "other"}


def test_without_an_assistant_only_the_rest_is_measured() -> None:
    rows = measure_latency(_answer([], assistant=False), {"short": b"s"}, {"language": "en"}, 1)
    assert [row["assisted"] for row in rows] == [False]


def test_a_request_that_fails_ends_the_measurement() -> None:
    def transcribe(audio: bytes, parameters: Mapping[str, Any]) -> Mapping[str, Any]:
        raise InvalidAudio("not audio")

    with pytest.raises(InvalidAudio):
        measure_latency(transcribe, {"short": b"s"}, {}, 1)
