"""Clients of before huggingface_hub 0.31, which post JSON or bytes with ``InferenceClient.post``."""

import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import soundfile

REQUIREMENTS = Path(__file__).resolve().parents[2] / "requirements" / "old-client.txt"

INSTALL_TIMEOUT_S = 300
CALL_TIMEOUT_S = 120

SCRIPT = """
import base64, json, socket, sys

look_up = socket.getaddrinfo

def loopback_only(host, *arguments, **options):
    assert host == "127.0.0.1", f"{host} was looked up"
    return look_up(host, *arguments, **options)

socket.getaddrinfo = loopback_only

import huggingface_hub
from huggingface_hub import InferenceClient
from huggingface_hub.errors import HfHubHTTPError

url, path = sys.argv[1:]
with open(path, "rb") as file:
    audio = file.read()
encoded = base64.b64encode(audio).decode()
english, klingon = {"language": "en"}, {"language": "klingon"}

def client(content_type=None):
    return InferenceClient(url, token="not-a-token", headers={"Content-Type": content_type} if content_type else None)

def attempt(call):
    try:
        result = call()
    except HfHubHTTPError as error:
        return {"status": error.response.status_code, "error": str(error)}
    return json.loads(result) if isinstance(result, bytes) else result

calls = {
    "post_json": lambda: client().post(json={"inputs": encoded, "parameters": english}),
    "post_audio": lambda: client("audio/wav").post(data=audio),
    "post_unknown_language": lambda: client().post(json={"inputs": encoded, "parameters": klingon}),
    "recognition": lambda: client("audio/wav").automatic_speech_recognition(path),
    "recognition_with_parameters": lambda: client("application/json").automatic_speech_recognition(
        audio, extra_body=english
    ),
    "untyped_post": lambda: client().post(data=audio),
    "untyped_recognition": lambda: client().automatic_speech_recognition(path),
    "untyped_recognition_with_parameters": lambda: client().automatic_speech_recognition(audio, extra_body=english),
}
replies = {name: attempt(call) for name, call in calls.items()}
print(json.dumps({"version": huggingface_hub.__version__} | replies))
"""


@pytest.fixture(scope="module")
def old_python(request: pytest.FixtureRequest) -> Path:
    """Interpreter of the old client's environment, kept in pytest's cache until its pins or Python change."""
    assert request.config.cache is not None
    key = hashlib.sha256(f"{REQUIREMENTS.read_text()}{sys.version}".encode()).hexdigest()[:12]
    environment = Path(request.config.cache.mkdir(f"old-client-{key}"))
    python = environment / "bin" / "python"
    complete = environment / "complete"
    if not complete.exists():
        try:
            _run(sys.executable, "-m", "venv", "--clear", environment)
            _run(python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "-r", REQUIREMENTS)
        except subprocess.CalledProcessError as error:
            reasons = [line for line in error.stderr.splitlines() if line.startswith("ERROR")]
            pytest.skip(f"the old client cannot be installed: {(reasons or ['it gave no reason'])[0]}")
        except subprocess.TimeoutExpired:
            pytest.skip(f"the old client cannot be installed within {INSTALL_TIMEOUT_S} s")
        complete.touch()
    return python


@pytest.fixture(scope="module", params=["custom_url", "recognition_url"])
def replies(
    request: pytest.FixtureRequest, old_python: Path, sample_call: Path, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, Any]:
    """What the old client got from an endpoint, by kind of call, once for each task."""
    clip = tmp_path_factory.mktemp("clip") / "call.wav"
    samples, sampling_rate = soundfile.read(sample_call, start=6 * 16_000, stop=round(14.4 * 16_000), dtype="int16")
    soundfile.write(clip, samples, sampling_rate)
    done = subprocess.run(
        [old_python, "-c", SCRIPT, request.getfixturevalue(request.param), clip],
        env=os.environ | {"NO_PROXY": "127.0.0.1", "HF_HUB_DISABLE_TELEMETRY": "1"},
        capture_output=True,
        text=True,
        timeout=CALL_TIMEOUT_S,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    answers: dict[str, Any] = json.loads(done.stdout)
    assert answers["version"] == "0.30.2"
    return answers


@pytest.mark.parametrize("call", ["post_json", "post_audio", "recognition", "recognition_with_parameters"])
def test_transcript(replies: dict[str, Any], call: str) -> None:
    reply = replies[call]
    for word in ("hello", "diane", "jersey"):
        assert word in reply["text"].lower()
    assert [set(chunk) for chunk in reply["chunks"]] == [{"text", "timestamp"}] * len(reply["chunks"])
    assert reply["speakers"]


@pytest.mark.parametrize("call", ["untyped_post", "untyped_recognition", "untyped_recognition_with_parameters"])
def test_client_must_be_given_the_content_type(replies: dict[str, Any], call: str) -> None:
    """This client states one with ``post(json=...)`` alone, and the host refuses what has none."""
    assert replies[call]["status"] == 400


def test_error_tells_what_is_wrong(replies: dict[str, Any]) -> None:
    failure = replies["post_unknown_language"]
    assert failure["status"] == 400
    assert "[invalid_parameters] language" in failure["error"]


def _run(*command: str | Path) -> None:
    subprocess.run(command, check=True, capture_output=True, text=True, timeout=INSTALL_TIMEOUT_S)
