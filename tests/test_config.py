import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from config import InferenceConfig, ModelSettings
from speech_pipeline.errors import ConflictingParameters, InvalidParameters, InvalidSettings
from speech_pipeline.reply.language_model import Message

NUMBERS = (
    "batch_size",
    "chunk_length_s",
    "sampling_rate",
    "num_speakers",
    "min_speakers",
    "max_speakers",
    "temperature",
    "compression_ratio_threshold",
    "logprob_threshold",
    "no_speech_threshold",
    "num_beams",
    "max_reply_tokens",
    "reply_temperature",
    "seed",
    "speed",
)

ACCEPTED: list[tuple[str, Any, Any]] = [
    ("task", " Translate ", "translate"),
    ("batch_size", "4", 4),
    ("batch_size", " 4 ", 4),
    ("batch_size", "4.0", 4),
    ("batch_size", 4.0, 4),
    ("assisted", "true", True),
    ("assisted", " True ", True),
    ("assisted", "off", False),
    ("assisted", 1, True),
    ("assisted", "AUTO", "auto"),
    ("chunk_length_s", "20.5", 20.5),
    ("chunk_length_s", 20, 20.0),
    ("sampling_rate", "8000", 8_000),
    ("language", "pt-BR", "pt"),
    ("num_speakers", "2", 2),
    ("min_speakers", "2", 2),
    ("max_speakers", 3.0, 3),
    ("diarize", " YES", True),
    ("diarize", "0", False),
    ("word_timestamps", " False ", False),
    ("word_timestamps", 0, False),
    ("prompt", " Ein Gespräch. ", "Ein Gespräch."),
    ("prompt", " \n ", None),
    ("hotwords", "ComfyUI", "ComfyUI"),
    ("hotwords", ["ComfyUI", "Quilter"], "ComfyUI Quilter"),
    ("hotwords", [], None),
    ("temperature", "0.4", (0.4, 0.6, 0.8, 1.0)),
    ("temperature", 0.5, (0.5, 0.7, 0.9, 1.0)),
    ("temperature", 1, (1.0,)),
    ("temperature", ["0", 0.5], (0.0, 0.5)),
    ("temperature", [0.0], (0.0,)),
    ("compression_ratio_threshold", "2.6", 2.6),
    ("logprob_threshold", "-0.5", -0.5),
    ("no_speech_threshold", 1, 1.0),
    ("num_beams", "5", 5),
    ("channels", "Separate", "separate"),
    ("vad", "no", False),
    ("format", " SRT", "srt"),
    ("task", "Speak", "speak"),
    ("reply", "True", True),
    ("system_prompt", " Be\x00 kind. ", "Be kind."),
    ("messages", [{"role": " User ", "content": " Hi. ", "name": "x"}], (Message("user", "Hi."),)),
    ("messages", [{"role": "user", "content": "H\x00i\x1b\n"}], (Message("user", "Hi"),)),
    ("messages", [], ()),
    ("reply_language", "French", "fr"),
    ("reply_language", "auto", None),
    ("max_reply_tokens", "64", 64),
    ("reply_temperature", "0.7", 0.7),
    ("seed", "7", 7),
    ("voice", " anna ", "anna"),
    ("speed", "1.5", 1.5),
    ("audio_format", "MP3", "mp3"),
]


def request(**parameters: Any) -> InferenceConfig:
    config, warnings = InferenceConfig.from_request(parameters)
    assert warnings == ()
    return config


def refused(parameters: Any) -> str:
    """The sentence a request is refused with; its code is checked."""
    with pytest.raises(InvalidParameters) as caught:
        InferenceConfig.from_request(parameters)
    assert caught.value.code == "invalid_parameters"
    assert caught.value.http_status == 422
    message = caught.value.message
    message.encode()
    assert "\n" not in message
    assert "pydantic" not in message
    assert message.endswith(".")
    return message


# What one request asks for


@pytest.mark.parametrize("parameters", [None, {}, {"language": "auto"}, {"language": " AUTO "}])
def test_defaults(parameters: Mapping[str, Any] | None) -> None:
    config, warnings = InferenceConfig.from_request(parameters)
    assert config == InferenceConfig()
    assert warnings == ()
    assert (config.task, config.language, config.batch_size, config.chunk_length_s) == ("transcribe", None, 24, 30.0)
    assert config.temperature == (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)


@pytest.mark.parametrize(("name", "given", "value"), ACCEPTED)
def test_values_of_a_query_and_of_json(name: str, given: Any, value: Any) -> None:
    assert getattr(request(**{name: given}), name) == value


