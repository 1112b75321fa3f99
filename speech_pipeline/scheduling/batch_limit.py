"""How many windows fit in memory, learned from those that did not."""

_TRUST_AFTER = 50
"""Batches of the present limit that must have fitted before a larger one is tried."""


class BatchLimit:
    """Halves after a batch that did not fit, and grows again slowly: others may have been using the memory.

    Attributes:
        rows: that are put into a batch at present.
    """

    def __init__(self, most: int) -> None:
        """Begin with as many rows as are ever put into a batch."""
        self.rows = most
        self._most = most
        self._fitted = 0

    def lower(self, tried: int) -> None:
        """A batch of so many rows did not fit."""
        self.rows = min(self.rows, -(-tried // 2))
        self._fitted = 0

    def fitted(self, rows: int) -> None:
        """A batch of so many rows did fit."""
        if self.rows == self._most or rows < self.rows:
            return
        self._fitted += 1
        if self._fitted == _TRUST_AFTER:
            self.rows += 1
            self._fitted = 0
