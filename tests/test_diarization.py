import threading
import warnings
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import soundfile
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from speech_pipeline.diarization import SAMPLING_RATE, Diarizer
from speech_pipeline.diarization_loading import load_diarizer
from speech_pipeline.errors import DiarizationFailed, OutOfMemory, UnsupportedByModel
from speech_pipeline.evaluation.diarization_errors import annotation_of, diarization_errors
from speech_pipeline.evaluation.references import read_rttm
from speech_pipeline.transcript import Diarization, SpeakerTurn

SECOND = np.zeros(SAMPLING_RATE, np.float32)


@pytest.fixture(scope="module")
def diarizer(starter_dir: Path) -> Diarizer:
    return load_diarizer(str(starter_dir / "diarization"), token=None, device=torch.device("cpu"))


@pytest.fixture(scope="module")
def call(sample_call: Path) -> NDArray[np.float32]:
    samples, rate = soundfile.read(sample_call, dtype="float32")
    assert rate == SAMPLING_RATE
    return samples


@pytest.fixture(scope="module")
def diarized_call(diarizer: Diarizer, call: NDArray[np.float32]) -> Diarization:
    return diarizer.diarize(call)


def speakers(diarization: Diarization) -> set[str]:
    return {turn.speaker for turn in diarization.turns}


def assert_valid(diarization: Diarization, duration: float) -> None:
    for turns in (diarization.turns, diarization.exclusive_turns):
        assert all(0 <= turn.start < turn.end <= duration for turn in turns)
        assert [turn.start for turn in turns] == sorted(turn.start for turn in turns)
    assert all(before.end <= after.start for before, after in pairwise(diarization.exclusive_turns))


class TestTelephoneCall:
    def test_finds_who_speaks_when(self, diarized_call: Diarization, sample_call: Path) -> None:
        assert speakers(diarized_call) == {"SPEAKER_00", "SPEAKER_01"}
        errors = diarization_errors(read_rttm(sample_call.with_suffix(".rttm")), diarized_call.turns, 30.0)
        assert errors.errors <= 0.06 * errors.reference
        assert diarized_call.warnings == ()

    def test_turns_are_in_order_and_exclusive_ones_do_not_overlap(self, diarized_call: Diarization) -> None:
        assert_valid(diarized_call, 30.0)
        assert any(before.end > after.start for before, after in pairwise(diarized_call.turns))

    def test_speakers_are_numbered_in_the_order_they_are_heard(self, diarized_call: Diarization) -> None:
        assert diarized_call.turns[0].speaker == "SPEAKER_00"

    @pytest.mark.parametrize("limits", [{"num_speakers": 1}, {"max_speakers": 1}])
    def test_the_number_of_speakers_can_be_limited(
        self, diarizer: Diarizer, call: NDArray[np.float32], limits: dict[str, int]
    ) -> None:
        diarization = diarizer.diarize(call, **limits)
        assert speakers(diarization) == {"SPEAKER_00"}
        assert diarization.warnings == ()

    def test_progress_rises_to_one(self, diarizer: Diarizer, call: NDArray[np.float32]) -> None:
        reports: list[tuple[str, float]] = []
        diarizer.diarize(call, progress=lambda stage, fraction: reports.append((stage, fraction)))
        fractions = [fraction for _, fraction in reports]
        assert {stage for stage, _ in reports} == {"diarization"}
        assert fractions == sorted(set(fractions))
        assert len(fractions) >= 3
        assert fractions[-1] == 1.0


def test_three_people_after_each_other_are_told_apart(diarizer: Diarizer, shared_data: Path) -> None:
    samples, _ = soundfile.read(shared_data / "conversations" / "three_speakers.wav", dtype="float32")
    assert len(speakers(diarizer.diarize(samples))) == 3


class TestLittleAudio:
    @pytest.mark.parametrize("seconds", [0.0, 1 / SAMPLING_RATE, 0.025, 0.3, 1.0, 5.0])
    @pytest.mark.parametrize("limits", [{}, {"num_speakers": 5}, {"min_speakers": 3, "max_speakers": 4}])
    def test_any_length_has_a_result(
        self, diarizer: Diarizer, call: NDArray[np.float32], seconds: float, limits: dict[str, int]
    ) -> None:
        samples = call[10 * SAMPLING_RATE :][: round(seconds * SAMPLING_RATE)]
        diarization = diarizer.diarize(samples, **limits)
        assert_valid(diarization, samples.size / SAMPLING_RATE)
        assert len(diarization.warnings) == (1 if limits else 0)

    @pytest.mark.parametrize("level", [0.0, 0.001, 0.3])
    def test_nobody_speaks_in_silence_and_noise(self, diarizer: Diarizer, level: float) -> None:
        noise = np.random.default_rng(0).standard_normal(3 * SAMPLING_RATE).astype(np.float32)
        assert diarizer.diarize(noise * np.float32(level)) == Diarization()

    def test_samples_that_torch_cannot_take_as_they_are(self, diarizer: Diarizer, call: NDArray[np.float32]) -> None:
        part = call[10 * SAMPLING_RATE : 16 * SAMPLING_RATE].copy()
        part.flags.writeable = False
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert diarizer.diarize(part).turns
            assert diarizer.diarize(part[::-1]).turns


