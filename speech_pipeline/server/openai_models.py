"""``GET /v1/models``: the names of what is loaded."""

from collections.abc import Sequence
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Route

from speech_pipeline.errors import NotFound
from speech_pipeline.server.service import Service

OWNER = "speech-pipeline"


def models_routes(service: Service, models: Sequence[str]) -> list[BaseRoute]:
    """The list, and each model by its name, without the version before them."""

    async def listed(request: Request) -> Response:
        service.authorized(request)
        return JSONResponse({"object": "list", "data": [_model(name) for name in models]})

    async def retrieved(request: Request) -> Response:
        service.authorized(request)
        if request.path_params["model"] not in models:
            raise NotFound("There is no model of this name; /v1/models lists those there are.")
        return JSONResponse(_model(request.path_params["model"]))

    return [Route("/models", listed, methods=["GET"]), Route("/models/{model:path}", retrieved, methods=["GET"])]


def _model(name: str) -> dict[str, Any]:
    return {"id": name, "object": "model", "created": 0, "owned_by": OWNER}
