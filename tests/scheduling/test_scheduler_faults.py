"""Nothing that one request brings about reaches another; what is too much is refused; nothing accepted is lost."""

import threading

import pytest

from speech_pipeline.errors import OutOfMemory, Overloaded, ShuttingDown
from speech_pipeline.listener import Listener
from speech_pipeline.scheduling.batch_limit import BatchLimit
from speech_pipeline.scheduling.metrics import SchedulingMetrics
from speech_pipeline.scheduling.scheduler import RecognitionScheduler
from speech_pipeline.scheduling.settings import SchedulingSettings
from speech_pipeline.transcript import Segment
from tests.scheduling.scripted import Gate, ScriptedRecognizer, items, recording, window
from tests.scheduling.test_scheduler import NO_PATIENCE, WAIT_S, clients, texts

THREE_TOGETHER = SchedulingSettings(patience_s=WAIT_S, max_windows=3)


@pytest.mark.parametrize("faults", ["faults", "finish_faults"])
def test_a_bad_row_fails_its_own_request_only(faults: str) -> None:
    recognizer = ScriptedRecognizer()
    getattr(recognizer, faults)[1] = RuntimeError("shapes differ")
    with clients(recognizer, THREE_TOGETHER) as them:
        requests = [them.send([window(number)]) for number in range(3)]
        assert texts(requests[0]) == ["0 from 0.00 to 5.00"]
        assert texts(requests[2]) == ["2 from 0.00 to 5.00"]
        with pytest.raises(RuntimeError, match="shapes"):
            requests[1].result(WAIT_S)
    assert sorted(recognizer.begun[0]) == [0, 1, 2]
    assert len(recognizer.begun) == (4 if faults == "faults" else 1)


def test_a_batch_that_does_not_fit_is_halved_and_the_limit_is_kept() -> None:
    recognizer = ScriptedRecognizer()
    recognizer.room = 2
    with clients(recognizer, SchedulingSettings(patience_s=0.0, max_windows=4)) as them:
        recognitions = them.send(recording(range(8)), language="en").result(WAIT_S)
    assert len(recognitions) == 8
    assert recognizer.begun == [[0, 1, 2, 3], [0, 1], [2, 3], [4, 5], [6, 7]]


def test_a_window_that_does_not_fit_alone_is_an_error_of_its_request() -> None:
    recognizer = ScriptedRecognizer()
    recognizer.faults[1] = MemoryError()
    with clients(recognizer, THREE_TOGETHER) as them:
        requests = [them.send([window(number)]) for number in range(3)]
        assert [texts(requests[n]) for n in (0, 2)] == [["0 from 0.00 to 5.00"], ["2 from 0.00 to 5.00"]]
        with pytest.raises(OutOfMemory) as caught:
            requests[1].result(WAIT_S)
    assert caught.value.code == "out_of_memory"


def test_the_limit_grows_again_after_many_batches_that_fit() -> None:
    limit = BatchLimit(8)
    limit.lower(8)
    assert limit.rows == 4
    for _ in range(1_000):
        limit.fitted(1)
    assert limit.rows == 4, "small batches prove nothing"
    for _ in range(1_000):
        limit.fitted(limit.rows)
    assert limit.rows == 8


def test_a_caller_that_fails_while_it_listens_fails_alone() -> None:
    class Broken(Listener):
        def on_segments(self, segments: tuple[Segment, ...]) -> None:
            raise ValueError("broken pipe")

    with clients(ScriptedRecognizer(), THREE_TOGETHER) as them:
        requests = [them.send([window(number)], Broken() if number == 1 else None) for number in range(3)]
        assert [texts(requests[n]) for n in (0, 2)] == [["0 from 0.00 to 5.00"], ["2 from 0.00 to 5.00"]]
        with pytest.raises(ValueError, match="broken pipe"):
            requests[1].result(WAIT_S)


def test_a_broken_metric_does_not_stop_the_scheduler() -> None:
    class Broken(SchedulingMetrics):
        calls = 0

        def on_start(self, queue_s: float) -> None:
            self.calls += 1
            if self.calls == 1:
                raise ValueError("broken metric")

    with clients(ScriptedRecognizer(), NO_PATIENCE, Broken()) as them:
        with pytest.raises(ValueError, match="broken metric"):
            them.send([window(1)]).result(WAIT_S)
        assert texts(them.send([window(2)])) == ["2 from 0.00 to 5.00"]


class TestLimit:
    def test_refuses_what_would_wait_too_long_and_takes_it_later(self) -> None:
        gate = Gate(1)
        settings = SchedulingSettings(patience_s=0.0, max_windows=1, max_waiting_s=50.0)
        with clients(ScriptedRecognizer(gate), settings) as them:
            accepted = [them.send([window(1, 30.0)])]
            assert gate.reached.wait(WAIT_S)
            accepted += [them.send([window(number, 30.0)]) for number in (2, 3)]
            with pytest.raises(Overloaded) as caught:
                them.send([window(4, 30.0)]).result(WAIT_S)
            assert caught.value.code == "overloaded"
            assert caught.value.http_status == 503
            with pytest.raises(Overloaded):
                them.scheduler.check(items([window(4)])[0][1])
            gate.open()
            for request in accepted:
                request.result(WAIT_S)
            assert texts(them.send([window(4)])) == ["4 from 0.00 to 5.00"]

    def test_a_long_request_that_waits_does_not_shut_out_short_ones(self) -> None:
        gate = Gate(1)
        settings = SchedulingSettings(patience_s=0.0, max_windows=1, max_waiting_s=50.0)
        with clients(ScriptedRecognizer(gate), settings) as them:
            long = them.send(recording(range(1, 11)), language="en")
            assert gate.reached.wait(WAIT_S)
            short = them.send([window(20)])
            gate.open()
            assert texts(short) == ["20 from 0.00 to 5.00"]
            assert len(texts(long)) == 10


def test_closing_finishes_what_was_accepted() -> None:
    gate = Gate(1)
    with clients(ScriptedRecognizer(gate)) as them:
        requests = [them.send([window(1)])]
        assert gate.reached.wait(WAIT_S)
        requests += [them.send(recording([2, 3])), them.send([window(4)])]
        closing = threading.Thread(target=them.scheduler.close)
        closing.start()
        while not them.scheduler._closing:
            threading.Event().wait(0.001)
        with pytest.raises(ShuttingDown) as caught:
            them.send([window(5)]).result(WAIT_S)
        assert caught.value.http_status == 503
        assert closing.is_alive()
        gate.open()
        assert [len(texts(request)) for request in requests] == [1, 2, 1]
        closing.join(WAIT_S)
        assert not closing.is_alive()


def test_closing_an_idle_scheduler_twice() -> None:
    scheduler = RecognitionScheduler(ScriptedRecognizer())
    scheduler.close()
    scheduler.close()
    with pytest.raises(ShuttingDown):
        scheduler.recognize(items([window(1)]))
