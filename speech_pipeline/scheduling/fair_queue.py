"""Whose turn it is: fair queueing between requests, by seconds of audio.

A virtual clock runs at the pace at which each request would get its audio heard if all were served at once. A request
takes its place at the clock's time, and moves back by the audio it is given; who is furthest ahead has the next turn.
So a request that comes while a long one is in work goes before what is left of that, and many short ones together
cannot keep a long one from getting its share.
"""

import heapq
from collections.abc import Callable
from dataclasses import dataclass

from speech_pipeline.recognition.election import Election
from speech_pipeline.recognition.rows import Row, sharing_key
from speech_pipeline.scheduling.job import Job

LENGTH_RATIO = 2.0
"""Requests share a batch where none has windows this many times as long as those of the one whose turn it is.

A batch ends with its longest window, and shorter ones wait for that.
"""


@dataclass(frozen=True, slots=True)
class Turn:
    """What is done next.

    Attributes:
        rows: each with the job it is of; they may share a batch.
        election: for which the one row is asked; None where rows are decoded.
    """

    rows: tuple[tuple[Job, Row], ...]
    election: Election | None = None

    @property
    def jobs(self) -> tuple[Job, ...]:
        """Those that have rows in it, each once."""
        return tuple(dict.fromkeys(job for job, _ in self.rows))

    @property
    def audio_s(self) -> float:
        """Seconds of audio in the rows."""
        return sum(row.window.duration for _, row in self.rows)

    def still_wanted(self) -> "Turn":
        """The same without rows that nobody waits for any more."""
        return Turn(tuple((job, row) for job, row in self.rows if not job.over), self.election)

    @property
    def over(self) -> bool:
        """Whether nobody waits for it any more."""
        return all(job.over for job, _ in self.rows)


class FairQueue:
    """The requests in the scheduler. Not safe for concurrent calls; the scheduler's lock takes care of that."""

    def __init__(self) -> None:
        self._jobs: dict[Job, int] = {}
        self._clock_s = 0.0
        self._arrivals = 0

    def __len__(self) -> int:
        return len(self._jobs)

    @property
    def jobs(self) -> tuple[Job, ...]:
        """In order of arrival, those that are in work included."""
        return tuple(self._jobs)

    @property
    def ready_rows(self) -> int:
        """How many rows wait."""
        return sum(len(job.waiting) for job in self._jobs if job.ready)

    @property
    def waiting_s(self) -> float:
        """Seconds of audio that wait."""
        return sum(job.waiting_s for job in self._jobs)

    def ahead_of(self, audio_s: float) -> float:
        """Seconds of audio that would be heard before a request with so many seconds is done, were it to come now."""
        return sum(min(job.waiting_s, audio_s) for job in self._jobs)

    def add(self, job: Job) -> None:
        """Let a request take its place."""
        self._arrivals += 1
        self._jobs[job] = self._arrivals
        job.served_s += self._clock_s

    def remove(self, job: Job) -> None:
        """Forget a request; harmless where it is not there."""
        self._jobs.pop(job, None)

    def advance(self, audio_s: float) -> None:
        """Tell the clock that so many seconds of audio have been heard."""
        self._clock_s += audio_s / max(len(self._jobs), 1)

    def take(self, most: int, among: Callable[[Job], bool] = lambda job: True) -> Turn | None:
        """Take what is to be done next out of the queue.

        Args:
            most: rows in a batch.
            among: which requests are considered.

        Returns:
            One vote, or a batch; None where nothing can be done.
        """
        ready = [job for job in self._jobs if job.ready and among(job)]
        if not ready:
            return None
        first = min(ready, key=self._order)
        if first.ballots:
            election, voter = first.ballots.popleft()
            return Turn(((first, voter),), election)
        row = first.take()
        if row.assisted:
            return Turn(((first, row),))
        key = sharing_key(row)
        rows = [(first, row)]
        most = min(most, row.config.batch_size)
        longest_s = LENGTH_RATIO * first.longest_s
        company = [(self._order(job), job) for job in ready if not job.ballots and job.longest_s <= longest_s]
        heapq.heapify(company)
        while company and len(rows) < most:
            _, job = heapq.heappop(company)
            if not job.waiting or job.waiting[0].assisted or sharing_key(job.waiting[0]) != key:
                continue
            if job.waiting[0].config.batch_size <= len(rows):
                continue
            row = job.take()
            most = min(most, row.config.batch_size)
            rows.append((job, row))
            heapq.heappush(company, (self._order(job), job))
        return Turn(tuple(rows))

    def _order(self, job: Job) -> tuple[float, float, int]:
        """The least goes first; of two that have had the same, the one with less to do."""
        return job.served_s, job.waiting_s, self._jobs[job]
