"""What is loaded (``ModelSettings``, from the environment) and what one request asks for (``InferenceConfig``)."""

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    SecretStr,
    ValidationError,
    field_validator,
    model_validator,
)
from pydantic_settings import BaseSettings, SettingsConfigDict

from speech_pipeline.errors import ConflictingParameters, InvalidParameters, InvalidSettings
from speech_pipeline.languages import language_code

STARTER = "starter"
"""Model name that stands for the starter model of its kind."""

MAX_WINDOW_S = 30.0
"""The longest window Whisper takes in, in seconds."""


class ModelSettings(BaseSettings):
    """What is loaded, read from environment variables of the same names in capitals.

    A blank variable counts as unset. A model is a hub id, a folder, or ``starter``. A model left unset is taken
    from the folder the handler is loaded from, where that holds one, and else from the defaults in
    ``speech_pipeline.loading``.
    """

    model_config = SettingsConfigDict(env_ignore_empty=True, extra="ignore", protected_namespaces=(), frozen=True)

    asr_model: str | None = Field(default=None, description="Whisper model that transcribes")
    assistant_model: str | None = Field(default=None, description="smaller Whisper model for speculative decoding")
    diarization_model: str | None = Field(default=None, description="pyannote.audio pipeline")
    hf_token: SecretStr | None = Field(default=None, description="token for gated and private models")
    device: str = Field(default="auto", description="auto, cpu, cuda, cuda:1, mps")
    dtype: Literal["auto", "float32", "float16", "bfloat16"] = Field(
        default="auto",
        description="precision of Whisper; auto picks what the machine is fastest in, on a CPU a mixture with int8",
    )
    lean_decoding: bool = Field(default=True, description="greedy text by a loop of our own, not by transformers")
    cuda_graphs: bool = Field(default=False, description="that loop's steps as CUDA graphs, made at start")
    fast_diarization: bool = Field(default=True, description="shared work between windows; false: as pyannote does it")
    overlap_stages: Annotated[bool | Literal["auto"], BeforeValidator(lambda v: _switch(v))] = Field(
        default="auto", description="find speakers while words are recognised; auto: on a GPU"
    )
    max_audio_bytes: int = Field(default=512 * 1024**2, gt=0, description="largest encoded recording, in bytes")
    max_audio_duration_s: float = Field(
        default=10_800.0, gt=0, allow_inf_nan=False, description="longest recording, in seconds"
    )
    starter_dir: Path = Field(
        default_factory=lambda: _cache_directory() / "speech-pipeline" / "starter",
        description="where the starter models are kept",
    )

    @field_validator("asr_model", "assistant_model", "diarization_model", "starter_dir", mode="after")
    @classmethod
    def _expand_home(cls, value: Any) -> Any:
        """``~`` as the shell takes it."""
        try:
            if isinstance(value, Path):
                return value.expanduser()
            return str(Path(value).expanduser()) if value and value.startswith("~") else value
        except RuntimeError:
            raise ValueError("must be a folder; the user after ~ is unknown") from None

    @classmethod
    def from_environment(cls) -> Self:
        """Read the environment.

        Raises:
            InvalidSettings: a variable has a value of the wrong kind.
        """
        try:
            return cls()
        except ValidationError as error:
            raise InvalidSettings(_sentences(error, upper=True)) from None

    @model_validator(mode="before")
    @classmethod
    def _strip(cls, values: Any) -> Any:
        """Without the white space that comes along when values, tokens above all, are pasted."""
        stripped = {name: value.strip() if isinstance(value, str) else value for name, value in values.items()}
        return {name: value for name, value in stripped.items() if value != ""}

    @field_validator("device", "dtype", mode="before")
    @classmethod
    def _lower_case(cls, value: Any) -> Any:
        return _lower(value)


