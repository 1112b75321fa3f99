"""Shares of the model, without threads."""

from hypothesis import given
from hypothesis import strategies as st

from speech_pipeline.recognition.rows import Row
from speech_pipeline.scheduling.fair_queue import FairQueue
from speech_pipeline.scheduling.job import Job
from tests.scheduling.scripted import items, number_of, recording


def job(number: int, windows: int, duration_s: float) -> Job:
    pairs = items(recording([number] * windows, duration_s), language="en")
    return Job([Row(each, config) for each, config in pairs], [])


def heard(queue: FairQueue, most: int) -> list[int]:
    """Take a turn and do it; the numbers of its rows."""
    turn = queue.take(most)
    assert turn is not None
    queue.advance(turn.audio_s)
    for each in turn.jobs:
        if not each.waiting:
            queue.remove(each)
    return [number_of(row) for _, row in turn.rows]


@given(st.integers(1, 6), st.integers(1, 8))
def test_a_long_request_gets_its_share_beside_any_stream_of_short_ones(clients: int, most: int) -> None:
    queue = FairQueue()
    long, windows = 0, 400
    queue.add(job(long, windows, 1.0))
    waiting: set[int] = set()
    turns: list[list[int]] = []
    for turn in range(200):
        while len(waiting) < clients:  # each client sends its next clip when its last one is done
            number = 1 + turn * clients + len(waiting)
            queue.add(job(number, 1, 0.5))
            waiting.add(number)
        turns.append(heard(queue, most))
        waiting -= set(turns[-1])
    rows = [number for turn in turns for number in turn]
    seconds = rows.count(long) * 1.0
    others = 0.5 * (len(rows) - rows.count(long))
    assert seconds >= 0.5 * (seconds + others) / (clients + 1)


def test_a_newcomer_goes_before_the_rest_of_a_long_request() -> None:
    queue = FairQueue()
    queue.add(job(0, 20, 1.0))
    assert heard(queue, 8) == [0] * 8
    queue.add(job(1, 1, 1.0))
    assert heard(queue, 8)[0] == 1


def test_two_long_requests_share_batches() -> None:
    queue = FairQueue()
    queue.add(job(0, 20, 1.0))
    queue.add(job(1, 20, 1.0))
    assert sorted(heard(queue, 8)) == [0] * 4 + [1] * 4


def test_much_longer_windows_do_not_join_short_ones() -> None:
    queue = FairQueue()
    queue.add(job(0, 4, 5.0))
    queue.add(job(1, 4, 30.0))
    assert heard(queue, 8) == [0] * 4
    assert heard(queue, 8) == [1] * 4


def test_what_would_be_heard_first_is_what_counts_as_ahead() -> None:
    queue = FairQueue()
    queue.add(job(0, 100, 30.0))
    queue.add(job(1, 1, 5.0))
    assert queue.waiting_s == 3_005.0
    assert queue.ahead_of(8.0) == 13.0
    assert queue.ahead_of(10_000.0) == 3_005.0


def test_rows_that_are_put_back_are_taken_again_first() -> None:
    queue = FairQueue()
    one = job(0, 3, 5.0)
    queue.add(one)
    turn = queue.take(2)
    assert turn is not None
    served = one.served_s
    one.put_back([row for _, row in turn.rows])
    assert (one.waiting_s, one.served_s) == (15.0, served - 10.0)
    assert [row.window.start for row in one.waiting] == [0.0, 5.0, 10.0]


def test_nothing_is_taken_of_nothing() -> None:
    assert FairQueue().take(4) is None
