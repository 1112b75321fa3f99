"""Throughput of scripted systems and endpoints."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

from speech_pipeline.errors import AudioTooLong
from speech_pipeline.evaluation.bench.systems import Samples
from speech_pipeline.evaluation.bench.throughput import measure_endpoint, measure_throughput
from tests.evaluation.bench.scripted import RECOGNITION_S, command


def _silence(duration_s: float) -> Samples:
    return np.zeros(round(duration_s * 16_000), np.float32)


def test_each_length_has_speed_and_memory_of_its_own() -> None:
    rows = measure_throughput(command("steady"), _silence, [0.1, 10])
    assert [row["audio_s"] for row in rows] == [6, 600]
    for row in rows:
        assert row["rtfx"] == pytest.approx(row["audio_s"] / row["seconds"])
        assert row["peak_memory_mb"] > 0
        assert row["stages"] == {"recognition": RECOGNITION_S}
    # Six seconds say nothing about an hour; ten minutes of samples are 38 MB, and six times that an hour.
    assert rows[0]["mb_per_hour"] is None
    assert rows[1]["mb_per_hour"] < 2_000


def test_a_length_that_fails_is_reported() -> None:
    (row,) = measure_throughput(command("dying"), _silence, [0.1])
    assert "signal 9" in row["failed"]


def test_an_endpoint_is_sent_flac() -> None:
    def transcribe(audio: bytes, parameters: Mapping[str, Any]) -> Mapping[str, Any]:
        assert audio.startswith(b"fLaC")
        if len(audio) > 20_000:
            raise AudioTooLong("too long")
        return {"text": "", "timings": {"total": 0.5}}

    short, long = measure_endpoint(transcribe, {}, lambda s: _noise(s), [0.01, 0.1])
    assert short["rtfx"] == pytest.approx(0.6 / short["seconds"])
    assert short["stages"] == {"total": 0.5}
    assert long["failed"] == "[audio_too_long] too long"


def _noise(duration_s: float) -> Samples:
    return np.random.default_rng(0).uniform(-0.1, 0.1, round(duration_s * 16_000)).astype(np.float32)
