"""Turns of the model: a batch is decoded, what fails is tried again alone, and short requests may come in between."""

import threading
import time
from collections import deque
from collections.abc import Callable

from speech_pipeline.errors import OutOfMemory
from speech_pipeline.memory import is_out_of_memory, no_room, release_cached_memory
from speech_pipeline.recognition.recognizer import Recognition
from speech_pipeline.recognition.rows import Row
from speech_pipeline.scheduling.batch_limit import BatchLimit
from speech_pipeline.scheduling.fair_queue import FairQueue, Turn
from speech_pipeline.scheduling.job import Job, Report
from speech_pipeline.scheduling.metrics import SchedulingMetrics
from speech_pipeline.scheduling.settings import SchedulingSettings
from speech_pipeline.scheduling.steps import RecognitionSteps
from speech_pipeline.stopwatch import Stopwatch


class _Abandoned(Exception):
    """Ends a batch that nobody waits for any more."""


class TurnRunner:
    """Does what turns ask for, in the thread that owns the model. A failure ends the request whose row it is of.

    Attributes:
        news: set, with the lock held, when a request has come.
    """

    def __init__(
        self,
        recognizer: RecognitionSteps,
        queue: FairQueue,
        lock: threading.Condition,
        settings: SchedulingSettings,
        metrics: SchedulingMetrics,
    ) -> None:
        """Work on a queue, which ``lock`` guards."""
        self.news = False
        self._recognizer = recognizer
        self._queue = queue
        self._lock = lock
        self._settings = settings
        self._metrics = metrics
        self._limit = BatchLimit(settings.max_windows)

    @property
    def most(self) -> int:
        """Rows that are put into a batch at present."""
        return self._limit.rows

    def run(self, turn: Turn, *, interruptible: bool = True) -> bool:
        """Do what a turn asks for, and tell its jobs. Raises nothing that a request could cause.

        Returns:
            Whether its rows are done; False where they are back in the queue, because a batch that had come in between
            did not fit in memory beside the other one.
        """
        self._note_start(turn)
        parts = deque([turn])
        while parts:
            part = parts.popleft().still_wanted()
            if not part.rows:
                continue
            failure = self._failure(part, interruptible=interruptible)
            if failure is None:
                continue
            no_memory = is_out_of_memory(failure) or isinstance(failure, OutOfMemory)
            if no_memory and not interruptible:
                with self._lock:
                    for left in reversed((part, *parts)):
                        _put_back(left)
                failure = None
                release_cached_memory()
                return False
            if len(part.rows) == 1:
                ((job, _),) = part.rows
                self.fail(job, no_room() if no_memory else failure)
            elif no_memory:
                self._limit.lower(len(part.rows))
                half = -(-len(part.rows) // 2)
                parts.extendleft([Turn(part.rows[half:]), Turn(part.rows[:half])])
            else:
                parts.extendleft(Turn((entry,)) for entry in reversed(part.rows))
            # The failed attempt's frames, and the memory they held, go with it.
            failure = None
            if no_memory:
                release_cached_memory()
        return True

    def _failure(self, turn: Turn, *, interruptible: bool) -> Exception | None:
        """Try to do what a turn asks for; what went wrong, if anything did."""
        stopwatch = Stopwatch()
        try:
            if turn.election is not None:
                ((job, voter),) = turn.rows
                turn.election.cast(voter, self._recognizer.ballot(voter, stopwatch))
                job.tell(Report(seconds=stopwatch.seconds))
                return None
            self._recognizer.decode(
                [row for _, row in turn.rows], stopwatch, self._interlude(turn, stopwatch, interruptible)
            )
            self._metrics.on_batch(len(turn.rows), turn.audio_s)
        except _Abandoned:
            return None
        # Models fail in ways of their own, and no failure of one request may reach another.
        except Exception as error:
            return error
        self._limit.fitted(len(turn.rows))
        self._finish(turn, stopwatch)
        return None

    def _finish(self, turn: Turn, stopwatch: Stopwatch) -> None:
        """Make recognitions of decoded rows, or put the rows in their place into the queue."""
        reports = {job: Report(seconds=stopwatch.seconds) for job in turn.jobs}
        for job, row in turn.rows:
            try:
                outcome = self._recognizer.finish(row, stopwatch)
            except Exception as error:  # as above
                self.fail(job, error)
                continue
            reports[job].outcomes.append((row, outcome))
            if not isinstance(outcome, Recognition):
                with self._lock:
                    job.put_first(outcome)
        with self._lock:
            self._queue.advance(turn.audio_s)
        for job, report in reports.items():
            job.tell(report)

    def fail(self, job: Job, error: Exception) -> None:
        """End a request with an error."""
        with self._lock:
            job.end()
            self._queue.remove(job)
        job.tell(error)

    def _note_start(self, turn: Turn) -> None:
        for job in turn.jobs:
            if not job.started:
                job.started = True
                queue_s = time.monotonic() - job.arrived
                job.tell(Report(seconds={"queue": queue_s}))
                self._metrics.on_start(queue_s)

    def _interlude(self, running: Turn, stopwatch: Stopwatch, interruptible: bool) -> Callable[[], None]:
        """What happens between the steps of a batch: it ends when nobody waits for it; short requests come in between.

        They do as long as they have had less than the batch's requests will have had by its end, so that the batch gets
        its share.
        """
        short_s = self._settings.short_s
        may_wait = interruptible and all(job.audio_s > short_s for job in running.jobs)
        least_s = min(job.served_s for job in running.jobs)
        self.news = True  # one may be waiting already

        def is_urgent(job: Job) -> bool:
            return job.audio_s <= short_s and job.served_s < least_s

        def between_steps() -> None:
            nonlocal may_wait
            if running.over:
                raise _Abandoned
            while may_wait and self.news:
                with self._lock:
                    urgent = self._queue.take(self.most, is_urgent)
                    self.news = urgent is not None
                if urgent is not None:
                    with stopwatch.paused():
                        may_wait = self.run(urgent, interruptible=False)

        return between_steps


def _put_back(turn: Turn) -> None:
    rows_of: dict[Job, list[Row]] = {}
    for job, row in turn.rows:
        if turn.election is not None:
            job.ballots.appendleft((turn.election, row))
        else:
            rows_of.setdefault(job, []).append(row)
    for job, rows in rows_of.items():
        job.put_back(rows)