def test_the_rows_above_cover_every_parameter() -> None:
    assert {name for name, _, _ in ACCEPTED} == set(InferenceConfig.model_fields)


@pytest.mark.parametrize("null", [None, "None", "null", "NULL", " none "])
@pytest.mark.parametrize("name", sorted(InferenceConfig.model_fields))
def test_null_is_not_given_except_that_it_switches_a_threshold_off(name: str, null: str | None) -> None:
    config = request(**{name: null})
    if name.endswith("_threshold"):
        assert getattr(config, name) is None
    else:
        assert config == InferenceConfig()
        assert name not in config.model_fields_set


@pytest.mark.parametrize("name", sorted(InferenceConfig.model_fields))
def test_an_empty_string_is_not_given(name: str) -> None:
    config = request(**{name: ""})
    assert config == InferenceConfig()
    assert name not in config.model_fields_set


def test_unknown_names_are_ignored_with_a_warning() -> None:
    config, warnings = InferenceConfig.from_request({"shoe_size": 43, "batch_size": 2, "Language": "de", 7: 1})  # type: ignore[dict-item]
    assert config == InferenceConfig(batch_size=2)
    assert warnings == ("Unknown parameters were ignored: 7, Language, shoe_size.",)


def test_a_warning_about_unknown_names_is_short_and_can_be_encoded() -> None:
    _, (warning,) = InferenceConfig.from_request({f"{i:03d}{'x' * 500}\ud800": 1 for i in range(100)} | {"\udcff": 1})
    assert len(warning) < 1_500
    assert json.loads(json.dumps(warning, ensure_ascii=False).encode()) == warning


@pytest.mark.parametrize(
    ("name", "value", "right"),
    [
        ("task", "summarise", "'transcribe', 'translate', 'answer' or 'speak'"),
        ("batch_size", 0, "greater than or equal to 1"),
        ("batch_size", 257, "less than or equal to 256"),
        ("batch_size", 4.5, "integer"),
        ("batch_size", "many", "integer"),
        ("assisted", "maybe", "true, false or 'auto'"),
        ("assisted", 2, "true, false or 'auto'"),
        ("assisted", [], "true, false or 'auto'"),
        ("chunk_length_s", 0.5, "greater than or equal to 1"),
        ("chunk_length_s", 30.5, "less than or equal to 30"),
        ("sampling_rate", 999, "greater than or equal to 1000"),
        ("sampling_rate", 384_001, "less than or equal to 384000"),
        ("language", "klingon", "'en'"),
        ("language", 5, "'en'"),
        ("language", ["en"], "'en'"),
        ("num_speakers", 0, "greater than or equal to 1"),
        ("min_speakers", 0, "greater than or equal to 1"),
        ("max_speakers", 101, "less than or equal to 100"),
        ("diarize", "maybe", "boolean"),
        ("word_timestamps", "word", "boolean"),
        ("word_timestamps", 2, "boolean"),
        ("prompt", "x" * 4_001, "at most 4000 characters"),
        ("prompt", 5, "string"),
        ("prompt", ["a"], "string"),
        ("hotwords", ["a", 5], "string"),
        ("hotwords", "x" * 4_001, "at most 4000 characters"),
        ("temperature", -0.1, "from 0 to 1"),
        ("temperature", 1.1, "from 0 to 1"),
        ("temperature", "hot", "from 0 to 1"),
        ("temperature", "0,0.2", "from 0 to 1"),
        ("temperature", {}, "from 0 to 1"),
        ("temperature", [0, 1.5], "less than or equal to 1"),
        ("temperature", [], "at least 1 item"),
        ("temperature", [0.1] * 11, "at most 10 items"),
        ("compression_ratio_threshold", 0, "greater than 0"),
        ("compression_ratio_threshold", 101, "less than or equal to 100"),
        ("logprob_threshold", 0.1, "less than or equal to 0"),
        ("logprob_threshold", -101, "greater than or equal to -100"),
        ("no_speech_threshold", -0.1, "greater than or equal to 0"),
        ("no_speech_threshold", 1.1, "less than or equal to 1"),
        ("num_beams", 11, "less than or equal to 10"),
        ("channels", "left", "'mix' or 'separate'"),
        ("vad", "sometimes", "boolean"),
        ("format", "docx", "'json', 'txt', 'srt', 'vtt', 'rttm' or 'stm'"),
        ("reply", "maybe", "boolean"),
        ("system_prompt", "x" * 20_001, "at most 20000 characters"),
        ("messages", [{"role": "user", "content": "\x00\x1b"}], "number 1 must have a content"),
        ("messages", "Hello", 'a list such as [{"role"'),
        ("messages", {"role": "user", "content": "Hello"}, 'a list such as [{"role"'),
        ("messages", ["Hello"], "number 1 must be an object"),
        ("messages", [{"content": "Hello"}], 'number 1 must have the role "user" or "assistant"'),
        ("messages", [{"role": "system", "content": "Hello"}], "system_prompt"),
        ("messages", [{"role": ["user"], "content": "Hello"}], "number 1 must have the role"),
        ("messages", [{"role": "user", "content": "Hi"}, {"role": "assistant"}], "number 2 must have a content"),
        ("messages", [{"role": "user", "content": ["Hello"]}], "number 1 must have a content"),
        ("messages", [{"role": "user", "content": " "}], "number 1 must have a content"),
        ("messages", [{"role": "user", "content": "x\ud800"}], "valid Unicode"),
        ("messages", [{"role": "user", "content": "x"}] * 201, "at most 200 messages"),
        ("messages", [{"role": "user", "content": "x" * 5_000}] * 5, "at most 20000 characters"),
        ("reply_language", "klingon", "'en'"),
        ("max_reply_tokens", 0, "greater than or equal to 1"),
        ("reply_temperature", 2.1, "less than or equal to 2"),
        ("seed", -1, "greater than or equal to 0"),
        ("voice", "x" * 101, "at most 100 characters"),
        ("speed", 0.4, "greater than or equal to 0.5"),
        ("speed", 3, "less than or equal to 2"),
        ("audio_format", "wma", "'wav', 'flac', 'mp3' or 'opus'"),
    ],
)
def test_a_wrong_value_is_refused_with_its_name_and_what_would_be_right(name: str, value: Any, right: str) -> None:
    message = refused({name: value})
    assert message.startswith(f"{name}: ")
    assert message.count(f"{name}: ") == 1
    assert right in message


