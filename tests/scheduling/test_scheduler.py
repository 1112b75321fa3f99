"""Concurrent requests through one model: batches, patience, cancellation, faults kept apart, limits, shutdown."""

import threading
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager

import pytest

from speech_pipeline.errors import RequestCancelled
from speech_pipeline.listener import Listener
from speech_pipeline.recognition.recognizer import Recognition
from speech_pipeline.scheduling.metrics import SchedulingMetrics
from speech_pipeline.scheduling.scheduler import RecognitionScheduler
from speech_pipeline.scheduling.settings import SchedulingSettings
from speech_pipeline.stopwatch import Stopwatch
from speech_pipeline.transcript import Segment
from tests.scheduling.scripted import Gate, ScriptedRecognizer, items, recording, window

WAIT_S = 20.0
"""How long a test waits for what must happen, before it fails."""

LONG_PATIENCE = SchedulingSettings(patience_s=WAIT_S, max_windows=3)
NO_PATIENCE = SchedulingSettings(patience_s=0.0, max_windows=4)


class Clients:
    """Requests in threads of their own."""

    def __init__(self, scheduler: RecognitionScheduler) -> None:
        self.scheduler = scheduler
        self.executor = ThreadPoolExecutor(32)

    def send(
        self, windows: list, listener: Listener | None = None, **parameters: object
    ) -> "Future[list[Recognition]]":
        """Send a request, and wait until it is in the queue or has failed."""
        queue = self.scheduler._queue
        with self.scheduler._changed:
            before = queue._arrivals
        future = self.executor.submit(self.scheduler.recognize, items(windows, **parameters), listener=listener)
        while queue._arrivals == before and not future.done():
            threading.Event().wait(0.001)
        return future


@contextmanager
def clients(
    recognizer: ScriptedRecognizer,
    settings: SchedulingSettings = NO_PATIENCE,
    metrics: SchedulingMetrics | None = None,
) -> Iterator[Clients]:
    with RecognitionScheduler(recognizer, settings, metrics) as scheduler:
        them = Clients(scheduler)
        with them.executor:
            yield them


def texts(future: "Future[list[Recognition]]") -> list[str]:
    return [segment.text for each in future.result(WAIT_S) for segment in each.segments]


def test_a_full_batch_does_not_wait() -> None:
    recognizer = ScriptedRecognizer()
    with clients(recognizer, LONG_PATIENCE) as them:
        requests = [them.send([window(number)]) for number in range(3)]
        assert [texts(request) for request in requests] == [[f"{n} from 0.00 to 5.00"] for n in range(3)]
    assert [sorted(batch) for batch in recognizer.ended] == [[0, 1, 2]]


def test_patience_comes_to_an_end() -> None:
    recognizer = ScriptedRecognizer()
    with clients(recognizer, SchedulingSettings(patience_s=0.01, max_windows=100)) as them:
        assert texts(them.send([window(7)])) == ["7 from 0.00 to 5.00"]


def test_what_comes_while_the_model_is_busy_shares_a_batch() -> None:
    gate = Gate(0)
    recognizer = ScriptedRecognizer(gate)
    with clients(recognizer) as them:
        requests = [them.send([window(0)])]
        assert gate.reached.wait(WAIT_S)
        requests += [them.send([window(number)]) for number in (1, 2, 3)]
        requests.append(them.send([window(4)], prompt="other options"))
        requests.append(them.send([window(5)], batch_size=1))
        gate.open()
        for request in requests:
            request.result(WAIT_S)
    assert recognizer.ended == [[0], [1, 2, 3], [4], [5]]


class TestTurns:
    def test_a_short_request_interrupts_a_batch_of_a_long_one(self) -> None:
        gate = Gate(1)
        recognizer = ScriptedRecognizer(gate)
        with clients(recognizer) as them:
            long = them.send(recording(range(1, 9)), language="en")
            assert gate.reached.wait(WAIT_S)
            short = them.send([window(90)])
            gate.open()
            short.result(WAIT_S)
            long.result(WAIT_S)
        assert recognizer.begun == [[1, 2, 3, 4], [90], [5, 6, 7, 8]]
        assert recognizer.ended == [[90], [1, 2, 3, 4], [5, 6, 7, 8]]

    def test_a_short_request_does_not_interrupt_one_of_its_kind(self) -> None:
        gate = Gate(1)
        recognizer = ScriptedRecognizer(gate)
        with clients(recognizer) as them:
            first = them.send([window(1, 8.0)])
            assert gate.reached.wait(WAIT_S)
            second = them.send([window(2, 5.0)])
            gate.open()
            first.result(WAIT_S)
            second.result(WAIT_S)
        assert recognizer.ended == [[1], [2]]

    def test_a_long_request_has_one_batch_before_others(self) -> None:
        gate = Gate(1)
        recognizer = ScriptedRecognizer(gate)
        with clients(recognizer) as them:
            long = them.send(recording(range(1, 13)), language="en")
            assert gate.reached.wait(WAIT_S)
            other = them.send(recording([90, 91]), language="en")
            gate.open()
            other.result(WAIT_S)
            long.result(WAIT_S)
        assert recognizer.ended[0] == [1, 2, 3, 4]
        assert recognizer.ended[1][:2] == [90, 91]

    def test_a_batch_in_between_that_does_not_fit_beside_the_other_waits_for_its_end(self) -> None:
        gate = Gate(1)
        recognizer = ScriptedRecognizer(gate)
        recognizer.faults[90] = RuntimeError("CUDA out of memory.")

        def forgive(numbers: list[int]) -> None:
            gate(numbers)
            if recognizer.ended:
                recognizer.faults.clear()

        recognizer._before = forgive
        with clients(recognizer) as them:
            long = them.send(recording(range(1, 5)), language="en")
            assert gate.reached.wait(WAIT_S)
            short = them.send([window(90)])
            gate.open()
            assert texts(short) == ["90 from 0.00 to 5.00"]
            long.result(WAIT_S)
        assert recognizer.begun == [[1, 2, 3, 4], [90], [90]]


