"""The custom handler of Inference Endpoints: the Hub's contract around the speech pipeline."""

import logging
import traceback
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from config import InferenceConfig, ModelSettings
from speech_pipeline.errors import InvalidPayload, SpeechError
from speech_pipeline.loading import load_pipeline

logger = logging.getLogger(__name__)


class EndpointHandler:
    """Loaded once by the host, then called with one request at a time."""

    def __init__(self, path: str = "") -> None:
        """Load the models named in the environment, or mounted with the repository.

        Args:
            path: folder of the deployed repository.

        Raises:
            SpeechError: a setting is wrong or a model cannot be loaded.
        """
        self._pipeline = load_pipeline(ModelSettings.from_environment(), Path(path) if path else None)

    def __call__(self, data: dict[str, Any]) -> dict[str, Any]:
        """Transcribe.

        Args:
            data: ``{"inputs": audio, "parameters": {...}}``; see the README for both.

        Returns:
            Plain JSON types, see :meth:`speech_pipeline.transcript.Transcript.to_response`.

        Raises:
            SpeechError: its text is ``[code] sentence``, the one thing the host passes on.
        """
        try:
            if not isinstance(data, Mapping) or "inputs" not in data:
                raise InvalidPayload('The request must be an object with "inputs": the audio as base64 text.')
            config, ignored = InferenceConfig.from_request(data.get("parameters"))
            transcript = self._pipeline.transcribe(data["inputs"], config)
        except SpeechError as error:
            if error.http_status >= 500:
                _log(error)
            raise
        except Exception as error:
            _log(error)
            raise SpeechError("The request failed inside the endpoint; its log says where.") from None
        return replace(transcript, warnings=(*ignored, *transcript.warnings)).to_response()


def _log(error: BaseException) -> None:
    """Where it happened and of what kind, without messages, which may quote the caller's text."""
    chain: list[BaseException] = []
    current: BaseException | None = error
    while current is not None and current not in chain:
        chain.append(current)
        current = current.__cause__ or current.__context__
    for link in reversed(chain):
        frames = "".join(traceback.format_tb(link.__traceback__))
        logger.error("%s\n%s", type(link).__qualname__, frames)
