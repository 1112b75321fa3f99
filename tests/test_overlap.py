"""Work beside other work: its result, its errors, and what becomes of it when nobody wants it any more."""

import threading
import time
from pathlib import Path

import pytest

from config import InferenceConfig, ModelSettings
from speech_pipeline.errors import DiarizationFailed
from speech_pipeline.loading import load_pipeline
from speech_pipeline.overlap import started
from speech_pipeline.progress import Progress, no_progress

PATIENCE_S = 20.0


def test_the_work_goes_on_during_the_block() -> None:
    met = threading.Barrier(2, timeout=PATIENCE_S)

    def work(progress: Progress) -> str:
        met.wait()
        return "done"

    with started(work, no_progress, now=True) as result:
        met.wait()
        assert result() == "done"


def test_later_work_waits_for_its_turn() -> None:
    order = []

    def work(progress: Progress) -> None:
        order.append("work")

    with started(work, no_progress, now=False) as result:
        order.append("block")
        result()
    assert order == ["block", "work"]


@pytest.mark.parametrize("now", [True, False])
def test_progress_and_errors_arrive(now: bool) -> None:
    seen = []

    def work(progress: Progress) -> None:
        progress("diarization", 0.5)
        raise DiarizationFailed("no luck")

    with (
        started(work, lambda stage, part: seen.append((stage, part)), now=now) as result,
        pytest.raises(DiarizationFailed, match="no luck"),
    ):
        result()
    assert seen == [("diarization", 0.5)]


def test_work_nobody_waits_for_ends_at_its_next_report() -> None:
    begun = threading.Event()
    finished = []

    def work(progress: Progress) -> None:
        begun.set()
        end = time.monotonic() + PATIENCE_S
        while time.monotonic() < end:
            progress("diarization", 0.5)
            time.sleep(0.01)
        finished.append(True)

    def fail() -> None:
        with started(work, no_progress, now=True):
            assert begun.wait(PATIENCE_S)
            raise ValueError("recognition failed")

    with pytest.raises(ValueError, match="recognition failed"):
        fail()
    assert not finished


def test_the_transcript_is_the_same(starter_dir: Path, sample_call: Path) -> None:
    answers = []
    for overlap in (False, True):
        settings = ModelSettings(
            asr_model="starter", diarization_model="starter", starter_dir=starter_dir, overlap_stages=overlap
        )
        ended = set()

        def report(stage: str, part: float, ended: set[str] = ended) -> None:
            if part == 1.0:
                ended.add(stage)

        config = InferenceConfig(language="en")
        transcript = load_pipeline(settings).transcribe(sample_call.read_bytes(), config, report)
        assert ended >= {"recognition", "diarization"}
        assert transcript.timings["diarization"] > 0
        response = transcript.to_response()
        response.pop("timings")
        answers.append(response)
    assert answers[0] == answers[1]
    assert len({part["speaker"] for part in answers[0]["speakers"]}) == 2
