"""``python -m speech_pipeline serve``: the pipeline as an HTTP server."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from config import NO_MODEL, ModelSettings, ServerSettings
from speech_pipeline.console import tell
from speech_pipeline.errors import SpeechError
from speech_pipeline.model_options import Loader, chosen_settings, load, model_options

KEEP_ALIVE_S = 75
"""How long an idle connection is kept: longer than balancers commonly keep theirs."""


@click.command(short_help="Serve the host's contract and OpenAI's speech API.")
@click.option("--host", "server_host", metavar="ADDRESS", help="Address to listen at, instead of SERVER_HOST.")
@click.option("--port", "server_port", type=click.IntRange(0, 65_535), metavar="N", help="Instead of SERVER_PORT.")
@click.option("--lm", "lm_model", metavar="ID", help="Language model that answers, instead of LM_MODEL.")
@click.option("--tts", "tts_model", metavar="ID", help="Voice, instead of TTS_MODEL.")
@model_options
@click.pass_obj
def serve(loader: Loader, server_host: str | None, server_port: int | None, **options: Any) -> None:
    """Serve the host's contract at / and OpenAI's speech API at /v1 until it is stopped.

    A stop (SIGTERM, Ctrl+C) lets the requests that were accepted finish. With --model starter the starter models are
    taken for all that is not set. The limits are settings, which README.md lists.
    """
    import uvicorn

    from speech_pipeline.server.app import create_app
    from speech_pipeline.server.logs import write_json_logs

    given = {"server_host": server_host, "server_port": server_port}
    settings = ServerSettings.from_environment().model_copy(
        update={name: value for name, value in given.items() if value is not None}
    )
    models = chosen_settings(options, diarize=True, reply=True)
    failures: list[SpeechError] = []

    def stop(failure: SpeechError) -> None:
        failures.append(failure)
        server.should_exit = True

    write_json_logs()
    app = create_app(lambda: load(loader, models), settings, models=tuple(model_names(models)), on_failure=stop)
    server = uvicorn.Server(
        uvicorn.Config(
            app,
            host=settings.server_host,
            port=settings.server_port,
            lifespan="on",
            log_config=None,
            access_log=False,  # it would write the queries of addresses
            server_header=False,
            timeout_keep_alive=KEEP_ALIVE_S,
            timeout_graceful_shutdown=round(settings.shutdown_timeout_s) or 1,
        )
    )
    server.run()
    if failures:
        raise failures[0]
    if not server.started:
        tell("The server could not start; its log says why.")
        raise click.exceptions.Exit(1)


def model_names(settings: ModelSettings) -> Iterator[str]:
    """What callers may know of the models: hub ids and names; of folders the last part only."""
    from speech_pipeline.loading import DEFAULT_ASR_MODEL

    voices = [part.rpartition("=")[2].strip() for part in (settings.tts_model or "").split(",")]
    for model in dict.fromkeys([settings.asr_model or DEFAULT_ASR_MODEL, settings.lm_model, *voices]):
        if model and model.lower() != NO_MODEL:
            yield Path(model).name if Path(model).exists() else model
