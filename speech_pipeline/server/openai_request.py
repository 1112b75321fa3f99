"""The form of ``/v1/audio/transcriptions`` and ``/v1/audio/translations`` -> what the pipeline is asked for.

Lists come as ``name[]``, ``name``, ``name[0]`` or one value of JSON, objects as ``name[key]`` or one value of JSON: the
clients differ. Fields that are not known are ignored, as OpenAI's newer ones must be.
"""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal

from starlette.datastructures import FormData, UploadFile

from config import InferenceConfig
from speech_pipeline.errors import InvalidParameters, InvalidPayload
from speech_pipeline.reply.options import ReplyOptions
from speech_pipeline.server.bodies import files_of

Task = Literal["transcribe", "translate"]

RESPONSE_FORMATS = ("json", "text", "srt", "verbose_json", "vtt", "diarized_json")
GRANULARITIES = ("word", "segment")

_EXTENSIONS = frozenset(InferenceConfig.model_fields) - set(ReplyOptions.model_fields) - {"task", "format"}
"""Parameters of our own that a form may hold beside OpenAI's fields."""

_TRUE, _FALSE = ("true", "1", "yes", "on"), ("false", "0", "no", "off", "", "null", "none")


@dataclass(frozen=True, slots=True)
class TranscriptionRequest:
    """What a form asks for.

    Attributes:
        file: the recording.
        config: what the pipeline is to do.
        task: ``transcribe`` or ``translate``.
        response_format: one of ``RESPONSE_FORMATS``.
        granularities: which times ``verbose_json`` holds.
        logprobs: whether the probabilities of the words are asked for.
        stream: whether the answer is to come as events.
        warnings: sentences about what was ignored.
    """

    file: UploadFile
    config: InferenceConfig
    task: Task
    response_format: str
    granularities: frozenset[str]
    logprobs: bool
    stream: bool
    warnings: tuple[str, ...] = ()


def read_form(data: FormData, task: Task) -> TranscriptionRequest:
    """Validate a form.

    Raises:
        InvalidPayload: the file is missing.
        InvalidParameters: a field has a wrong value.
    """
    response_format = _one_of(
        data, "response_format", [name for name in RESPONSE_FORMATS if task == "transcribe" or name != "diarized_json"]
    )
    granularities = _listed(data, "timestamp_granularities")
    if wrong := set(granularities) - set(GRANULARITIES):
        raise InvalidParameters(f"timestamp_granularities must be word or segment{_shown(wrong)}.")
    logprobs = "logprobs" in _listed(data, "include")
    parameters: dict[str, Any] = {name: value for name, value in _texts(data) if name in _EXTENSIONS}
    diarized = response_format == "diarized_json"
    parameters["task"] = task
    parameters["format"] = response_format if response_format in ("srt", "vtt") else "json"
    parameters["diarize"] = True if diarized else parameters.get("diarize", False)
    words = "word" in granularities or logprobs or response_format in ("srt", "vtt")
    parameters.setdefault("word_timestamps", words)
    if keywords := _listed(data, "keywords"):
        parameters.setdefault("hotwords", " ".join(keywords))
    if len(languages := _listed(data, "languages")) == 1:
        parameters.setdefault("language", *languages)
    config, _ = InferenceConfig.from_request(parameters)
    return TranscriptionRequest(
        file=_file(data),
        config=config,
        task=task,
        response_format=response_format,
        granularities=frozenset(granularities or ("segment",)),
        logprobs=logprobs,
        stream=_switch(data, "stream"),
        warnings=tuple(_check_chunking(data)),
    )


def _file(data: FormData) -> UploadFile:
    files = files_of(data, "file")
    if not files:
        raise InvalidPayload('The form must have the recording as the file "file"; paths and URLs are not opened.')
    return files[0]


def _texts(data: FormData) -> Iterable[tuple[str, str]]:
    return ((name, value) for name, value in data.multi_items() if isinstance(value, str))


def _one_of(data: FormData, name: str, allowed: list[str]) -> str:
    value = dict(_texts(data)).get(name, "").strip().lower() or allowed[0]
    if value not in allowed:
        raise InvalidParameters(f"{name} must be one of {', '.join(allowed)}{_shown([value])}.")
    return value


def _switch(data: FormData, name: str) -> bool:
    value = dict(_texts(data)).get(name, "").strip().lower()
    if value not in (*_TRUE, *_FALSE):
        raise InvalidParameters(f"{name} must be true or false{_shown([value])}.")
    return value in _TRUE


def _listed(data: FormData, name: str) -> list[str]:
    """The values of a list, in any of the spellings."""
    values: list[str] = []
    for field, value in _texts(data):
        if field == name or field.startswith(f"{name}["):
            parsed = _json(value)
            values += [str(item) for item in parsed] if isinstance(parsed, list) else value.split(",")
    return list(dict.fromkeys(value.strip() for value in values if value.strip()))


def _check_chunking(data: FormData) -> Iterable[str]:
    """Warnings about ``chunking_strategy``; it changes nothing, since recordings are always cut where nobody speaks."""
    fields = dict(_texts(data))
    value = fields.get("chunking_strategy", "").strip()
    prefix = "chunking_strategy["
    given = {field[len(prefix) : -1]: text for field, text in fields.items() if field.startswith(prefix)}
    if value.startswith("{"):
        parsed = _json(value)
        given |= parsed if isinstance(parsed, dict) else {}
    if given.get("type", "server_vad") != "server_vad" or (value.lower() not in ("", "auto", "null") and not given):
        raise InvalidParameters('chunking_strategy must be "auto" or an object of the type "server_vad".')
    if unused := sorted(set(given) & {"threshold", "prefix_padding_ms", "silence_duration_ms"}):
        yield f"These options of chunking_strategy had no effect: {', '.join(unused)}."


def _json(value: str) -> Any:
    """The value of a text of JSON; None where it is none."""
    try:
        return json.loads(value) if value.lstrip().startswith(("[", "{")) else None
    except (ValueError, RecursionError):
        return None


def _shown(values: Iterable[str]) -> str:
    """Short wrong values as they were given."""
    short = [value for value in sorted(values) if len(value) <= 40]
    return f", got {', '.join(map(repr, short))}" if short else ""
