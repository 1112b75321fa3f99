"""Fixtures that several test modules share: recordings and models."""

import importlib.util
from pathlib import Path

import pytest

from config import ModelSettings
from speech_pipeline import starter
from speech_pipeline.errors import SpeechError

REPOSITORY = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """Folder of real recordings with references, beside the repository."""
    folder = REPOSITORY.parent / "shared" / "data"
    if not folder.is_dir():
        pytest.skip("the shared recordings are not on this machine")
    return folder


@pytest.fixture(scope="session")
def sample_call() -> Path:
    """A telephone call of two speakers, 30 s, in pyannote.audio's wheel; sample.rttm and sample.stm lie beside it."""
    spec = importlib.util.find_spec("pyannote.audio")
    assert spec is not None
    assert spec.origin is not None
    return Path(spec.origin).parent / "sample" / "sample.wav"


@pytest.fixture(scope="session")
def starter_dir() -> Path:
    """Folder of the installed starter models; they are fetched when they are not there yet."""
    return _installed(*starter.DEFAULT_KINDS)


@pytest.fixture(scope="session")
def chat_starter_dir() -> Path:
    """The same folder, with the starter chat model in it."""
    return _installed(*starter.DEFAULT_KINDS, "chat")


def _installed(*kinds: str) -> Path:
    directory = ModelSettings.from_environment().starter_dir
    try:
        starter.install(directory, kinds=kinds)
    except SpeechError as error:
        pytest.skip(f"the starter models cannot be installed: {error}")
    return directory