class TestResults:
    def test_windows_vote_on_the_language_of_their_recording(self) -> None:
        recognizer = ScriptedRecognizer()
        with clients(recognizer) as them:
            recognitions = them.send(recording([0, 1, 1])).result(WAIT_S)
        assert [each.language for each in recognitions] == ["de"] * 3
        assert recognizer.ballots == [0, 1, 1]

    def test_a_window_is_heard_again_in_halves(self) -> None:
        recognizer = ScriptedRecognizer()
        recognizer.halved = {5}
        heard: list[Segment] = []
        listener = Listener()
        listener.on_segments = heard.extend  # type: ignore[method-assign, assignment]
        with clients(recognizer) as them:
            recognitions = them.send(recording([4, 5, 6], 16.0), listener, language="en").result(WAIT_S)
        assert [len(each.segments) for each in recognitions] == [1, 2, 1]
        ends = [segment.end for segment in heard]
        assert [segment.start for segment in heard] == [0.0, *ends[:-1]]
        assert [segment for each in recognitions for segment in each.segments] == heard

    def test_segments_come_in_order_of_time_from_all_channels(self) -> None:
        heard: list[tuple[Segment, ...]] = []
        listener = Listener()
        listener.on_segments = heard.append  # type: ignore[method-assign, assignment]
        windows = [window(1, 5, 0, 0), window(2, 5, 9, 0), window(3, 5, 4, 1), window(4, 5, 11, 1)]
        with clients(ScriptedRecognizer(), SchedulingSettings(patience_s=0.0, max_windows=1)) as them:
            recognitions = them.send(windows, listener, language="en").result(WAIT_S)
        assert [each.segments[0].start for each in recognitions] == [0, 9, 4, 11]
        assert [segment.start for part in heard for segment in part] == [0, 4, 9, 11]
        assert len(heard) == 4

    def test_times_and_metrics_are_told(self) -> None:
        told: list[tuple[str, float]] = []

        class Metrics(SchedulingMetrics):
            def on_start(self, queue_s: float) -> None:
                told.append(("start", queue_s))

            def on_batch(self, windows: int, audio_s: float) -> None:
                told.append((f"{windows} windows", audio_s))

            def on_waiting(self, requests: int, audio_s: float) -> None:
                told.append((f"{requests} requests", audio_s))

        stopwatch = Stopwatch()
        progress: list[float] = []
        with RecognitionScheduler(ScriptedRecognizer(), NO_PATIENCE, Metrics()) as scheduler:
            requested = items(recording(range(6)), language="en")
            scheduler.recognize(requested, lambda _, share: progress.append(share), stopwatch)
            assert scheduler.recognize([]) == []
        assert [name for name, _ in told] == ["1 requests", "start", "4 windows", "2 windows", "0 requests"]
        assert [told[i][1] for i in (0, 2, 3, 4)] == [180.0, 120.0, 60.0, 0.0]
        assert stopwatch.seconds["queue"] == told[1][1] >= 0
        assert progress == [pytest.approx(4 / 6), 1.0]


class TestCancellation:
    def test_of_a_request_that_waits_comes_at_once(self) -> None:
        gate = Gate(1)
        recognizer = ScriptedRecognizer(gate)
        listener = Listener()
        with clients(recognizer) as them:
            first = them.send([window(1)])
            assert gate.reached.wait(WAIT_S)
            second = them.send([window(2)], listener)
            listener.cancelled.set()
            with pytest.raises(RequestCancelled) as caught:
                second.result(WAIT_S)
            gate.open()
            first.result(WAIT_S)
        assert caught.value.code == "request_cancelled"
        assert recognizer.begun == [[1]]

    def test_ends_a_batch_that_nobody_waits_for(self) -> None:
        gate = Gate(1)
        recognizer = ScriptedRecognizer(gate)
        listener = Listener()
        with clients(recognizer) as them:
            first = them.send(recording(range(1, 9)), listener, language="en")
            assert gate.reached.wait(WAIT_S)
            second = them.send([window(20)])
            listener.cancelled.set()
            gate.open()
            with pytest.raises(RequestCancelled):
                first.result(WAIT_S)
            assert texts(second) == ["20 from 0.00 to 5.00"]
        assert recognizer.begun == [[1, 2, 3, 4], [20]]
        assert recognizer.ended == [[20]]

    def test_of_one_leaves_the_others_in_its_batch(self) -> None:
        recognizer = ScriptedRecognizer(gate := Gate(1))
        listener = Listener()
        with clients(recognizer, SchedulingSettings(patience_s=WAIT_S, max_windows=2)) as them:
            first, second = them.send([window(1)], listener), them.send([window(2)])
            assert gate.reached.wait(WAIT_S)
            listener.cancelled.set()
            with pytest.raises(RequestCancelled):
                first.result(WAIT_S)
            gate.open()
            assert texts(second) == ["2 from 0.00 to 5.00"]
