"""What all routes share: the pipeline once it is loaded, the seats, the admission, the keys and the metrics."""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from typing import Protocol

import numpy as np
from anyio import to_thread
from starlette.requests import HTTPConnection

from config import InferenceConfig, ServerSettings
from speech_pipeline.error_log import log_error
from speech_pipeline.errors import NotReady, RecognitionUnavailable, ReplyUnavailable, SpeechError
from speech_pipeline.listener import Listener
from speech_pipeline.progress import Progress, no_progress
from speech_pipeline.reply.reply_stream import ReplyStream
from speech_pipeline.server.admission import Admission
from speech_pipeline.server.keys import Keys
from speech_pipeline.server.metrics import Metrics
from speech_pipeline.server.seats import Seats
from speech_pipeline.transcript import Reply, Transcript

logger = logging.getLogger(__name__)


class Pipeline(Protocol):
    """What the server needs of :class:`speech_pipeline.pipeline.SpeechPipeline`."""

    def respond(
        self,
        inputs: object,
        config: InferenceConfig,
        progress: Progress = no_progress,
        listener: Listener | None = None,
    ) -> Transcript | Reply:
        """Do what a request asks for."""
        ...

    def transcribe(
        self,
        inputs: object,
        config: InferenceConfig,
        progress: Progress = no_progress,
        listener: Listener | None = None,
    ) -> Transcript:
        """Transcribe one recording."""
        ...

    def stream_speech(self, text: object, config: InferenceConfig) -> ReplyStream:
        """Speak a text piece by piece."""
        ...


class Service:
    """One server's state. For one event loop."""

    def __init__(
        self, load: Callable[[], Pipeline], settings: ServerSettings, on_failure: Callable[[SpeechError], None]
    ) -> None:
        """Set up; nothing is loaded before :meth:`running`.

        Args:
            load: loads the models, in a thread.
            settings: limits and keys.
            on_failure: told why the models cannot be loaded.
        """
        self.settings = settings
        self.metrics = Metrics()
        self.keys = Keys(settings.api_keys)
        self.admission = Admission(settings, self.metrics)
        self.seats = Seats(settings, self.metrics)
        self._load = load
        self._on_failure = on_failure
        self._pipeline: Pipeline | None = None
        self._failure: SpeechError | None = None

    @property
    def pipeline(self) -> Pipeline:
        """The pipeline, loaded and warm.

        Raises:
            NotReady: it is still loading.
            SpeechError: why it cannot be loaded.
        """
        if self._failure is not None:
            raise self._failure.with_traceback(None)
        if self._pipeline is None:
            raise NotReady("The models are still loading; try again in a few seconds.")
        return self._pipeline

    def authorized(self, connection: HTTPConnection) -> str | None:
        """Whose request it is; raises what :meth:`.keys.Keys.check` raises."""
        return self.keys.check(connection)

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Load the models while the block runs, and stop what is still at work when it ends."""
        loading = asyncio.create_task(self._start())
        try:
            yield
        finally:
            loading.cancel()
            with suppress(asyncio.CancelledError):
                await loading
            self.seats.close()

    async def _start(self) -> None:
        try:
            self._pipeline = await to_thread.run_sync(self._load_and_warm, abandon_on_cancel=True)
            self.metrics.ready.set(1)
            logger.info("The models are loaded and warm.")
            return
        except SpeechError as error:
            failure = error
        except Exception as error:
            log_error(logger, error)
            failure = SpeechError("The models could not be loaded for a reason that the log tells.")
        logger.error("The models could not be loaded: [%s]", failure.code)
        self._failure = failure
        self._on_failure(failure)

    def _load_and_warm(self) -> Pipeline:
        pipeline = self._load()
        warm_up(pipeline)
        return pipeline


def warm_up(pipeline: Pipeline) -> None:
    """Have each stage work once, since the first time takes longer; stages that are not loaded are left out."""
    silence = {"array": np.zeros(16_000, np.float32), "sampling_rate": 16_000}
    with suppress(RecognitionUnavailable):
        pipeline.transcribe(silence, InferenceConfig(vad=False))
    with suppress(ReplyUnavailable):
        list(pipeline.stream_speech("1", InferenceConfig(language="en")))
