"""A request in the scheduler: which of its windows wait, and what its thread is told about the others."""

import threading
import time
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from queue import Empty, SimpleQueue

from speech_pipeline.listener import Listener, end_if_cancelled
from speech_pipeline.recognition.election import Election
from speech_pipeline.recognition.recognizer import Halves, Recognition
from speech_pipeline.recognition.rows import Row

_CANCELLATION_CHECK_S = 0.05
"""How often the thread of a request that waits looks whether its caller has left, in seconds."""


@dataclass(frozen=True, slots=True)
class Report:
    """What a batch did for one of its requests.

    Attributes:
        outcomes: rows with what became of them.
        seconds: how long the stages of the batch took, by name.
    """

    outcomes: list[tuple[Row, Recognition | Halves]] = field(default_factory=list)
    seconds: Mapping[str, float] = field(default_factory=dict)


class Job:
    """One call's windows. All but :meth:`wait`, :meth:`tell` and :attr:`over` is guarded by the scheduler's lock.

    Attributes:
        waiting: rows to decode next, in order.
        ballots: voters to be asked before that, with their elections.
        served_s: the job's place in the fair queue: virtual time at which it came, and the audio it has had since.
        audio_s: seconds of audio in all its windows.
        longest_s: seconds of its longest window.
        over: whether nothing more of it is to be done.
        started: whether a window of it has been in work.
        arrived: when it came, of ``time.monotonic``.
    """

    def __init__(self, rows: Sequence[Row], elections: Sequence[Election], listener: Listener | None = None) -> None:
        """Take the rows of a call, of which there is at least one."""
        self.waiting = deque(sorted(rows, key=lambda row: row.window.start))
        self.ballots = deque((election, voter) for election in elections for voter in election.voters)
        self.served_s = 0.0
        self.audio_s = sum(row.window.duration for row in rows)
        self.longest_s = max(row.window.duration for row in rows)
        self.started = False
        self.arrived = time.monotonic()
        self._over = threading.Event()
        self._listener = listener
        self._waiting_s = self.audio_s
        self._reports: SimpleQueue[Report | Exception] = SimpleQueue()

    @property
    def over(self) -> bool:
        return self._over.is_set() or (self._listener is not None and self._listener.cancelled.is_set())

    @property
    def waiting_s(self) -> float:
        """Seconds of audio in the rows that wait."""
        return self._waiting_s if self.waiting else 0.0

    @property
    def ready(self) -> bool:
        """Whether something of it can be done now."""
        return not self.over and bool(self.waiting)

    def take(self) -> Row:
        """The next row, which is in work from now on; the job has had its audio."""
        row = self.waiting.popleft()
        self._waiting_s -= row.window.duration
        self.served_s += row.window.duration
        return row

    def put_back(self, rows: Sequence[Row]) -> None:
        """Rows that are to be decoded next; the job has not had their audio."""
        self.waiting.extendleft(reversed(rows))
        seconds = sum(row.window.duration for row in rows)
        self._waiting_s += seconds
        self.served_s -= seconds

    def put_first(self, halves: Halves) -> None:
        """Parts of a row that are to be decoded next, which the job has to pay for again."""
        self.waiting.extendleft(reversed(halves))
        self._waiting_s += sum(row.window.duration for row in halves)

    def tell(self, report: Report | Exception) -> None:
        """Tell the request's thread what happened; an exception is the end of the request."""
        self._reports.put(report)

    def end(self) -> None:
        """Nothing more of it is to be done."""
        self._over.set()

    def wait(self) -> Report:
        """The next report, in the request's thread.

        Raises:
            RequestCancelled: the caller has left.
            Exception: what the request failed with.
        """
        while True:
            end_if_cancelled(self._listener)
            try:
                report = self._reports.get(timeout=None if self._listener is None else _CANCELLATION_CHECK_S)
            except Empty:
                continue
            if isinstance(report, Exception):
                raise report
            return report
