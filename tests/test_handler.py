"""The handler as the host calls it: answers in plain JSON, coded errors, and one request never spoils the next."""

import base64
import json
import logging
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from handler import EndpointHandler
from speech_pipeline.errors import ModelUnavailable, SpeechError
from tests.bad_inputs import Case, cases
from tests.synthetic_audio import encode, tone


@pytest.fixture(scope="module")
def handler(starter_dir: Path) -> Iterator[EndpointHandler]:
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("ASR_MODEL", "starter")
        environment.setenv("DIARIZATION_MODEL", "starter")
        environment.setenv("STARTER_DIR", str(starter_dir))
        environment.delenv("ASSISTANT_MODEL", raising=False)
        yield EndpointHandler("")


@pytest.fixture(scope="module")
def call_request(sample_call: Path) -> dict[str, Any]:
    return {
        "inputs": base64.b64encode(sample_call.read_bytes()).decode(),
        "parameters": {"language": "en", "num_speakers": 2},
    }


@pytest.fixture(scope="module")
def call_answer(handler: EndpointHandler, call_request: dict[str, Any]) -> dict[str, Any]:
    return handler(call_request)


def _numbers(value: Any) -> Iterator[float]:
    if isinstance(value, dict):
        for item in value.values():
            yield from _numbers(item)
    elif isinstance(value, list):
        for item in value:
            yield from _numbers(item)
    elif isinstance(value, float):
        yield value
    else:
        assert value is None or type(value) in (str, int, bool)


def _without_timings(answer: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in answer.items() if key != "timings"}


def test_who_said_what(call_answer: dict[str, Any]) -> None:
    said: dict[str, str] = {}
    for part in call_answer["speakers"]:
        said[part["speaker"]] = said.get(part["speaker"], "") + part["text"].lower()
    diane, sheila = said["SPEAKER_01"], said["SPEAKER_00"]
    assert "this is diane in new jersey" in diane
    assert "originally from chicago also" in diane
    assert "yankee" in sheila
    assert len(said) == 2


def test_answer_has_the_public_core_and_plain_finite_values(call_answer: dict[str, Any]) -> None:
    assert json.loads(json.dumps(call_answer, allow_nan=False)) == call_answer
    assert all(math.isfinite(number) for number in _numbers(call_answer))
    assert "".join(chunk["text"] for chunk in call_answer["chunks"]).strip() == call_answer["text"]
    assert "".join(part["text"] for part in call_answer["speakers"]).strip() == call_answer["text"]
    assert " ".join(word["word"] for word in call_answer["words"]) == call_answer["text"]
    for part in (*call_answer["chunks"], *call_answer["speakers"]):
        start, end = part["timestamp"]
        assert 0 <= start <= end <= call_answer["duration"] == 30.0
    starts = [word["start"] for word in call_answer["words"]]
    assert starts == sorted(starts)
    assert {word["speaker"] for word in call_answer["words"]} == {"SPEAKER_00", "SPEAKER_01"}
    assert set(call_answer["timings"]) >= {"decoding", "voice_activity", "recognition", "diarization", "total"}
    assert call_answer["language"] == "en"


def test_text_is_the_same_without_word_times(
    handler: EndpointHandler, call_request: dict[str, Any], call_answer: dict[str, Any]
) -> None:
    parameters = {**call_request["parameters"], "word_timestamps": False}
    answer = handler({"inputs": call_request["inputs"], "parameters": parameters})
    assert answer["text"] == call_answer["text"]
    assert answer["chunks"] == call_answer["chunks"]
    assert answer["speakers"] == call_answer["speakers"]
    assert answer["words"] == []


@pytest.mark.parametrize("format", ["txt", "srt", "vtt", "rttm", "stm"])
def test_formats_fill_formatted(handler: EndpointHandler, format: str) -> None:
    answer = handler({"inputs": encode(tone()), "parameters": {"format": format}})
    assert isinstance(answer["formatted"], str)
    assert "formatted" not in handler({"inputs": encode(tone())})


def test_unknown_parameters_are_named_in_warnings(handler: EndpointHandler) -> None:
    answer = handler({"inputs": encode(tone()), "parameters": {"shoe_size": 43}})
    assert any("shoe_size" in warning for warning in answer["warnings"])


@pytest.mark.parametrize("case", cases(), ids=lambda case: case.name)
def test_bad_input_gives_a_result_or_a_coded_sentence(
    handler: EndpointHandler, case: Case, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.DEBUG):
        try:
            answer = handler(case.body)
        except SpeechError as error:
            _check_error(error, case)
        else:
            assert case.expected_code is None
            assert all(math.isfinite(number) for number in _numbers(answer))
    assert "Traceback" not in caplog.text


def _check_error(error: SpeechError, case: Case) -> None:
    assert error.code == case.expected_code
    text = str(error)
    assert text.startswith(f"[{error.code}] ")
    assert len(text) > len(error.code) + 20
    assert len(text) < 600
    for secret in ("Traceback", ".py", "site-packages", str(Path.cwd()), str(Path.home()) + "/", "object at 0x"):
        assert secret not in text


def test_a_request_after_all_that_is_answered_as_before(
    handler: EndpointHandler, call_request: dict[str, Any], call_answer: dict[str, Any]
) -> None:
    for case in list(cases())[::10]:
        try:
            handler(case.body)
        except SpeechError:
            continue
    assert _without_timings(handler(call_request)) == _without_timings(call_answer)


@pytest.mark.parametrize("data", [None, [], "audio", 7, b"RIFF"])
def test_what_is_no_object_is_refused(handler: EndpointHandler, data: Any) -> None:
    with pytest.raises(SpeechError, match=r"^\[invalid_payload\]"):
        handler(data)


def test_the_request_is_left_as_it_was(handler: EndpointHandler) -> None:
    body = {"inputs": encode(tone()), "parameters": {"language": "EN"}, "other": 1}
    handler(body)
    assert body == {"inputs": encode(tone()), "parameters": {"language": "EN"}, "other": 1}


def test_a_failure_inside_tells_the_caller_nothing_but_its_code(
    handler: EndpointHandler, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    heard = "secret words in /secret/path"

    def fail(*_: Any, **__: Any) -> None:
        raise RuntimeError(heard)

    monkeypatch.setattr("speech_pipeline.pipeline.load_audio", fail)
    with pytest.raises(SpeechError) as raised:
        handler({"inputs": encode(tone())})
    assert raised.value.code == "internal_error"
    assert heard not in str(raised.value)
    assert "RuntimeError" in caplog.text
    assert heard not in caplog.text


def test_a_model_that_cannot_be_loaded_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ASR_MODEL", "/nowhere/at/all")
    with pytest.raises(ModelUnavailable) as raised:
        EndpointHandler("")
    assert "ASR_MODEL" in str(raised.value)
    assert "/nowhere" not in str(raised.value)
