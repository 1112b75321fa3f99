"""Server-sent events that consist of data only, as OpenAI sends them."""

import asyncio
import json
import logging
from collections.abc import AsyncGenerator, AsyncIterator
from typing import Any

from starlette.responses import StreamingResponse

from speech_pipeline.error_log import log_error
from speech_pipeline.errors import SpeechError
from speech_pipeline.server.errors_as_responses import openai_error
from speech_pipeline.server.request_record import RequestRecord

logger = logging.getLogger(__name__)

KEEP_ALIVE_S = 15.0
"""Silence after which a comment is sent, so that nothing on the way takes the connection for dead."""

_COMMENT = b": still at work\n\n"


async def event_response(events: AsyncGenerator[dict[str, Any], None], record: RequestRecord) -> StreamingResponse:
    """A response that sends events as they come; it begins with the first one.

    Args:
        events: objects for JSON.
        record: takes down what goes wrong once the response has begun; the caller is then sent an error object.

    Raises:
        whatever goes wrong before the first event.
    """
    first = await anext(events)
    headers = {"content-type": "text/event-stream; charset=utf-8", "x-accel-buffering": "no"}
    return StreamingResponse(_sent(first, events, record), headers=headers)


async def _sent(
    first: dict[str, Any], events: AsyncGenerator[dict[str, Any], None], record: RequestRecord
) -> AsyncIterator[bytes]:
    yield _written(first)
    try:
        while True:
            coming = asyncio.ensure_future(anext(events, None))
            try:
                while not (await asyncio.wait({coming}, timeout=KEEP_ALIVE_S))[0]:
                    yield _COMMENT
                event = await coming
            finally:
                coming.cancel()
            if event is None:
                return
            yield _written(event)
    except SpeechError as error:
        failure = error
    except Exception as error:
        log_error(logger, error)
        failure = SpeechError("The request failed inside the server; its log says where.")
    record.error_code = failure.code
    yield _written(openai_error(failure))


def _written(event: dict[str, Any]) -> bytes:
    return b"data: " + json.dumps(event, ensure_ascii=False, allow_nan=False).encode() + b"\n\n"
