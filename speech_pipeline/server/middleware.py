"""Around every request: its identifier, its record, the headers of its answer, and an end to whatever goes wrong."""

import logging
import re
import uuid
from collections.abc import Collection
from time import perf_counter

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import ClientDisconnect, Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from speech_pipeline.error_log import log_error
from speech_pipeline.errors import SpeechError
from speech_pipeline.server.errors_as_responses import error_response
from speech_pipeline.server.logs import log_request
from speech_pipeline.server.metrics import Metrics
from speech_pipeline.server.request_record import RequestRecord, request_id

logger = logging.getLogger(__name__)

CLIENT_LEFT = 499
"""Status in logs and metrics of requests whose caller left before the answer."""

_ACCEPTED_ID = re.compile(r"[\w.:-]{1,100}", re.ASCII)

_HEADERS = {
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
    "referrer-policy": "no-referrer",
    "cache-control": "no-store",
}


class RequestContext:
    """An ASGI app around another one.

    An error that is none of the caller's is logged without its message and answered with 500; where the answer has
    begun, the connection is cut, so that nobody takes half an answer for a whole one.
    """

    def __init__(self, app: ASGIApp, metrics: Metrics, routes: Collection[str]) -> None:
        """Wrap an app.

        Args:
            app: answers the requests.
            metrics: counts them.
            routes: paths that are named in logs and metrics; all others are ``other``.
        """
        self._app = app
        self._metrics = metrics
        self._routes = frozenset(routes)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        given = Headers(scope=scope).get("x-request-id", "")
        record = RequestRecord(given if _ACCEPTED_ID.fullmatch(given) else f"req_{uuid.uuid4().hex}")
        scope.setdefault("state", {})["record"] = record
        started = perf_counter()
        begun = False

        async def send_with_headers(message: Message) -> None:
            nonlocal begun
            if message["type"] == "http.response.start":
                begun = True
                record.status = message["status"]
                headers = MutableHeaders(scope=message)
                headers["x-request-id"] = record.request_id
                for name, value in _HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        token = request_id.set(record.request_id)
        try:
            await self._app(scope, receive, send_with_headers)
        except ClientDisconnect:
            record.status = CLIENT_LEFT
        except Exception as error:
            reason = error.__cause__ if begun else error  # Starlette wraps what comes after the beginning
            record.error_code = reason.code if isinstance(reason, SpeechError) else SpeechError.code
            log_error(logger, error)
            if not begun:
                failure = SpeechError("The request failed inside the server; its log says where.")
                await error_response(Request(scope), failure)(scope, receive, send_with_headers)
        finally:
            seconds = perf_counter() - started
            route = scope["path"] if scope["path"] in self._routes else "other"
            self._metrics.count(route, record, seconds)
            log_request(scope["method"], route, record, seconds)
            request_id.reset(token)
