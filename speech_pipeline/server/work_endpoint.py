"""The course of a request that brings work: admitted, read, answered, and everything it held freed again."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from typing import Generic, TypeVar

from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.types import Message, Receive, Scope, Send

from speech_pipeline.errors import RequestTimedOut, SpeechError
from speech_pipeline.server.bodies import drain
from speech_pipeline.server.service import Service

Asked = TypeVar("Asked")
Result = TypeVar("Result")


class WorkEndpoint(Generic[Asked]):
    """An ASGI app, so that what a request holds can be freed after the last byte of its answer."""

    def __init__(
        self,
        service: Service,
        read: Callable[[Request, AsyncExitStack], Awaitable[Asked]],
        answer: Callable[[Request, Asked, AsyncExitStack], Awaitable[Response]],
    ) -> None:
        """Put the two steps together.

        Args:
            service: what the routes share.
            read: takes the body in and says what is asked for.
            answer: does it, unless the caller leaves before it returns.
                What either puts on the stack is left when the answer has been sent.
        """
        self._service = service
        self._read = read
        self._answer = answer

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request.

        Raises:
            SpeechError: it was refused, or failed.
            ClientDisconnect: the caller left.
        """
        receiver = _Receiver(receive)
        request = Request(scope, receiver)
        try:
            async with asyncio.timeout(self._service.settings.request_timeout_s), AsyncExitStack() as held:
                key = self._service.authorized(request)
                _ = self._service.pipeline  # refused here while it is loading
                held.enter_context(self._service.admission.admitted(key))
                asked = await self._read(request, held)
                response = await _while_connected(request, self._answer(request, asked, held))
                await response(scope, receive, send)
        except TimeoutError:
            raise RequestTimedOut(
                f"The request took longer than the {self._service.settings.request_timeout_s:g} s that are allowed."
            ) from None
        except SpeechError:
            if not receiver.body_over:
                await drain(request)
            raise


class _Receiver:
    """Receives for a request, and knows whether its body is over."""

    def __init__(self, receive: Receive) -> None:
        self.body_over = False
        self._receive = receive

    async def __call__(self) -> Message:
        message = await self._receive()
        self.body_over = self.body_over or not message.get("more_body", False)
        return message


async def _while_connected(request: Request, answer: Awaitable[Result]) -> Result:
    """Wait for an answer as long as the caller does; the whole body must have been read.

    Raises:
        ClientDisconnect: the caller left; the answer is cancelled.
    """
    answering = asyncio.ensure_future(answer)
    leaving = asyncio.create_task(_disconnected(request))
    try:
        await asyncio.wait({answering, leaving}, return_when=asyncio.FIRST_COMPLETED)
        if not answering.done():
            raise ClientDisconnect
        return await answering
    finally:
        for task in (answering, leaving):
            task.cancel()
        await asyncio.gather(answering, leaving, return_exceptions=True)


async def _disconnected(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass
