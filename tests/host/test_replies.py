"""Questions and answers through the host, with the starter models, as clients ask them."""

import base64
import io
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import requests
import soundfile
from huggingface_hub import InferenceClient

from speech_pipeline.reply.demo import recovered_words
from tests.host.conftest import starter_handler
from tests.host.server import serve
from tests.host.toolkit_app import Handler, create_app_for
from tests.programs import run_program

TIMEOUT_S = 120
QUESTION = "What is the capital of France?"


@pytest.fixture(scope="module")
def handler(chat_starter_dir: Path, endpoint_handler: Handler) -> Iterator[Handler]:
    """A handler that answers as well; the one without replies is set up first, since it is closed last."""
    pytest.importorskip("hibari")
    with starter_handler(chat_starter_dir, "ASR_MODEL", "DIARIZATION_MODEL", "LM_MODEL", "TTS_MODEL") as handler:
        yield handler


@pytest.fixture(scope="module")
def talking_url(handler: Handler) -> Iterator[str]:
    with serve(create_app_for(handler, "custom")) as url:
        yield url


@pytest.fixture(scope="module")
def spoken_question(talking_url: str) -> bytes:
    """The question in the starter voice, as wav."""
    body = {"inputs": QUESTION, "parameters": {"task": "speak", "language": "en"}}
    return audio_of(post(talking_url, body)["reply"])


def post(url: str, body: dict[str, Any]) -> dict[str, Any]:
    response = requests.post(url, json=body, timeout=TIMEOUT_S, headers={"Accept": "application/json"})
    assert response.status_code == 200, response.text
    return dict(response.json())


def audio_of(reply: dict[str, Any]) -> bytes:
    """The file of a reply, once it is known to be what the reply says of it."""
    data = base64.b64decode(reply["audio"]["data"])
    samples, rate = soundfile.read(io.BytesIO(data))
    assert rate == reply["audio"]["sampling_rate"]
    assert len(samples) / rate == pytest.approx(reply["audio"]["duration"], abs=0.1)
    assert 0.01 < abs(samples).max() <= 1.0
    return data


def with_requests(url: str, audio: bytes, parameters: dict[str, Any]) -> dict[str, Any]:
    return post(url, {"inputs": base64.b64encode(audio).decode(), "parameters": parameters})


def with_client(url: str, audio: bytes, parameters: dict[str, Any]) -> dict[str, Any]:
    client = InferenceClient(model=url, token="hf_test")
    return dict(client.automatic_speech_recognition(audio, extra_body=parameters))


@pytest.mark.parametrize("ask", [with_requests, with_client])
@pytest.mark.parametrize("diarize", [False, True])
def test_a_spoken_question_is_answered(
    talking_url: str, spoken_question: bytes, ask: Callable[..., dict[str, Any]], diarize: bool
) -> None:
    response = ask(talking_url, spoken_question, {"reply": True, "language": "en", "diarize": diarize})
    assert "capital of France" in response["text"]
    assert bool(response["speakers"]) == diarize
    reply = response["reply"]
    assert "Paris" in reply["text"]
    assert (reply["language"], reply["complete"]) == ("en", True)
    audio_of(reply)


def test_the_words_of_a_spoken_answer_can_be_heard(talking_url: str) -> None:
    reply = post(talking_url, {"inputs": {"text": "Why is the sky blue?"}})["reply"]
    again = with_requests(talking_url, audio_of(reply), {"language": "en", "diarize": False})
    right, words = recovered_words(reply["text"], again["text"])
    assert right >= 0.85 * words


@pytest.mark.parametrize("audio_format", ["flac", "mp3", "opus"])
def test_text_to_speech_with_the_client(talking_url: str, audio_format: str) -> None:
    client = InferenceClient(model=talking_url, token="hf_test")
    body = client.text_to_speech("Good day.", extra_body={"task": "speak", "audio_format": audio_format})
    reply = json.loads(body)["reply"]
    assert (reply["text"], reply["audio"]["format"]) == ("Good day.", audio_format)
    audio_of(reply)


def test_a_written_question_without_parameters(talking_url: str) -> None:
    reply = post(talking_url, {"inputs": {"text": QUESTION}})["reply"]
    assert "Paris" in reply["text"]
    audio_of(reply)


def test_a_text_is_spoken_without_parameters_also_where_the_host_decodes_audio(handler: Handler) -> None:
    with serve(create_app_for(handler, "automatic-speech-recognition")) as url:
        reply = post(url, {"inputs": {"text": "Good day.", "task": "speak"}})["reply"]
    assert reply["text"] == "Good day."