class InferenceConfig(BaseModel):
    """What one request asks for. Build it with :meth:`from_request`."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    task: Annotated[Literal["transcribe", "translate"], BeforeValidator(lambda v: _lower(v))] = "transcribe"
    batch_size: Annotated[int, BeforeValidator(lambda v: _number(v))] = Field(default=24, ge=1, le=256)
    assisted: Annotated[bool | Literal["auto"], BeforeValidator(lambda v: _switch(v))] = False
    chunk_length_s: Annotated[float, BeforeValidator(lambda v: _number(v))] = Field(default=30.0, ge=1, le=MAX_WINDOW_S)
    sampling_rate: Annotated[int, BeforeValidator(lambda v: _number(v))] = Field(default=16_000, ge=1_000, le=384_000)
    language: str | None = None
    num_speakers: Annotated[int | None, BeforeValidator(lambda v: _number(v))] = Field(default=None, ge=1, le=100)
    min_speakers: Annotated[int | None, BeforeValidator(lambda v: _number(v))] = Field(default=None, ge=1, le=100)
    max_speakers: Annotated[int | None, BeforeValidator(lambda v: _number(v))] = Field(default=None, ge=1, le=100)
    diarize: Annotated[bool | None, BeforeValidator(lambda v: _lower(v))] = None
    word_timestamps: Annotated[bool, BeforeValidator(lambda v: _lower(v))] = True
    prompt: Annotated[str | None, AfterValidator(lambda v: _text(v))] = Field(default=None, max_length=4_000)
    hotwords: Annotated[str | None, AfterValidator(lambda v: _text(v))] = Field(default=None, max_length=4_000)
    temperature: tuple[Annotated[float, Field(ge=0, le=1)], ...] = Field(
        default=(0.0, 0.2, 0.4, 0.6, 0.8, 1.0), min_length=1, max_length=10
    )
    compression_ratio_threshold: Annotated[float | None, BeforeValidator(lambda v: _number(v))] = Field(
        default=2.4, gt=0, le=100
    )
    logprob_threshold: Annotated[float | None, BeforeValidator(lambda v: _number(v))] = Field(
        default=-1.0, ge=-100, le=0
    )
    no_speech_threshold: Annotated[float | None, BeforeValidator(lambda v: _number(v))] = Field(default=0.6, ge=0, le=1)
    num_beams: Annotated[int, BeforeValidator(lambda v: _number(v))] = Field(default=1, ge=1, le=10)
    channels: Annotated[Literal["mix", "separate"], BeforeValidator(lambda v: _lower(v))] = "mix"
    vad: Annotated[bool, BeforeValidator(lambda v: _lower(v))] = True
    format: Annotated[Literal["json", "txt", "srt", "vtt", "rttm", "stm"], BeforeValidator(lambda v: _lower(v))] = (
        "json"
    )

    @classmethod
    def from_request(cls, parameters: Mapping[str, Any] | None) -> tuple[Self, tuple[str, ...]]:
        """Validate the ``parameters`` of a request, given as JSON or as strings of a query.

        ``None``, ``""``, ``"None"`` and ``"null"`` mean "not given", except for the thresholds, where null switches
        the guard off. Unknown keys are ignored.

        Returns:
            The configuration, and warnings that name what was ignored.

        Raises:
            ConflictingParameters: two parameters exclude each other.
            InvalidParameters: a value has a wrong type or is out of range.
        """
        if parameters is None:
            parameters = {}
        if not isinstance(parameters, Mapping):
            raise InvalidParameters(f"parameters must be an object of names and values, not {_kind(parameters)}.")
        given = {str(name): value for name, value in parameters.items()}
        unknown = sorted(name for name in given if name not in cls.model_fields)
        known = {
            name: None if _is_null(value) else value
            for name, value in given.items()
            if name in cls.model_fields and (not _is_null(value) or (name.endswith("_threshold") and value != ""))
        }
        try:
            config = cls.model_validate(known)
        except ValidationError as error:
            raise InvalidParameters(_sentences(error)) from None
        named = ", ".join(name[:60] for name in unknown[:20]).encode(errors="replace").decode()
        return config, (f"Unknown parameters were ignored: {named}.",) if unknown else ()

    @field_validator("language", mode="before")
    @classmethod
    def _normalise_language(cls, value: Any) -> str | None:
        if value is None or (isinstance(value, str) and value.strip().lower() == "auto"):
            return None
        if not isinstance(value, str):
            raise ValueError("must be a language such as 'en', 'english' or 'pt-BR'")
        return language_code(value)

    @field_validator("hotwords", mode="before")
    @classmethod
    def _join_hotwords(cls, value: Any) -> Any:
        if isinstance(value, (list, tuple)) and all(isinstance(word, str) for word in value):
            return " ".join(value)
        return value

    @field_validator("temperature", mode="before")
    @classmethod
    def _spread_temperature(cls, value: Any) -> Any:
        if isinstance(value, (list, tuple)):
            return tuple(_number(item) for item in value)
        try:
            start = float(_number(value))
        except (TypeError, ValueError, OverflowError):
            raise ValueError("must be a number from 0 to 1, or a list of them to try in turn") from None
        if not 0 <= start <= 1:
            raise ValueError("must be from 0 to 1")
        steps = round((1 - start) / 0.2 + 1e-6)
        return tuple(round(min(start + 0.2 * step, 1.0), 3) for step in range(steps + 1))

    @model_validator(mode="after")
    def _check_conflicts(self) -> Self:
        if self.num_speakers is not None and (self.min_speakers is not None or self.max_speakers is not None):
            raise ConflictingParameters(
                "num_speakers fixes the number of speakers; leave out min_speakers and max_speakers with it."
            )
        if self.min_speakers and self.max_speakers and self.min_speakers > self.max_speakers:
            raise ConflictingParameters(
                f"min_speakers ({self.min_speakers}) must not be above max_speakers ({self.max_speakers})."
            )
        if self.assisted is True and "batch_size" in self.model_fields_set and self.batch_size > 1:
            raise ConflictingParameters(
                "assisted decoding takes one window at a time; leave out batch_size or set it to 1, "
                'or set assisted to "auto".'
            )
        if self.assisted is True and self.num_beams > 1:
            raise ConflictingParameters("assisted decoding is greedy; leave out num_beams or set it to 1.")
        if self.diarize and self.channels == "separate":
            raise ConflictingParameters(
                'with channels="separate" each channel is one speaker; leave out diarize, or set channels to "mix".'
            )
        speakers = self.num_speakers or self.min_speakers or self.max_speakers
        if speakers and self.channels == "separate":
            raise ConflictingParameters(
                'with channels="separate" each channel is one speaker; leave out the number of speakers, or set '
                'channels to "mix".'
            )
        if self.diarize is False and speakers:
            raise ConflictingParameters(
                "a number of speakers was given and diarize is false; leave out one of the two."
            )
        return self


def disable_pyannote_telemetry() -> None:
    """Keep pyannote.audio from reporting usage to its makers; takes effect when called before its import."""
    os.environ["PYANNOTE_METRICS_ENABLED"] = "0"


def _cache_directory() -> Path:
    """The user's cache folder (XDG base directory specification)."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")


