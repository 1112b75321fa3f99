"""The ASGI app: routes, middleware and the models' life."""

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.routing import Mount, Route

from config import ServerSettings
from speech_pipeline.errors import SpeechError
from speech_pipeline.server.errors_as_responses import error_response, http_exception_response
from speech_pipeline.server.host_routes import host_routes
from speech_pipeline.server.middleware import RequestContext
from speech_pipeline.server.openai_models import models_routes
from speech_pipeline.server.openai_speech import speech_routes
from speech_pipeline.server.openai_transcriptions import transcription_routes
from speech_pipeline.server.service import Pipeline, Service

OPENAI_PREFIXES = ("/v1", "/api/v1")


def create_app(
    load: Callable[[], Pipeline],
    settings: ServerSettings,
    *,
    models: Sequence[str] = ("whisper-1",),
    on_failure: Callable[[SpeechError], None] = lambda error: None,
) -> Starlette:
    """Build the server; its models are loaded once it runs, and until then it answers 503.

    Args:
        load: loads the models, in a thread.
        settings: limits and keys.
        models: names of the loaded models, for callers who ask; requests may name any.
        on_failure: told why the models cannot be loaded; the server then answers everything with that reason.
    """
    service = Service(load, settings, on_failure)

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        async with service.running():
            yield

    openai_routes = [*transcription_routes(service), *speech_routes(service), *models_routes(service, models)]
    routes = [*host_routes(service), *(Mount(prefix, routes=openai_routes) for prefix in OPENAI_PREFIXES)]
    named = {route.path for route in routes if isinstance(route, Route)}
    named |= {prefix + route.path for prefix in OPENAI_PREFIXES for route in openai_routes if isinstance(route, Route)}
    middleware = [Middleware(RequestContext, metrics=service.metrics, routes=named)]
    if settings.cors_origins:
        middleware.append(
            Middleware(
                CORSMiddleware,
                allow_origins=settings.cors_origins,
                allow_methods=("GET", "POST"),
                allow_headers=("*",),
                expose_headers=("x-request-id", "server-timing", "retry-after"),
            )
        )
    return Starlette(
        routes=routes,
        middleware=middleware,
        exception_handlers={SpeechError: error_response, HTTPException: http_exception_response},
        lifespan=lifespan,
    )
