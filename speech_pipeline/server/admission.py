"""How many requests the server takes on at once, in all and for each key."""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

from config import ServerSettings
from speech_pipeline.errors import ServerBusy, TooManyRequests
from speech_pipeline.server.metrics import Metrics


class Admission:
    """Counts the requests that are present: uploading, waiting, at work or being answered. For one event loop."""

    def __init__(self, settings: ServerSettings, metrics: Metrics) -> None:
        self._limit = settings.max_working_requests + settings.max_waiting_requests
        self._limit_per_key = settings.max_requests_per_key
        self._present = 0
        self._by_key: Counter[str | None] = Counter()
        self._metrics = metrics

    @contextmanager
    def admitted(self, key: str | None) -> Iterator[None]:
        """Count a request for the length of the block.

        Args:
            key: whose request it is.

        Raises:
            TooManyRequests: the key has as many requests present as one may have.
            ServerBusy: as many are present as may be.
        """
        if self._limit_per_key is not None and self._by_key[key] >= self._limit_per_key:
            raise TooManyRequests(
                f"Your key has {self._limit_per_key} requests in progress, which is the most; wait until one is done."
            )
        if self._present >= self._limit:
            raise ServerBusy(f"{self._limit} requests are in progress, which is the most; try again later.")
        self._count(key, 1)
        try:
            yield
        finally:
            self._count(key, -1)

    def _count(self, key: str | None, change: int) -> None:
        self._present += change
        self._by_key[key] += change
        if not self._by_key[key]:
            del self._by_key[key]
        self._metrics.present.set(self._present)
