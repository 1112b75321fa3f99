"""What a caller is to see of segments."""

from dataclasses import replace

from config import InferenceConfig
from speech_pipeline.listener import Listener
from speech_pipeline.transcript import Segment


def presented(segments: tuple[Segment, ...], config: InferenceConfig) -> tuple[Segment, ...]:
    """Without the words, where their times were not asked for."""
    return segments if config.word_timestamps else tuple(replace(segment, words=()) for segment in segments)


class PresentedSegments(Listener):
    """Hands on to a listener what it is to see of the segments."""

    def __init__(self, listener: Listener, config: InferenceConfig) -> None:
        """Stand before a listener; who has left it has left this."""
        self.cancelled = listener.cancelled
        self._listener = listener
        self._config = config

    def on_segments(self, segments: tuple[Segment, ...]) -> None:
        self._listener.on_segments(presented(segments, self._config))
