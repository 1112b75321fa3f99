"""``python -m speech_pipeline serve`` in a process of its own: what it prints, how it ends, what it never tells."""

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import requests

from config import ModelSettings
from speech_pipeline.server.serve_command import model_names
from tests.programs import REPOSITORY
from tests.server.running import TIMEOUT_S, wait_until_ready

SERVE = """
import sys
from speech_pipeline.cli import main
from tests.server.scripted import ScriptedPipeline

def work(recording, listener):
    print("working", flush=True)
    if recording == b"fault":
        raise RuntimeError("private words")
    if recording == b"slow":
        sys.stdin.readline()

sys.exit(main(["serve", "--port", "0"], load=lambda settings, progress: ScriptedPipeline(work)))
"""

FAIL = """
import sys
from speech_pipeline.cli import main
from speech_pipeline.errors import ModelUnavailable

def load(settings, progress):
    raise ModelUnavailable("The model is gated.")

sys.exit(main(["serve", "--port", "0"], load=load))
"""


@contextmanager
def process(program: str, **environment: str) -> Iterator[subprocess.Popen[str]]:
    started = subprocess.Popen(
        [sys.executable, "-c", program],
        cwd=REPOSITORY,
        env={**os.environ, "API_KEYS": "private-key", **environment},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        yield started
    finally:
        started.kill()
        started.communicate()


def url_of(started: subprocess.Popen[str], log: list[str]) -> str:
    """The address in the log, once it is there."""
    assert started.stderr is not None
    for line in started.stderr:
        log.append(line)
        if found := re.search(r"http://127\.0\.0\.1:\d+", line):
            wait_until_ready(found[0])
            return found[0]
    raise AssertionError("".join(log))


def post(url: str, data: bytes) -> requests.Response:
    headers = {"authorization": "Bearer private-key", "content-type": "audio/wav"}
    return requests.post(f"{url}/?prompt=private-prompt", data=data, headers=headers, timeout=TIMEOUT_S)


def test_a_stop_signal_finishes_the_work_and_the_log_holds_nothing_private() -> None:
    log: list[str] = []
    with process(SERVE) as started, ThreadPoolExecutor() as threads:
        url = url_of(started, log)
        assert post(url, b"fault").status_code == 500
        slow = threads.submit(post, url, b"slow")
        assert started.stdout is not None
        assert [started.stdout.readline(), started.stdout.readline()] == ["working\n", "working\n"]
        started.send_signal(signal.SIGTERM)
        assert started.stdin is not None
        started.stdin.write("go on\n")
        started.stdin.flush()
        assert slow.result().json()["text"] == "Hello there. Good bye."
        _, rest = started.communicate(timeout=60)
        assert started.returncode in (0, -signal.SIGTERM)
    log += rest.splitlines()
    assert "private" not in "".join(log)
    lines = [json.loads(line) for line in log]
    by_status = {line["status"]: line for line in lines if "status" in line and line["route"] == "/"}
    assert set(by_status) == {500, 200}
    assert by_status[200]["audio_s"] == 2.5
    [trace] = [line for line in lines if line["message"].startswith("RuntimeError\n")]
    assert trace["request_id"] == by_status[500]["request_id"]


def test_models_that_cannot_be_loaded_end_the_process() -> None:
    with process(FAIL) as started:
        _, told = started.communicate(timeout=120)
        assert started.returncode == 3
        assert "The model is gated." in told
        assert "Traceback" not in told


def test_wrong_settings_end_the_process() -> None:
    with process(FAIL, SERVER_PORT="many", API_KEYS="") as started:
        _, told = started.communicate(timeout=120)
        assert started.returncode == 2
        assert "SERVER_PORT" in told


def test_model_names_tell_no_paths(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    settings = ModelSettings(asr_model=str(tmp_path / "mine"), lm_model="org/chat", tts_model="en=starter,fr=org/voice")
    assert list(model_names(settings)) == ["mine", "org/chat", "starter", "org/voice"]