class ScriptedPipeline:
    """Stands where a pyannote pipeline would, and gives its outcomes one after another; the last one stays."""

    def __init__(self, *outcomes: Any) -> None:
        self.outcomes = list(outcomes)
        self.limits: list[dict[str, int]] = []
        self.batch_sizes: list[tuple[int, int]] = []
        self.segmentation_batch_size = self.embedding_batch_size = 32

    def __call__(self, recording: Any, hook: Callable[..., None], **limits: int) -> Any:
        self.limits.append(limits)
        self.batch_sizes.append((self.segmentation_batch_size, self.embedding_batch_size))
        outcome = self.outcomes.pop(0) if len(self.outcomes) > 1 else self.outcomes[0]
        if isinstance(outcome, Exception):
            raise outcome
        return outcome(hook) if callable(outcome) else outcome


def turns_of(*turns: tuple[str, float, float]) -> list[SpeakerTurn]:
    return [SpeakerTurn(*turn) for turn in turns]


class TestPipelineOutput:
    def test_turns_are_kept_inside_the_recording(self) -> None:
        annotation = annotation_of(turns_of(("B", -0.1, 0.4), ("A", 0.5, 1.5), ("A", 1.2, 1.4)))
        diarization = Diarizer(ScriptedPipeline(annotation)).diarize(SECOND)
        assert diarization.turns == tuple(turns_of(("SPEAKER_00", 0.0, 0.4), ("SPEAKER_01", 0.5, 1.0)))

    def test_a_pipeline_that_gives_turns_alone_has_exclusive_turns_made(self) -> None:
        annotation = annotation_of(turns_of(("B", 0.0, 0.9), ("A", 0.3, 0.5), ("A", 0.8, 1.0)))
        diarization = Diarizer(ScriptedPipeline(annotation)).diarize(SECOND)
        assert diarization.exclusive_turns == tuple(
            turns_of(
                ("SPEAKER_00", 0.0, 0.3), ("SPEAKER_01", 0.3, 0.5), ("SPEAKER_00", 0.5, 0.8), ("SPEAKER_01", 0.8, 1.0)
            )
        )

    @given(
        st.lists(
            st.tuples(st.sampled_from("ABC"), st.integers(0, 99), st.integers(1, 60)).map(
                lambda turn: SpeakerTurn(turn[0], turn[1] / 100, min(1.0, (turn[1] + turn[2]) / 100))
            )
        )
    )
    @settings(deadline=None)
    def test_made_exclusive_turns_cover_the_same_time_without_overlap(self, turns: list[SpeakerTurn]) -> None:
        diarization = Diarizer(ScriptedPipeline(annotation_of(turns))).diarize(SECOND)
        assert_valid(diarization, 1.0)
        for instant in np.arange(0.005, 1.0, 0.01):
            speaking = {turn.speaker for turn in diarization.turns if turn.start < instant < turn.end}
            alone = {turn.speaker for turn in diarization.exclusive_turns if turn.start < instant < turn.end}
            assert alone <= speaking
            assert len(alone) == min(1, len(speaking))


