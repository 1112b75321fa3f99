"""``POST /v1/audio/speech``: a text is spoken, and sent from its first sentence on."""

import base64
import json
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator, Mapping
from contextlib import AsyncExitStack, ExitStack
from dataclasses import dataclass
from functools import partial
from typing import Any

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import BaseRoute, Route

from config import InferenceConfig
from speech_pipeline.errors import InvalidParameters, InvalidPayload, InvalidText, UnknownVoice
from speech_pipeline.listener import Listener
from speech_pipeline.reply.reply_stream import ReplyStream
from speech_pipeline.server.bodies import spooled_body
from speech_pipeline.server.request_record import record_of
from speech_pipeline.server.seats import Seat
from speech_pipeline.server.server_sent_events import event_response
from speech_pipeline.server.service import Pipeline, Service
from speech_pipeline.server.work_endpoint import WorkEndpoint
from speech_pipeline.voices.encoding import AUDIO_FORMATS, AudioEncoder, StreamSink

DEFAULT_FORMAT = "mp3"

OPENAI_VOICES = frozenset(
    ("alloy", "ash", "ballad", "coral", "echo", "fable", "onyx", "nova", "sage", "shimmer", "verse", "marin", "cedar")
)
"""Names that stand for the default voice, where the loaded voice has none of that name."""


@dataclass(frozen=True, slots=True)
class SpeechRequest:
    """A text to be spoken, how, in which of ``AUDIO_FORMATS``, and whether as events."""

    text: object
    config: InferenceConfig
    audio_format: str
    events: bool


def speech_routes(service: Service) -> list[BaseRoute]:
    """The route, without the version before it."""

    async def read(request: Request, held: AsyncExitStack) -> SpeechRequest:
        body = await held.enter_async_context(spooled_body(request, service.settings))
        return read_speech(body.read())

    return [Route("/audio/speech", WorkEndpoint(service, read, partial(_answer, service)), methods=["POST"])]


def read_speech(body: bytes) -> SpeechRequest:
    """Validate a body.

    Raises:
        InvalidPayload: it is no object of JSON, or has no ``input``.
        InvalidParameters: a field has a wrong value.
    """
    try:
        fields = json.loads(body)
    except (ValueError, RecursionError):
        fields = None
    if not isinstance(fields, Mapping) or "input" not in fields:
        raise InvalidPayload('The body must be an object of JSON with the text as "input".')
    audio_format = fields.get("response_format") or DEFAULT_FORMAT
    if not isinstance(audio_format, str) or audio_format not in AUDIO_FORMATS:
        raise InvalidParameters(f"response_format must be one of {', '.join(AUDIO_FORMATS)}.")
    stream_format = fields.get("stream_format") or "audio"
    if stream_format not in ("audio", "sse"):
        raise InvalidParameters("stream_format must be audio or sse.")
    voice = fields.get("voice")
    parameters = {
        "voice": voice.get("id") if isinstance(voice, Mapping) else voice,
        "speed": fields.get("speed"),
        "language": fields.get("language"),
    }
    config, _ = InferenceConfig.from_request(parameters)
    return SpeechRequest(fields["input"], config, audio_format, events=stream_format == "sse")


async def _answer(service: Service, request: Request, asked: SpeechRequest, held: AsyncExitStack) -> Response:
    record = record_of(request)
    seat = await held.enter_async_context(service.seats.seat(Listener()))
    record.queue_s = seat.queue_s
    stream = await seat.run(partial(_begin, service.pipeline, asked))
    held.callback(stream.cancel)
    seconds = service.metrics.audio_s.labels("spoken")

    def count(spoken_s: float) -> None:
        seconds.inc(spoken_s)
        record.audio_s = (record.audio_s or 0.0) + spoken_s

    chunks = _chunks(seat, _encoded(stream, asked.audio_format, count))
    if asked.events:
        return await event_response(_events(chunks), record)
    first = await anext(chunks)
    return StreamingResponse(_joined(first, chunks), media_type=AUDIO_FORMATS[asked.audio_format].media_type)


def _begin(pipeline: Pipeline, asked: SpeechRequest) -> ReplyStream:
    try:
        return pipeline.stream_speech(asked.text, asked.config)
    except UnknownVoice:
        if asked.config.voice not in OPENAI_VOICES:
            raise
        return pipeline.stream_speech(asked.text, asked.config.model_copy(update={"voice": None}))


def _encoded(stream: ReplyStream, audio_format: str, count: Callable[[float], None]) -> Iterator[bytes]:
    """The parts of one file, each as soon as it is spoken.

    Raises:
        SpeechError: the voice failed.
        InvalidText: there was nothing to say.
    """
    sink = StreamSink()
    with ExitStack() as opened:
        encoder: AudioEncoder | None = None
        for piece in stream:
            if piece.speech is None:
                continue
            if encoder is None:
                encoder = opened.enter_context(AudioEncoder(audio_format, piece.speech.sampling_rate, sink))
            encoder.write(piece.speech.samples)
            count(piece.speech.duration)
            if part := sink.take():
                yield part
        if stream.failure is not None:
            raise stream.failure
        if encoder is None:
            raise InvalidText("There is nothing in the text that can be spoken; send words.")
    if part := sink.take():
        yield part


async def _chunks(seat: Seat, parts: Iterator[bytes]) -> AsyncGenerator[bytes, None]:
    """The parts, each made in the seat's thread when the one before has been sent."""
    while (part := await seat.run(partial(next, parts, None))) is not None:
        yield part


async def _joined(first: bytes, chunks: AsyncGenerator[bytes, None]) -> AsyncIterator[bytes]:
    yield first
    async for chunk in chunks:
        yield chunk


async def _events(chunks: AsyncGenerator[bytes, None]) -> AsyncGenerator[dict[str, Any], None]:
    async for chunk in chunks:
        yield {"type": "speech.audio.delta", "audio": base64.b64encode(chunk).decode()}
    yield {"type": "speech.audio.done"}
