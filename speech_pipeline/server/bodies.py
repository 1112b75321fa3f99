"""Request bodies, read within limits: into temporary files that have no name and vanish when they are closed."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager, suppress
from tempfile import SpooledTemporaryFile

from anyio import to_thread
from python_multipart.exceptions import FormParserError
from starlette.datastructures import FormData, UploadFile
from starlette.formparsers import MultiPartException, MultiPartParser
from starlette.requests import ClientDisconnect, Request

from config import ServerSettings
from speech_pipeline.errors import InvalidPayload, RequestTooLarge, SpeechError, UploadTimedOut
from speech_pipeline.server.request_record import record_of

IN_MEMORY_BYTES = 1024**2
"""Larger bodies and files go to the disk."""

TIMED_BYTES = 64 * 1024
"""How much of a body must come within ``UPLOAD_TIMEOUT_S``."""

MAX_FILES = 4
MAX_FIELDS = 200
MAX_FIELD_BYTES = 4 * 1024**2

DRAINED_BYTES = 16 * 1024**2
DRAINED_S = 5.0
"""How much of the body of a refused request is still taken in, so that its sender gets to read the answer."""

Spooled = SpooledTemporaryFile[bytes]


@asynccontextmanager
async def spooled_body(request: Request, settings: ServerSettings) -> AsyncIterator[Spooled]:
    """The whole body in a file, at its start, for the length of the block.

    Raises:
        RequestTooLarge: more than ``MAX_BODY_BYTES``; told before reading where the header says so.
        UploadTimedOut: it comes too slowly.
        ClientDisconnect: the sender left.
    """
    with SpooledTemporaryFile(max_size=IN_MEMORY_BYTES) as file:
        size = 0
        async for chunk in _limited(request, settings):
            size += len(chunk)
            if size > IN_MEMORY_BYTES:
                await to_thread.run_sync(file.write, chunk)
            else:
                file.write(chunk)
        file.seek(0)
        yield file


@asynccontextmanager
async def form(request: Request, settings: ServerSettings) -> AsyncIterator[FormData]:
    """The fields and files of a ``multipart/form-data`` body for the length of the block.

    Raises:
        InvalidPayload: it is not of that form, or has too many fields or files.
        RequestTooLarge, UploadTimedOut, ClientDisconnect: as :func:`spooled_body`.
    """
    parser = MultiPartParser(
        request.headers,
        _with_refusals(_limited(request, settings)),
        max_files=MAX_FILES,
        max_fields=MAX_FIELDS,
        max_part_size=MAX_FIELD_BYTES,
    )
    try:
        data = await parser.parse()
    except _Refusal as refusal:
        raise refusal.reason from None
    except MultiPartException as error:
        raise InvalidPayload(f"The form cannot be read: {error.message}") from None
    except FormParserError:
        raise InvalidPayload("The body is not a well-formed multipart/form-data.") from None
    try:
        yield data
    finally:
        await data.close()


def files_of(data: FormData, name: str) -> list[UploadFile]:
    """The files of a form under a name."""
    return [value for value in data.getlist(name) if isinstance(value, UploadFile)]


async def drain(request: Request) -> None:
    """Take in what is still to come of the body of a refused request, within limits, and drop it."""
    if request.headers.get("expect", "").lower() == "100-continue":
        return  # the sender waits to hear whether it may send
    size = 0
    with suppress(TimeoutError, ClientDisconnect, RuntimeError):
        async with asyncio.timeout(DRAINED_S):
            while size < DRAINED_BYTES:
                message = await request.receive()
                size += len(message.get("body", b""))
                if not message.get("more_body", False):
                    break


async def _limited(request: Request, settings: ServerSettings) -> AsyncGenerator[bytes, None]:
    """The chunks of a body that is neither too large nor too slow."""
    too_large = RequestTooLarge(f"The request has more than the {settings.max_body_bytes} bytes that are allowed.")
    stated = request.headers.get("content-length", "")
    if stated.isdecimal() and int(stated) > settings.max_body_bytes:
        raise too_large
    record = record_of(request)
    chunks = aiter(request.stream())
    untimed = 0
    deadline = asyncio.get_running_loop().time() + settings.upload_timeout_s
    while True:
        try:
            async with asyncio.timeout_at(deadline):
                chunk = await anext(chunks)
        except StopAsyncIteration:
            return
        except TimeoutError:
            raise UploadTimedOut(
                f"The body of the request comes too slowly: {TIMED_BYTES} bytes must come every "
                f"{settings.upload_timeout_s:g} s."
            ) from None
        record.received_bytes += len(chunk)
        if record.received_bytes > settings.max_body_bytes:
            raise too_large
        untimed += len(chunk)
        if untimed >= TIMED_BYTES:
            untimed, deadline = 0, asyncio.get_running_loop().time() + settings.upload_timeout_s
        yield chunk


class _Refusal(MultiPartException):
    """Carries another error through the parser, which closes its files for its own kind of error only."""

    def __init__(self, reason: SpeechError | ClientDisconnect) -> None:
        super().__init__("refused")
        self.reason = reason


async def _with_refusals(chunks: AsyncGenerator[bytes, None]) -> AsyncGenerator[bytes, None]:
    try:
        async for chunk in chunks:
            yield chunk
    except (SpeechError, ClientDisconnect) as error:
        raise _Refusal(error) from error
