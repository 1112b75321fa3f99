"""Requests as the Hub's clients send them: to a running endpoint, or to the pipeline in this process."""

import base64
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from config import InferenceConfig
from speech_pipeline.errors import EndpointFailed, SpeechError
from speech_pipeline.evaluation.bench.latency import Transcribe

if TYPE_CHECKING:
    from speech_pipeline.pipeline import SpeechPipeline

TIMEOUT_S = 600.0
"""How long a request may take, in seconds."""


@contextmanager
def endpoint(url: str, token: str | None, timeout_s: float = TIMEOUT_S) -> Iterator[Transcribe]:
    """Keep a connection to an endpoint for the length of a ``with`` block.

    Requests are JSON with base64 audio, which every task of the host takes.

    Args:
        url: where it is.
        token: Hub token; None for one that is open to all.
        timeout_s: how long an answer may take, in seconds.

    Yields:
        What sends a request. It raises EndpointFailed, or a SpeechError with the code that the endpoint gave.
    """
    import requests

    headers = {"Accept": "application/json", **({"Authorization": f"Bearer {token}"} if token else {})}

    def transcribe(audio: bytes, parameters: Mapping[str, Any]) -> Mapping[str, Any]:
        body: Any = {"inputs": base64.b64encode(audio).decode("ascii"), "parameters": dict(parameters)}
        try:
            response = session.post(url, json=body, headers=headers, timeout=timeout_s)
            answer = response.json()
        except requests.exceptions.JSONDecodeError:
            raise EndpointFailed(f"The endpoint answered with status {response.status_code} and no JSON.") from None
        except requests.RequestException as error:
            raise EndpointFailed(f"The endpoint did not answer ({type(error).__name__}); check --url.") from None
        if not isinstance(answer, dict) or not response.ok or "text" not in answer:
            raise _error(response.status_code, answer)
        return answer

    with requests.Session() as session:
        yield transcribe


def in_process(pipeline: "SpeechPipeline") -> Transcribe:
    """Requests that this process answers itself, from base64 to plain JSON types."""

    def transcribe(audio: bytes, parameters: Mapping[str, Any]) -> Mapping[str, Any]:
        config, _ = InferenceConfig.from_request(parameters)
        return pipeline.transcribe(base64.b64encode(audio).decode("ascii"), config).to_response()

    return transcribe


def _error(status: int, answer: Any) -> SpeechError:
    """The endpoint's own code and sentence, where it gives them: ``{"error": "[code] sentence"}``."""
    text = str(answer.get("error", "")) if isinstance(answer, dict) else ""
    code, found, sentence = text.removeprefix("[").partition("] ")
    if text.startswith("[") and found:
        return SpeechError(sentence, code=code)
    hint = " Set HF_TOKEN to a token that may use it." if status in (401, 403) else ""
    return EndpointFailed(f"The endpoint answered with status {status} and no transcript.{hint}")
