"""The custom handler of Inference Endpoints: the Hub's contract around the speech pipeline."""

import logging
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from config import InferenceConfig, ModelSettings
from speech_pipeline.error_log import log_error
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
        """Transcribe and answer a recording, or answer or speak a text.

        Args:
            data: ``{"inputs": audio or text, "parameters": {...}}``; see the README for both.

        Returns:
            Plain JSON types, see ``to_response`` of :class:`speech_pipeline.transcript.Transcript` and of
            :class:`speech_pipeline.transcript.Reply`.

        Raises:
            SpeechError: its text is ``[code] sentence``, the one thing the host passes on.
        """
        try:
            if not isinstance(data, Mapping) or "inputs" not in data:
                raise InvalidPayload('The request must be an object with "inputs": the audio as base64 text.')
            config, ignored = InferenceConfig.from_request(data.get("parameters"))
            result = self._pipeline.respond(data["inputs"], config)
        except SpeechError as error:
            if error.http_status >= 500:
                log_error(logger, error)
            raise
        except Exception as error:
            log_error(logger, error)
            raise SpeechError("The request failed inside the endpoint; its log says where.") from None
        return replace(result, warnings=(*ignored, *result.warnings)).to_response()
