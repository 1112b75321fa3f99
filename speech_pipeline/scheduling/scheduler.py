"""Windows of concurrent requests in common batches, through one model that one thread owns."""

import logging
import threading
import time
from collections.abc import Sequence
from types import TracebackType
from typing import Self

from config import InferenceConfig
from speech_pipeline.error_log import log_error
from speech_pipeline.errors import Overloaded, ShuttingDown
from speech_pipeline.listener import Listener, SegmentRelease
from speech_pipeline.progress import Progress, no_progress
from speech_pipeline.recognition.recognizer import Assembly, Recognition
from speech_pipeline.recognition.windows import Window
from speech_pipeline.scheduling.fair_queue import FairQueue, Turn
from speech_pipeline.scheduling.job import Job
from speech_pipeline.scheduling.metrics import SchedulingMetrics
from speech_pipeline.scheduling.settings import SchedulingSettings
from speech_pipeline.scheduling.steps import RecognitionSteps
from speech_pipeline.scheduling.turns import TurnRunner
from speech_pipeline.stopwatch import Stopwatch

logger = logging.getLogger(__name__)

_LEAST_AUDIO_S = 30.0
"""What a request is taken to have at least, in seconds, as long as its audio is not known."""


class RecognitionScheduler:
    """A :class:`speech_pipeline.recognition.recognizer.Recognizer` for many requests at once.

    Threads of requests hand over their windows and wait; progress and segments are reported in those threads, so that
    a slow caller holds up no other. Each request gets what it would get alone, but for rounding and for texts that are
    sampled, or the error that its own windows cause. Close it, or use it as a context manager.
    """

    def __init__(
        self,
        recognizer: RecognitionSteps,
        settings: SchedulingSettings | None = None,
        metrics: SchedulingMetrics | None = None,
    ) -> None:
        """Take over a recogniser, and start the thread that works with it."""
        self._recognizer = recognizer
        self._settings = settings or SchedulingSettings()
        self._metrics = metrics or SchedulingMetrics()
        self._queue = FairQueue()
        self._closing = False
        # Guards the queue and its jobs; notified when one comes or goes.
        self._changed = threading.Condition()
        self._turns = TurnRunner(recognizer, self._queue, self._changed, self._settings, self._metrics)
        self._thread = threading.Thread(target=self._work, name="recognition", daemon=True)
        self._thread.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Take no more requests, and wait until those that were taken are done."""
        with self._changed:
            self._closing = True
            self._changed.notify_all()
        self._thread.join()

    @property
    def languages(self) -> tuple[str, ...]:
        """Codes of the languages it recognises."""
        return self._recognizer.languages

    def check(self, config: InferenceConfig) -> None:
        """Refuse what cannot be done, before any work.

        Raises:
            Overloaded: too much audio waits.
            ShuttingDown: the scheduler has been closed.
            SpeechError: what the model cannot do.
        """
        self._recognizer.check(config)
        with self._changed:
            self._refuse_if_full(_LEAST_AUDIO_S)

    def recognize(
        self,
        items: Sequence[tuple[Window, InferenceConfig]],
        progress: Progress = no_progress,
        stopwatch: Stopwatch | None = None,
        listener: Listener | None = None,
    ) -> list[Recognition]:
        """See :class:`speech_pipeline.recognition.recognizer.Recognizer`.

        ``stopwatch`` is told the time in the ``queue`` too; stages of a batch count in full for each of its requests.

        Raises:
            Overloaded, ShuttingDown: see :meth:`check`.
            OutOfMemory: a single window does not fit in memory.
            RequestCancelled: the listener has left.
        """
        rows = self._recognizer.prepare(items)
        if not rows:
            return []
        starts = [row.window.start for row in rows]
        job = Job(rows, self._recognizer.call_elections(rows), listener)
        del rows  # what is done with is let go
        try:
            self._admit(job)
            assembly = Assembly(len(starts))
            release = None if listener is None else SegmentRelease(listener, starts)
            while not assembly.complete:
                report = job.wait()
                for name, seconds in report.seconds.items():
                    if stopwatch is not None:
                        stopwatch.add(name, seconds)
                for row, outcome in report.outcomes:
                    done = assembly.add(row, outcome)
                    if done is not None and release is not None:
                        release.finish(row.place, done.segments)
                if report.outcomes:
                    progress("recognition", assembly.share)
            return [assembly.result(place) for place in range(len(starts))]
        finally:
            self._withdraw(job)

    def _admit(self, job: Job) -> None:
        with self._changed:
            self._refuse_if_full(job.audio_s)
            self._queue.add(job)
            self._turns.news = True
            self._changed.notify_all()
            self._report_waiting()

    def _withdraw(self, job: Job) -> None:
        with self._changed:
            job.end()
            self._queue.remove(job)
            self._changed.notify_all()
            self._report_waiting()

    def _refuse_if_full(self, audio_s: float) -> None:
        if self._closing:
            raise ShuttingDown("No more requests are taken here; send it to another instance, or again in a moment.")
        if self._queue.ahead_of(audio_s) > self._settings.max_waiting_s:
            raise Overloaded("More audio waits than can be heard in reasonable time; try again in a while.")

    def _report_waiting(self) -> None:
        self._metrics.on_waiting(len(self._queue), self._queue.waiting_s)

    def _work(self) -> None:
        """The thread that owns the model."""
        while (turn := self._next_turn()) is not None:
            try:
                self._turns.run(turn)
            except Exception as error:
                # What a request can cause does not come here; a fault in a metric or in this package must not end the
                # thread, on which all requests wait.
                log_error(logger, error)
                for job in turn.jobs:
                    self._turns.fail(job, error)

    def _next_turn(self) -> Turn | None:
        """Wait for something to do; None when all that was accepted is done and nothing more will come."""
        with self._changed:
            while True:
                if (wait_s := self._patience()) <= 0 and (turn := self._queue.take(self._turns.most)) is not None:
                    return turn
                if self._closing and not len(self._queue):
                    return None
                self._changed.wait(wait_s if wait_s > 0 else None)

    def _patience(self) -> float:
        """How long company is waited for, in seconds; 0 where there is nothing to wait for or with."""
        ready = [job for job in self._queue.jobs if job.ready]
        if self._closing or not ready or self._queue.ready_rows >= self._turns.most:
            return 0.0
        if any(job.ballots or job.started for job in ready):
            return 0.0
        return min(job.arrived for job in ready) + self._settings.patience_s - time.monotonic()