def _is_null(value: Any) -> bool:
    return value is None or (isinstance(value, str) and value.strip().lower() in ("", "none", "null"))


def _lower(value: Any) -> Any:
    return value.strip().lower() if isinstance(value, str) else value


def _switch(value: Any) -> Any:
    """``auto``, or a boolean in one of its spellings."""
    value = _lower(value)
    if isinstance(value, (str, int)) and value in ("auto", "true", "false", "1", "0", "yes", "no", "on", "off", 0, 1):
        return value
    raise ValueError("must be true, false or 'auto'")


def _number(value: Any) -> Any:
    """Refuse booleans, which pydantic would take for 0 and 1."""
    if isinstance(value, bool):
        raise ValueError("must be a number")
    return value.strip() if isinstance(value, str) else value


def _text(value: str | None) -> str | None:
    """Refuse text that cannot be encoded (lone surrogates); blank text counts as none."""
    if value is None or not value.strip():
        return None
    try:
        value.encode()
    except UnicodeEncodeError:
        raise ValueError("must be valid Unicode text") from None
    return value.strip()


def _kind(value: Any) -> str:
    names = {str: "a string", list: "a list", bool: "a boolean", int: "a number", float: "a number", bytes: "bytes"}
    return names.get(type(value), type(value).__name__)


def _sentences(error: ValidationError, *, upper: bool = False) -> str:
    """What is wrong with each field: pydantic's first finding, without its documentation links."""
    clauses: dict[str, str] = {}
    for problem in error.errors(include_url=False, include_context=False):
        name = str(problem["loc"][0]) if problem["loc"] else "parameters"
        message = re.sub(r"^(Value error,|Input|String|Tuple) ", "", problem["msg"])
        clauses.setdefault(name, f"{name.upper() if upper else name}: {message}{_shown(name, problem['input'])}")
    return "; ".join(clauses.values()) + "."


def _shown(name: str, value: Any) -> str:
    """A short value as it was given; no text of the caller's, and no number with thousands of digits."""
    if name in ("prompt", "hotwords") or not isinstance(value, (str, int, float)):
        return ""
    if isinstance(value, int) and abs(value) > 10**60:
        return ""
    return f", got {value!r}" if len(repr(value)) <= 60 else ""