class TestSpeakerCount:
    @pytest.mark.parametrize(
        ("limits", "warning"),
        [
            ({"num_speakers": 2}, None),
            ({"min_speakers": 1, "max_speakers": 2}, None),
            ({"num_speakers": 3}, "num_speakers=3 could not be met: 2 speakers were found."),
            ({"min_speakers": 3}, "min_speakers=3 could not be met: 2 speakers were found."),
            ({"max_speakers": 1}, "max_speakers=1 could not be met: 2 speakers were found."),
        ],
    )
    def test_what_was_found_is_compared_with_what_was_asked(self, limits: dict[str, int], warning: str | None) -> None:
        pipeline = ScriptedPipeline(annotation_of(turns_of(("A", 0, 0.5), ("B", 0.5, 1))))
        diarization = Diarizer(pipeline).diarize(SECOND, **limits)
        assert pipeline.limits == [limits]
        assert diarization.warnings == ((warning,) if warning else ())

    def test_more_speakers_than_stretches_of_speech_are_lowered(self) -> None:
        pipeline = ScriptedPipeline(
            ValueError("n_samples=2 should be >= n_clusters=5."), annotation_of(turns_of(("A", 0, 1)))
        )
        diarization = Diarizer(pipeline).diarize(SECOND, min_speakers=5, max_speakers=9)
        assert pipeline.limits[1] == {"min_speakers": 2, "max_speakers": 2}
        assert diarization.warnings == ("min_speakers=5 and max_speakers=9 could not be met: 1 speaker was found.",)

    def test_a_model_that_cannot_count_asks_for_the_number(self) -> None:
        pipeline = ScriptedPipeline(annotation_of([]))
        pipeline.clustering = type("KMeans", (), {"expects_num_clusters": True})()
        assert Diarizer(pipeline).diarize(SECOND, num_speakers=1).turns == ()
        with pytest.raises(UnsupportedByModel, match="num_speakers"):
            Diarizer(pipeline).diarize(SECOND)


class TestFaults:
    def test_a_failing_pipeline_is_named_without_its_words(self) -> None:
        cause = RuntimeError("/secret/path: tensor mismatch")
        with pytest.raises(DiarizationFailed) as caught:
            Diarizer(ScriptedPipeline(cause)).diarize(SECOND)
        assert "secret" not in str(caught.value)
        assert caught.value.__cause__ is cause

    @pytest.mark.parametrize(
        "error",
        [torch.OutOfMemoryError("CUDA"), MemoryError(), RuntimeError("DefaultCPUAllocator: can't allocate memory")],
    )
    def test_out_of_memory_is_tried_again_with_smaller_batches(self, error: Exception) -> None:
        pipeline = ScriptedPipeline(error, annotation_of(turns_of(("A", 0, 1))))
        assert Diarizer(pipeline).diarize(SECOND).turns
        assert pipeline.batch_sizes == [(32, 32), (4, 4)]
        assert (pipeline.segmentation_batch_size, pipeline.embedding_batch_size) == (32, 32)

    def test_out_of_memory_twice_is_an_error(self) -> None:
        pipeline = ScriptedPipeline(torch.OutOfMemoryError("CUDA"))
        with pytest.raises(OutOfMemory):
            Diarizer(pipeline).diarize(SECOND)
        assert len(pipeline.batch_sizes) == 2
        assert pipeline.embedding_batch_size == 32


class TestProcess:
    def test_settings_of_the_process_are_restored(self, capsys: pytest.CaptureFixture[str]) -> None:
        def meddle(hook: object) -> Any:
            torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False
            print("Found only 1 clusters.")
            return annotation_of([])

        before = torch.backends.cuda.matmul.allow_tf32, torch.backends.cudnn.allow_tf32
        torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = True
        try:
            Diarizer(ScriptedPipeline(meddle)).diarize(SECOND)
            assert torch.backends.cuda.matmul.allow_tf32
            assert torch.backends.cudnn.allow_tf32
        finally:
            torch.backends.cuda.matmul.allow_tf32, torch.backends.cudnn.allow_tf32 = before
        assert capsys.readouterr().out == ""

    def test_progress_does_not_go_back_when_a_step_is_repeated(self) -> None:
        def report(hook: Callable[..., None]) -> Iterator[None]:
            for completed in (16, 32, 8, 64):
                hook("embeddings", None, file={}, total=40, completed=completed)
            hook("speaker_counting", None, file={})
            return annotation_of([])

        fractions: list[float] = []
        Diarizer(ScriptedPipeline(report)).diarize(SECOND, progress=lambda _, fraction: fractions.append(fraction))
        assert fractions == sorted(set(fractions))
        assert fractions[-1] == 1.0
        assert all(0 <= fraction <= 1 for fraction in fractions)

    def test_calls_run_one_at_a_time(self) -> None:
        inside = threading.Semaphore(1)

        def enter(hook: object) -> Any:
            assert inside.acquire(blocking=False)
            threading.Event().wait(0.01)
            inside.release()
            return annotation_of(turns_of(("A", 0, 1)))

        stages = [Diarizer(ScriptedPipeline(enter)) for _ in range(2)]
        results: list[Diarization] = []
        threads = [threading.Thread(target=lambda s=stage: results.append(s.diarize(SECOND))) for stage in stages * 4]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(results) == len(threads)
