"""Which language a recording is decoded in: the one asked for, or the winner of a vote of its windows."""

from collections.abc import Sequence

import numpy as np

from speech_pipeline.recognition.language import vote
from speech_pipeline.recognition.rows import Row

VOTERS = 5
"""Windows of a recording that vote on its language, spread evenly over it."""

Ballot = tuple[dict[str, float], float]
"""Probability of each language, and the weight of the window: the seconds in which somebody seems to speak."""


class Election:
    """The vote on the language of one channel of a recording.

    Attributes:
        voters: rows to be asked, each once.
    """

    def __init__(self, rows: Sequence[Row]) -> None:
        """Choose the voters among all rows of the channel."""
        places = {round(place) for place in np.linspace(0, len(rows) - 1, VOTERS)}
        self.voters = tuple(rows[place] for place in sorted(places))
        self._rows = rows
        self._ballots: dict[Row, Ballot] = {}

    def cast(self, voter: Row, ballot: Ballot) -> None:
        """Count what a voter says; the last one settles the language of every row."""
        self._ballots[voter] = ballot
        if len(self._ballots) == len(self.voters):
            elected = vote([self._ballots[each] for each in self.voters])
            for row in self._rows:
                row.elected = elected


def elections(rows: Sequence[Row], *, multilingual: bool) -> list[Election]:
    """Settle the languages that are clear, and call a vote on the others.

    Channels may be in different languages, so that each votes for itself. One window alone needs no vote; its language
    is found when it is decoded.

    Args:
        rows: of any number of recordings; those of one recording carry the same ``config`` object.
        multilingual: whether the model knows languages other than English.
    """
    tracks: dict[tuple[int, int | None], list[Row]] = {}
    for row in rows:
        tracks.setdefault((id(row.config), row.window.channel), []).append(row)
    called = []
    for track in tracks.values():
        asked_for = track[0].config.language if multilingual else "en"
        if asked_for is None and len(track) > 1:
            called.append(Election(track))
        else:
            for row in track:
                row.elected = asked_for
    return called
