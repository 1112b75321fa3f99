"""A pipeline that does what a test says, when it says so."""

import threading
from collections.abc import Callable

from config import InferenceConfig
from speech_pipeline.errors import InvalidAudio
from speech_pipeline.formats import format_transcript
from speech_pipeline.listener import Listener
from speech_pipeline.progress import Progress, no_progress
from speech_pipeline.reply.reply_stage import ReplyStage
from speech_pipeline.reply.reply_stream import ReplyStream
from speech_pipeline.reply.text_request import read_text_request
from speech_pipeline.transcript import Reply, Segment, Transcript, Word
from tests.reply.scripted import ScriptedVoice

HELLO = Segment(
    " Hello there.",
    0.0,
    1.0,
    words=(Word(" Hello", 0.0, 0.5, 0.9), Word(" there.", 0.5, 1.0, 0.5)),
    language="en",
    average_log_probability=-0.25,
    compression_ratio=1.2,
    no_speech_probability=0.01,
)
BYE = Segment(" Good bye.", 1.5, 2.0, words=(Word(" Good", 1.5, 1.7, 0.8), Word(" bye.", 1.7, 2.0, 1.0)), language="en")
TRANSCRIPT = Transcript(segments=(HELLO, BYE), language="en", duration=2.5, timings={"recognition": 0.4, "total": 0.5})
WARM_UP_SAMPLES = 16_000


class ScriptedPipeline:
    """Hears the same in every recording, once ``work`` has returned.

    Attributes:
        recordings: what was sent, in the order in which the work on it began.
        configs: what was asked for.
    """

    def __init__(
        self,
        work: Callable[[bytes, Listener], None] = lambda recording, listener: None,
        voice: ScriptedVoice | None = None,
    ) -> None:
        self.recordings: list[object] = []
        self.configs: list[InferenceConfig] = []
        self.warm = False
        self._work = work
        self._replies = ReplyStage(None, voice or ScriptedVoice())

    def transcribe(
        self,
        inputs: object,
        config: InferenceConfig,
        progress: Progress = no_progress,
        listener: Listener | None = None,
    ) -> Transcript:
        if isinstance(inputs, dict) and len(inputs["array"]) == WARM_UP_SAMPLES:
            self.warm = True
            return Transcript()
        listener = listener or Listener()
        self.recordings.append(inputs)
        self.configs.append(config)
        if inputs == b"no audio":
            raise InvalidAudio("The bytes are no audio.")
        assert isinstance(inputs, bytes)
        self._work(inputs, listener)
        for segment in TRANSCRIPT.segments:
            listener.on_segments((segment,))
        formatted = None if config.format == "json" else format_transcript(TRANSCRIPT, config.format)
        return Transcript(
            segments=TRANSCRIPT.segments,
            language=TRANSCRIPT.language,
            duration=TRANSCRIPT.duration,
            timings=TRANSCRIPT.timings,
            formatted=formatted,
        )

    def respond(
        self,
        inputs: object,
        config: InferenceConfig,
        progress: Progress = no_progress,
        listener: Listener | None = None,
    ) -> Transcript | Reply:
        request = read_text_request(inputs, config.task if "task" in config.model_fields_set else None)
        return self.transcribe(inputs, config, progress, listener) if request is None else Reply(text=request.text)

    def stream_speech(self, text: object, config: InferenceConfig) -> ReplyStream:
        request = read_text_request({"text": text, "task": "speak"}, None)
        assert request is not None
        return self._replies.stream_speech(request.text, config.language, config)


class Gate:
    """Work that waits in its thread until the test lets it go, or until it is cancelled."""

    def __init__(self) -> None:
        self.begun = threading.Semaphore(0)
        self.open = threading.Event()
        self.cancelled = threading.Event()

    def __call__(self, recording: bytes, listener: Listener) -> None:
        self.begun.release()
        while not self.open.wait(0.01):
            if listener.cancelled.is_set():
                self.cancelled.set()
                return

    def wait_for(self, count: int = 1) -> None:
        """Wait until the work on so many more recordings has begun."""
        for _ in range(count):
            assert self.begun.acquire(timeout=30)
