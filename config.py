"""What is loaded (``ModelSettings``, from the environment) and what one request asks for (``InferenceConfig``)."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    SecretStr,
    ValidationError,
    field_validator,
    model_validator,
)
from pydantic_settings import BaseSettings, SettingsConfigDict

from speech_pipeline.errors import ConflictingParameters, InvalidParameters, InvalidSettings
from speech_pipeline.parameter_values import is_null, kind, language_or_auto, lower, number, sentences, switch, text
from speech_pipeline.reply.options import ReplyOptions

STARTER = "starter"
"""Model name that stands for the starter model of its kind."""

NO_MODEL = "none"
"""Model name that stands for no model, also where one is mounted with the repository or there is a default."""

MAX_WINDOW_S = 30.0
"""The longest window Whisper takes in, in seconds."""


class ModelSettings(BaseSettings):
    """What is loaded, read from environment variables of the same names in capitals.

    A blank variable counts as unset. A model is a hub id, a folder, ``starter`` or ``none``. A model left unset is
    taken from the folder the handler is loaded from, where that holds one, and else from the defaults in
    ``speech_pipeline.loading``.
    """

    model_config = SettingsConfigDict(env_ignore_empty=True, extra="ignore", protected_namespaces=(), frozen=True)

    asr_model: str | None = Field(default=None, description="Whisper model that transcribes")
    assistant_model: str | None = Field(default=None, description="smaller Whisper model for speculative decoding")
    diarization_model: str | None = Field(default=None, description="pyannote.audio pipeline")
    lm_model: str | None = Field(default=None, description="language model that answers")
    lm_base_url: str | None = Field(default=None, description="URL of an OpenAI-compatible server that has lm_model")
    lm_api_key: SecretStr | None = Field(default=None, description="key of that server")
    tts_model: str | None = Field(default=None, description="voice that speaks, or one for each language")
    tts_fallback: str | None = Field(default=None, description="voice for languages that tts_model does not speak")
    hf_token: SecretStr | None = Field(default=None, description="token for gated and private models")
    device: str = Field(default="auto", description="auto, cpu, cuda, cuda:1, mps")
    dtype: Literal["auto", "float32", "float16", "bfloat16"] = Field(
        default="auto",
        description="precision of Whisper; auto picks what the machine is fastest in, on a CPU a mixture with int8",
    )
    lean_decoding: bool = Field(default=True, description="greedy text by a loop of our own, not by transformers")
    cuda_graphs: bool = Field(default=False, description="that loop's steps as CUDA graphs, made at start")
    fast_diarization: bool = Field(default=True, description="shared work between windows; false: as pyannote does it")
    overlap_stages: Annotated[bool | Literal["auto"], BeforeValidator(switch)] = Field(
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

    @field_validator("asr_model", "assistant_model", "diarization_model", "lm_model", "starter_dir", mode="after")
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
            raise InvalidSettings(sentences(error, upper=True)) from None

    @model_validator(mode="before")
    @classmethod
    def _strip(cls, values: Any) -> Any:
        """Without the white space that comes along when values, tokens above all, are pasted."""
        stripped = {name: value.strip() if isinstance(value, str) else value for name, value in values.items()}
        return {name: value for name, value in stripped.items() if value != ""}

    @field_validator("device", "dtype", mode="before")
    @classmethod
    def _lower_case(cls, value: Any) -> Any:
        return lower(value)


class InferenceConfig(ReplyOptions):
    """What one request asks for. Build it with :meth:`from_request`."""

    task: Annotated[Literal["transcribe", "translate", "answer", "speak"], BeforeValidator(lower)] = "transcribe"
    batch_size: Annotated[int, BeforeValidator(number)] = Field(default=24, ge=1, le=256)
    assisted: Annotated[bool | Literal["auto"], BeforeValidator(switch)] = False
    chunk_length_s: Annotated[float, BeforeValidator(number)] = Field(default=30.0, ge=1, le=MAX_WINDOW_S)
    sampling_rate: Annotated[int, BeforeValidator(number)] = Field(default=16_000, ge=1_000, le=384_000)
    language: Annotated[str | None, BeforeValidator(language_or_auto)] = None
    num_speakers: Annotated[int | None, BeforeValidator(number)] = Field(default=None, ge=1, le=100)
    min_speakers: Annotated[int | None, BeforeValidator(number)] = Field(default=None, ge=1, le=100)
    max_speakers: Annotated[int | None, BeforeValidator(number)] = Field(default=None, ge=1, le=100)
    diarize: Annotated[bool | None, BeforeValidator(lower)] = None
    word_timestamps: Annotated[bool, BeforeValidator(lower)] = True
    prompt: Annotated[str | None, AfterValidator(text)] = Field(default=None, max_length=4_000)
    hotwords: Annotated[str | None, AfterValidator(text)] = Field(default=None, max_length=4_000)
    temperature: tuple[Annotated[float, Field(ge=0, le=1)], ...] = Field(
        default=(0.0, 0.2, 0.4, 0.6, 0.8, 1.0), min_length=1, max_length=10
    )
    compression_ratio_threshold: Annotated[float | None, BeforeValidator(number)] = Field(default=2.4, gt=0, le=100)
    logprob_threshold: Annotated[float | None, BeforeValidator(number)] = Field(default=-1.0, ge=-100, le=0)
    no_speech_threshold: Annotated[float | None, BeforeValidator(number)] = Field(default=0.6, ge=0, le=1)
    num_beams: Annotated[int, BeforeValidator(number)] = Field(default=1, ge=1, le=10)
    channels: Annotated[Literal["mix", "separate"], BeforeValidator(lower)] = "mix"
    vad: Annotated[bool, BeforeValidator(lower)] = True
    format: Annotated[Literal["json", "txt", "srt", "vtt", "rttm", "stm"], BeforeValidator(lower)] = "json"

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
            raise InvalidParameters(f"parameters must be an object of names and values, not {kind(parameters)}.")
        given = {str(name): value for name, value in parameters.items()}
        unknown = sorted(name for name in given if name not in cls.model_fields)
        known = {
            name: None if is_null(value) else value
            for name, value in given.items()
            if name in cls.model_fields and (not is_null(value) or (name.endswith("_threshold") and value != ""))
        }
        try:
            config = cls.model_validate(known)
        except ValidationError as error:
            raise InvalidParameters(sentences(error)) from None
        named = ", ".join(name[:60] for name in unknown[:20]).encode(errors="replace").decode()
        return config, (f"Unknown parameters were ignored: {named}.",) if unknown else ()

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
            return tuple(number(item) for item in value)
        try:
            start = float(number(value))
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