@pytest.mark.parametrize("value", [True, False, ["x"], {"exactly": 2}, float("nan"), "nan", "1e999x"])
@pytest.mark.parametrize("name", NUMBERS)
def test_what_is_no_number_is_refused_for_one(name: str, value: Any) -> None:
    assert refused({name: value}).startswith(f"{name}: ")


@pytest.mark.parametrize(
    "value",
    [10**400, -(10**400), 10**5_000, float("inf"), float("-inf"), "inf", "9" * 400],
    ids=["400 digits", "minus 400 digits", "5000 digits", "infinity", "minus infinity", "inf", "400 nines"],
)
@pytest.mark.parametrize("name", NUMBERS)
def test_numbers_beyond_all_bounds_are_refused(name: str, value: Any) -> None:
    assert len(refused({name: value})) < 200


@pytest.mark.parametrize("name", sorted(InferenceConfig.model_fields))
@pytest.mark.parametrize(
    "value",
    [{"a": 1}, [[]], object(), b"\xff", "\ud800", 1j],
    ids=["dictionary", "nested list", "object", "bytes", "lone surrogate", "complex"],
)
def test_values_of_absurd_types_are_refused(name: str, value: Any) -> None:
    assert refused({name: value}).startswith(f"{name}: ")


@pytest.mark.parametrize("name", ["prompt", "hotwords", "system_prompt", "messages"])
@pytest.mark.parametrize("value", ["my secret \ud800", "my secret" * 3_000, {"my secret": 1}, b"my secret \xff"])
def test_the_text_of_the_caller_is_not_repeated_in_an_error(name: str, value: Any) -> None:
    assert "secret" not in refused({name: value})


def test_several_wrong_values_are_named_together_and_each_once() -> None:
    message = refused({"batch_size": 0, "task": "sing", "temperature": [7, 8], "assisted": 9})
    assert [message.count(name) for name in ("batch_size", "task", "temperature", "assisted")] == [1, 1, 1, 1]


@pytest.mark.parametrize(
    ("parameters", "kind"), [([], "a list"), ("en", "a string"), (5, "a number"), (b"", "bytes"), (True, "a boolean")]
)
def test_parameters_must_be_an_object(parameters: Any, kind: str) -> None:
    assert refused(parameters) == f"parameters must be an object of names and values, not {kind}."


