"""``POST /v1/audio/transcriptions`` and ``/v1/audio/translations``."""

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import AsyncExitStack, suppress
from functools import partial
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from speech_pipeline.errors import InvalidPayload
from speech_pipeline.listener import Listener
from speech_pipeline.server.bodies import form
from speech_pipeline.server.openai_request import Task, TranscriptionRequest, read_form
from speech_pipeline.server.openai_response import diarized_segments, logprobs, response_of, server_timing
from speech_pipeline.server.request_record import record_of
from speech_pipeline.server.seats import Seat
from speech_pipeline.server.server_sent_events import event_response
from speech_pipeline.server.service import Service
from speech_pipeline.server.work_endpoint import WorkEndpoint
from speech_pipeline.transcript import Segment, Transcript


def transcription_routes(service: Service) -> list[BaseRoute]:
    """The two routes, without the version before them."""
    endpoint = TranscriptionEndpoint(service)

    def route(path: str, task: Task) -> Route:
        return Route(path, WorkEndpoint(service, partial(endpoint.read, task), endpoint.answer), methods=["POST"])

    return [route("/audio/transcriptions", "transcribe"), route("/audio/translations", "translate")]


class TranscriptionEndpoint:
    """Reads forms and answers them with transcripts."""

    def __init__(self, service: Service) -> None:
        self._service = service

    async def read(self, task: Task, request: Request, held: AsyncExitStack) -> TranscriptionRequest:
        """Take in a form."""
        if not request.headers.get("content-type", "").lower().startswith("multipart/form-data"):
            raise InvalidPayload("The body must be multipart/form-data, with the recording as the file named file.")
        data = await held.enter_async_context(form(request, self._service.settings))
        return read_form(data, task)

    async def answer(self, request: Request, asked: TranscriptionRequest, held: AsyncExitStack) -> Response:
        """Transcribe, and answer at the end or as it goes."""
        record = record_of(request)
        listener = _QueuedSegments() if asked.stream else Listener()
        seat = await held.enter_async_context(self._service.seats.seat(listener))
        record.queue_s = seat.queue_s

        def count(transcript: Transcript) -> None:
            record.audio_s = transcript.duration
            self._service.metrics.heard(transcript)

        if isinstance(listener, _QueuedSegments):
            work = asyncio.ensure_future(seat.run(partial(self._transcribe, asked, seat)))
            held.callback(work.cancel)
            work.add_done_callback(listener.end)
            return await event_response(_events(asked, listener, work, count), record)
        transcript, (content, media_type) = await seat.run(partial(self._transcribe_and_write, asked, seat))
        count(transcript)
        timing = server_timing(transcript, seat.queue_s)
        return Response(content, headers={"content-type": media_type, "server-timing": timing})

    def _transcribe(self, asked: TranscriptionRequest, seat: Seat) -> Transcript:
        return self._service.pipeline.transcribe(asked.file.file.read(), asked.config, listener=seat.listener)

    def _transcribe_and_write(self, asked: TranscriptionRequest, seat: Seat) -> tuple[Transcript, tuple[bytes, str]]:
        transcript = self._transcribe(asked, seat)
        return transcript, response_of(transcript, asked)


class _QueuedSegments(Listener):
    """Carries segments from the thread of the work to the event loop it was made in."""

    def __init__(self) -> None:
        super().__init__()
        self.segments: asyncio.Queue[tuple[Segment, ...] | None] = asyncio.Queue()
        self._loop = asyncio.get_running_loop()

    def on_segments(self, segments: tuple[Segment, ...]) -> None:
        with suppress(RuntimeError):  # the loop is closed, and nobody listens any more
            self._loop.call_soon_threadsafe(self.segments.put_nowait, segments)

    def end(self, work: asyncio.Future[Transcript]) -> None:
        """No more segments come."""
        if not work.cancelled():
            work.exception()  # taken note of, whether or not anybody waits for it
        self.segments.put_nowait(None)


async def _events(
    asked: TranscriptionRequest,
    listener: _QueuedSegments,
    work: asyncio.Future[Transcript],
    count: Callable[[Transcript], None],
) -> AsyncGenerator[dict[str, Any], None]:
    """Deltas while segments come, then segments with speakers where they are asked for, and the whole text."""
    sent = ""
    while (segments := await listener.segments.get()) is not None:
        delta = "".join(segment.text for segment in segments)
        delta = delta if sent else delta.lstrip()
        if delta:
            sent += delta
            event: dict[str, Any] = {"type": "transcript.text.delta", "delta": delta}
            if asked.logprobs:
                event["logprobs"] = logprobs(word for segment in segments for word in segment.words)
            yield event
    transcript = await work
    count(transcript)
    if asked.response_format == "diarized_json":
        for segment in diarized_segments(transcript):
            yield segment
    done: dict[str, Any] = {"type": "transcript.text.done", "text": transcript.text}
    if asked.logprobs:
        done["logprobs"] = logprobs(transcript.words)
    if warnings := (*asked.warnings, *transcript.warnings):
        done["warnings"] = list(warnings)
    yield done
