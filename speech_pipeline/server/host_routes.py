"""The routes of the host that runs ``handler.py``, with true status codes and any content type."""

import json
from contextlib import AsyncExitStack
from dataclasses import replace
from functools import partial
from typing import Any

from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import BaseRoute, Route

from config import InferenceConfig
from speech_pipeline.listener import Listener
from speech_pipeline.server.host_request import HostRequest, read_host_request
from speech_pipeline.server.request_record import record_of
from speech_pipeline.server.seats import Seat
from speech_pipeline.server.service import Service
from speech_pipeline.server.work_endpoint import WorkEndpoint
from speech_pipeline.transcript import Reply, Transcript


def host_routes(service: Service) -> list[BaseRoute]:
    """``GET /``, ``/health`` and ``/metrics``; ``POST /`` and ``/predict``."""

    async def health(request: Request) -> Response:
        """200 once requests will be answered; also what a balancer asks before it sends any."""
        _ = service.pipeline
        return PlainTextResponse("Ok")

    async def metrics(request: Request) -> Response:
        service.authorized(request)
        content, media_type = service.metrics.exposed(request.headers.get("accept", ""))
        return Response(content, headers={"content-type": media_type})

    async def read(request: Request, held: AsyncExitStack) -> HostRequest:
        return await read_host_request(request, service.settings, held)

    work = WorkEndpoint(service, read, partial(_answer, service))
    return [
        Route("/", health, methods=["GET"]),
        Route("/health", health, methods=["GET"]),
        Route("/metrics", metrics, methods=["GET"]),
        Route("/", work, methods=["POST"]),
        Route("/predict", work, methods=["POST"]),
    ]


async def _answer(service: Service, request: Request, asked: HostRequest, held: AsyncExitStack) -> Response:
    seat = await held.enter_async_context(service.seats.seat(Listener()))
    record = record_of(request)
    record.queue_s = seat.queue_s
    result, content = await seat.run(partial(_work, service, asked, seat))
    if isinstance(result, Transcript):
        record.audio_s = result.duration
        service.metrics.heard(result)
    reply = result.reply if isinstance(result, Transcript) else result
    if reply is not None and reply.audio is not None:
        service.metrics.audio_s.labels("spoken").inc(reply.audio.duration)
    return Response(content, media_type="application/json")


def _work(service: Service, asked: HostRequest, seat: Seat) -> tuple[Transcript | Reply, bytes]:
    """The result, and the response; in the thread of the work, because large JSON takes its time."""
    inputs, parameters = asked.load()
    config, ignored = InferenceConfig.from_request(parameters)
    result = service.pipeline.respond(inputs, config, listener=seat.listener)
    response: dict[str, Any] = replace(result, warnings=(*ignored, *result.warnings)).to_response()
    if "timings" in response:
        response["timings"] = {"queue": round(seat.queue_s, 4), **response["timings"]}
    return result, json.dumps(response, ensure_ascii=False, allow_nan=False).encode()