@pytest.mark.parametrize(
    ("parameters", "advice"),
    [
        ({"num_speakers": 2, "min_speakers": 1}, "leave out min_speakers and max_speakers"),
        ({"num_speakers": 2, "max_speakers": 2}, "leave out min_speakers and max_speakers"),
        ({"min_speakers": "4", "max_speakers": 2}, "min_speakers (4) must not be above max_speakers (2)"),
        ({"assisted": True, "batch_size": 2}, "leave out batch_size or set it to 1"),
        ({"assisted": "true", "batch_size": "24"}, "leave out batch_size or set it to 1"),
        ({"assisted": True, "num_beams": 2}, "leave out num_beams or set it to 1"),
        ({"diarize": True, "channels": "separate"}, 'leave out diarize, or set channels to "mix"'),
        ({"num_speakers": 2, "channels": "separate"}, "leave out the number of speakers"),
        ({"max_speakers": 2, "channels": "separate"}, "leave out the number of speakers"),
        ({"diarize": False, "num_speakers": 2}, "leave out one of the two"),
        ({"diarize": "false", "min_speakers": 2}, "leave out one of the two"),
        ({"diarize": False, "max_speakers": 2}, "leave out one of the two"),
    ],
)
def test_parameters_that_exclude_each_other(parameters: dict[str, Any], advice: str) -> None:
    with pytest.raises(ConflictingParameters) as caught:
        InferenceConfig.from_request(parameters)
    assert caught.value.code == "conflicting_parameters"
    assert caught.value.http_status == 422
    assert advice in caught.value.message


@pytest.mark.parametrize(
    "parameters",
    [
        {"min_speakers": 2, "max_speakers": 2},
        {"num_speakers": 2, "min_speakers": None, "max_speakers": ""},
        {"num_speakers": 2, "diarize": True},
        {"assisted": True},
        {"assisted": True, "batch_size": 1, "num_beams": 1},
        {"assisted": "auto", "batch_size": 8, "num_beams": 4},
        {"diarize": False, "channels": "separate"},
        {"channels": "separate"},
    ],
)
def test_parameters_that_go_together(parameters: dict[str, Any]) -> None:
    assert request(**parameters)


def test_a_configuration_cannot_be_changed() -> None:
    with pytest.raises(ValueError, match="frozen"):
        request().batch_size = 2


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters(), max_size=12),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=4,
)


@given(st.dictionaries(st.sampled_from(sorted(InferenceConfig.model_fields)) | st.text(max_size=5), json_values))
def test_any_object_gives_a_configuration_or_an_error_with_a_code(parameters: dict[str, Any]) -> None:
    try:
        config, warnings = InferenceConfig.from_request(parameters)
    except InvalidParameters as refusal:
        refusal.message.encode()
    else:
        config.model_dump_json()
        "".join(warnings).encode()


# What is loaded


@pytest.fixture
def environment(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """An environment without any of the settings."""
    for name in ModelSettings.model_fields:
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)
    return monkeypatch


def test_settings_are_read_from_variables_of_their_names(environment: pytest.MonkeyPatch) -> None:
    values = {
        "ASR_MODEL": "openai/whisper-small",
        "ASSISTANT_MODEL": "starter",
        "DIARIZATION_MODEL": "/models/diarization",
        "LM_MODEL": "some/chat",
        "LM_BASE_URL": "https://example.com/v1",
        "LM_API_KEY": "key_secret",
        "TTS_MODEL": "en=starter",
        "TTS_FALLBACK": "espeak",
        "HF_TOKEN": "hf_secret",
        "DEVICE": "cuda:1",
        "DTYPE": "float16",
        "LEAN_DECODING": "false",
        "CUDA_GRAPHS": "on",
        "FAST_DIARIZATION": "no",
        "OVERLAP_STAGES": "yes",
        "MAX_AUDIO_BYTES": "1000",
        "MAX_AUDIO_DURATION_S": "60.5",
        "STARTER_DIR": "/models/starter",
    }
    for name, value in values.items():
        environment.setenv(name, value)
    settings = ModelSettings.from_environment()
    assert settings.hf_token is not None
    assert settings.hf_token.get_secret_value() == "hf_secret"
    assert settings.lm_api_key is not None
    assert settings.lm_api_key.get_secret_value() == "key_secret"
    assert settings.model_dump(exclude={"hf_token", "lm_api_key"}) == {
        "asr_model": "openai/whisper-small",
        "assistant_model": "starter",
        "diarization_model": "/models/diarization",
        "lm_model": "some/chat",
        "lm_base_url": "https://example.com/v1",
        "tts_model": "en=starter",
        "tts_fallback": "espeak",
        "device": "cuda:1",
        "dtype": "float16",
        "lean_decoding": False,
        "cuda_graphs": True,
        "fast_diarization": False,
        "overlap_stages": True,
        "max_audio_bytes": 1_000,
        "max_audio_duration_s": 60.5,
        "starter_dir": Path("/models/starter"),
    }


