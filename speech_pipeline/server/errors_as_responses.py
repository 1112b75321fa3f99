"""Errors as HTTP responses: in the form of the host's contract, or in OpenAI's under ``/v1``."""

import logging
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from speech_pipeline.error_log import log_error
from speech_pipeline.errors import InvalidPayload, MethodNotAllowed, NotFound, SpeechError, Unauthorized
from speech_pipeline.server.request_record import record_of

logger = logging.getLogger(__name__)

_TYPES = {401: "authentication_error", 403: "permission_error", 404: "not_found_error", 429: "rate_limit_error"}


def error_response(request: Request, error: Exception) -> Response:
    """The response to an error, whose code the request's record takes down."""
    assert isinstance(error, SpeechError)
    record_of(request).error_code = error.code
    if error.__cause__ is not None and error.http_status >= 500:
        log_error(logger, error)
    headers = {}
    if error.retry_after_s is not None:
        headers["retry-after"] = str(error.retry_after_s)
    if isinstance(error, Unauthorized):
        headers["www-authenticate"] = "Bearer"
    path = request.scope["path"].removeprefix("/api")
    content = openai_error(error) if path.startswith("/v1/") else {"error": str(error)}
    return JSONResponse(content, error.http_status, headers)


def http_exception_response(request: Request, error: Exception) -> Response:
    """The response to what Starlette itself refuses: an unknown address, a wrong method, a malformed request."""
    assert isinstance(error, HTTPException)
    if error.status_code == 404:
        translated: SpeechError = NotFound("There is nothing at this address; the README lists what there is.")
    elif error.status_code == 405:
        allowed = (error.headers or {}).get("Allow", "another one")
        translated = MethodNotAllowed(f"This address does not take the method; it takes {allowed}.")
    else:
        translated = InvalidPayload("The request is malformed.")
    response = error_response(request, translated)
    for name, value in (error.headers or {}).items():
        response.headers[name] = value
    return response


def openai_error(error: SpeechError) -> dict[str, Any]:
    """The error object of OpenAI's API."""
    kind = _TYPES.get(error.http_status, "server_error" if error.http_status >= 500 else "invalid_request_error")
    return {"error": {"message": error.message, "type": kind, "param": None, "code": error.code}}
