"""What is known about one request, for its log line and the metrics."""

from contextvars import ContextVar
from dataclasses import dataclass

from starlette.requests import HTTPConnection

request_id: ContextVar[str] = ContextVar("request_id", default="-")
"""Identifier of the request that the current task or thread works for."""


@dataclass(slots=True)
class RequestRecord:
    """Filled in while a request is answered. It holds numbers and codes, and nothing of the request's content.

    Attributes:
        request_id: identifier, also in the header ``x-request-id``.
        status: HTTP status; 499 where the caller left before the answer.
        error_code: code of the error that was answered, or that ended a stream.
        received_bytes: size of the body as far as it was read.
        queue_s: seconds until the work began.
        audio_s: seconds of audio heard or spoken.
    """

    request_id: str
    status: int = 0
    error_code: str | None = None
    received_bytes: int = 0
    queue_s: float | None = None
    audio_s: float | None = None


def record_of(connection: HTTPConnection) -> RequestRecord:
    """The record of a request, which the middleware began."""
    record = connection.state.record
    assert isinstance(record, RequestRecord)
    return record