@pytest.mark.parametrize("blank", ["", " ", "\n"])
def test_a_blank_variable_is_unset(environment: pytest.MonkeyPatch, blank: str) -> None:
    unset = ModelSettings.from_environment()
    for name in ModelSettings.model_fields:
        environment.setenv(name.upper(), blank)
    assert ModelSettings.from_environment() == unset
    assert unset.asr_model is None
    assert unset.hf_token is None
    assert (unset.device, unset.dtype, unset.max_audio_duration_s) == ("auto", "auto", 10_800)


def test_white_space_around_values_is_left_out(environment: pytest.MonkeyPatch) -> None:
    for name, value in {
        "HF_TOKEN": "hf_secret\n",
        "ASR_MODEL": " a/b ",
        "DEVICE": " CUDA:0",
        "DTYPE": "BFloat16 ",
    }.items():
        environment.setenv(name, value)
    settings = ModelSettings.from_environment()
    assert settings.hf_token is not None
    assert settings.hf_token.get_secret_value() == "hf_secret"
    assert (settings.asr_model, settings.device, settings.dtype) == ("a/b", "cuda:0", "bfloat16")


@pytest.mark.parametrize(
    ("name", "value", "right"),
    [
        ("DTYPE", "int8", "'auto', 'float32', 'float16' or 'bfloat16'"),
        ("OVERLAP_STAGES", "sometimes", "true, false or 'auto'"),
        ("MAX_AUDIO_BYTES", "10MB", "integer"),
        ("MAX_AUDIO_BYTES", "0", "greater than 0"),
        ("MAX_AUDIO_BYTES", "-5", "greater than 0"),
        ("MAX_AUDIO_DURATION_S", "an hour", "number"),
        ("MAX_AUDIO_DURATION_S", "-1", "greater than 0"),
        ("MAX_AUDIO_DURATION_S", "nan", "finite"),
        ("MAX_AUDIO_DURATION_S", "inf", "finite"),
        ("STARTER_DIR", "~nobody-of-this-name/models", "folder"),
        ("ASR_MODEL", "~nobody-of-this-name/model", "folder"),
    ],
)
def test_a_wrong_setting_is_refused_with_its_name_and_what_would_be_right(
    environment: pytest.MonkeyPatch, name: str, value: str, right: str
) -> None:
    environment.setenv(name, value)
    with pytest.raises(InvalidSettings) as caught:
        ModelSettings.from_environment()
    assert caught.value.code == "invalid_settings"
    assert caught.value.message.startswith(f"{name}: ")
    assert right in caught.value.message


def test_a_tilde_is_the_home_folder(environment: pytest.MonkeyPatch, tmp_path: Path) -> None:
    environment.setenv("HOME", str(tmp_path))
    environment.setenv("ASR_MODEL", "~/models/whisper")
    environment.setenv("STARTER_DIR", "~/starter")
    settings = ModelSettings.from_environment()
    assert settings.asr_model == str(tmp_path / "models" / "whisper")
    assert settings.starter_dir == tmp_path / "starter"


def test_the_token_is_never_shown(environment: pytest.MonkeyPatch) -> None:
    environment.setenv("HF_TOKEN", "hf_secret")
    settings = ModelSettings.from_environment()
    for shown in (str(settings), repr(settings), f"{settings.hf_token}", settings.model_dump_json()):
        assert "secret" not in shown
    environment.setenv("DTYPE", "int8")
    with pytest.raises(InvalidSettings) as caught:
        ModelSettings.from_environment()
    assert "secret" not in str(caught.value)
    assert caught.value.__suppress_context__


def test_starter_models_are_kept_in_the_cache_folder_of_the_user(
    environment: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    environment.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert ModelSettings.from_environment().starter_dir == tmp_path / "speech-pipeline" / "starter"
    environment.setenv("XDG_CACHE_HOME", "")
    assert ModelSettings.from_environment().starter_dir == Path.home() / ".cache" / "speech-pipeline" / "starter"