def test_history_and_instructions_are_heeded(talking_url: str) -> None:
    messages = [
        {"role": "user", "content": "My name is Ludwig."},
        {"role": "assistant", "content": "Nice to meet you, Ludwig."},
    ]
    body = {"inputs": "What is my name?", "parameters": {"task": "answer", "messages": messages}}
    assert "Ludwig" in post(talking_url, body)["reply"]["text"]


@pytest.mark.parametrize(
    ("inputs", "parameters", "code"),
    [
        ("", {"task": "answer"}, "invalid_text"),
        ("\x00\x1b", {"task": "speak"}, "invalid_text"),
        ("👍 **", {"task": "speak"}, "invalid_text"),
        ({"text": 7}, {}, "invalid_text"),
        ("x" * 100_000, {"task": "answer"}, "text_too_long"),
        (QUESTION, {"task": "answer", "messages": "Hello"}, "invalid_parameters"),
        (QUESTION, {"task": "answer", "messages": [{"content": "Hello"}]}, "invalid_parameters"),
        (QUESTION, {"task": "answer", "voice": "nobody"}, "unknown_voice"),
        (QUESTION, {"task": "answer", "reply_language": "fr"}, "unsupported_by_model"),
        ({"text": QUESTION, "task": "sing"}, {}, "invalid_payload"),
        (QUESTION, {}, "invalid_payload"),
        ("AAAA", {"reply": True, "voice": "nobody"}, "unknown_voice"),
    ],
)
def test_bad_requests_have_their_codes(talking_url: str, inputs: Any, parameters: dict[str, Any], code: str) -> None:
    body = {"inputs": inputs, **({"parameters": parameters} if parameters else {})}
    response = requests.post(talking_url, json=body, timeout=TIMEOUT_S)
    assert response.status_code == 400
    assert response.json()["error"].startswith(f"[{code}] ")


@pytest.mark.parametrize(
    "body", [{"inputs": {"text": QUESTION}}, {"inputs": "this is no audio", "parameters": {"reply": True}}]
)
def test_without_the_models_a_reply_is_refused_before_any_work(custom_url: str, body: dict[str, Any]) -> None:
    response = requests.post(custom_url, json=body, timeout=TIMEOUT_S)
    assert response.status_code == 400
    assert response.json()["error"].startswith("[reply_unavailable] ")


LOGGING_PROGRAM = """
import contextlib, json, logging, os, sys, tempfile
from pathlib import Path

answers, log = os.dup(1), tempfile.TemporaryFile()
os.dup2(log.fileno(), 1)
os.dup2(log.fileno(), 2)
logging.basicConfig(level=logging.INFO)

from handler import EndpointHandler
from speech_pipeline.errors import SpeechError

handler = EndpointHandler()
private = {"reply": True, "system_prompt": "You are a captain.", "messages": [{"role": "user", "content": "Ahoy!"}]}
response = handler({"inputs": Path(sys.argv[1]).read_bytes(), "parameters": private})
for parameters in ({"messages": "Ahoy!"}, {"voice": "nobody"}, {"task": "answer", "language": "fr"}):
    with contextlib.suppress(SpeechError):
        handler({"inputs": "Where is the treasure?", "parameters": {**private, **parameters}})
logging.getLogger("test").warning("The end.")
log.seek(0)
os.write(answers, json.dumps({"response": response, "log": log.read().decode()}).encode())
"""


def test_no_prompt_answer_or_audio_is_logged(chat_starter_dir: Path, spoken_question: bytes, tmp_path: Path) -> None:
    """Nor printed by any library: in a process of its own, since loggers keep the streams they began with.

    Hosts show what is for information; the default of Python's logging is to show warnings only.
    """
    (tmp_path / "question.wav").write_bytes(spoken_question)
    models = dict.fromkeys(("ASR_MODEL", "LM_MODEL", "TTS_MODEL"), "starter")
    environment = {**models, "DIARIZATION_MODEL": "", "STARTER_DIR": str(chat_starter_dir)}
    answer = run_program(LOGGING_PROGRAM, str(tmp_path / "question.wav"), **environment)
    reply, log = answer["response"]["reply"], answer["log"]
    assert "The end." in log
    for private in ("captain", "Ahoy", "treasure", "capital", "France", reply["text"], reply["audio"]["data"][:60]):
        assert private
        assert private not in log
