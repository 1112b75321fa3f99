"""Recordings for tests of workers."""

from pathlib import Path

import numpy as np
import pytest

from speech_pipeline.evaluation.bench.material import write_recording
from speech_pipeline.evaluation.bench.rounds import Recording


@pytest.fixture
def recording(tmp_path: Path) -> Recording:
    """One second of silence."""
    return write_recording(tmp_path, "speech", np.zeros(16_000, np.float32))
