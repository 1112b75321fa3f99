"""A body as it comes to ``POST /``: JSON, a form, or bare audio, whatever its header calls it."""

import json
from collections.abc import Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass
from typing import Any

from starlette.datastructures import FormData, UploadFile
from starlette.requests import Request

from config import ServerSettings
from speech_pipeline.errors import InvalidPayload
from speech_pipeline.server.bodies import Spooled, form, spooled_body

_WHITE_SPACE = b" \t\r\n"
_SNIFFED_BYTES = 256


@dataclass(frozen=True, slots=True)
class HostRequest:
    """A body that has been received and not yet looked into.

    Attributes:
        content_type: its media type in lower case, without parameters; empty where none is stated.
        query: the parameters of the address.
        body: the body, or the fields of a form.
    """

    content_type: str
    query: Mapping[str, str]
    body: Spooled | FormData

    def load(self) -> tuple[object, Mapping[str, Any] | None]:
        """The ``inputs`` and the ``parameters``; the query counts where the body has no parameters.

        It may take a while with a large body: call it in a thread.

        Raises:
            InvalidPayload: the body is not valid JSON, or has no inputs.
        """
        if isinstance(self.body, FormData):
            inputs, parameters = _from_form(self.body)
        elif self._is_json(self.body):
            inputs, parameters = _from_json(self.body.read())
        else:
            inputs, parameters = self.body.read(), None
        return inputs, parameters if parameters is not None else dict(self.query)

    def _is_json(self, body: Spooled) -> bool:
        """Whether the body is JSON: by its type, or by how it begins, where the type says nothing about it."""
        if self.content_type == "application/json" or self.content_type.endswith("+json"):
            return True
        if self.content_type.startswith(("audio/", "video/")):
            return False
        beginning = body.read(_SNIFFED_BYTES).lstrip(_WHITE_SPACE)
        body.seek(0)
        return beginning.startswith(b"{")


async def read_host_request(request: Request, settings: ServerSettings, held: AsyncExitStack) -> HostRequest:
    """Take in a body; what it is kept in is closed with the stack.

    Raises:
        what :func:`.bodies.spooled_body` and :func:`.bodies.form` raise.
    """
    content_type = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    body: Spooled | FormData
    if content_type == "multipart/form-data":
        body = await held.enter_async_context(form(request, settings))
    else:
        body = await held.enter_async_context(spooled_body(request, settings))
    return HostRequest(content_type, dict(request.query_params), body)


def _from_json(text: bytes) -> tuple[object, Any]:
    try:
        data = json.loads(text)
    except (ValueError, RecursionError):
        raise InvalidPayload("The body is not valid JSON.") from None
    if not isinstance(data, dict) or "inputs" not in data:
        raise InvalidPayload('The request must be an object with "inputs": the audio as base64 text.')
    return data["inputs"], data.get("parameters")


def _from_form(data: FormData) -> tuple[object, Any]:
    """The first file, or the field ``inputs``; ``parameters`` is an object in JSON, all other fields are one each."""
    fields = {name: value for name, value in data.multi_items() if isinstance(value, str)}
    files = [value for _, value in data.multi_items() if isinstance(value, UploadFile)]
    inputs: object = fields.pop("inputs", None)
    if files:
        inputs = files[0].file.read()
    if inputs is None:
        raise InvalidPayload("The form has no file; send the audio as one, or as base64 in a field named inputs.")
    given = fields.pop("parameters", None)
    if given is None:
        return inputs, fields or None
    try:
        parameters = json.loads(given)
    except (ValueError, RecursionError):
        raise InvalidPayload("The field parameters is not valid JSON.") from None
    return inputs, {**fields, **parameters} if isinstance(parameters, dict) else parameters
