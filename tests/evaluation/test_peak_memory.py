"""Peak memory follows what was in use, also after it was freed, until it is forgotten."""

from pathlib import Path

import numpy as np
import pytest

from speech_pipeline.evaluation.peak_memory import forget_peak_memory, peak_memory_mb

BLOCK_MB = 400


@pytest.mark.skipif(not Path("/proc/self/clear_refs").exists(), reason="the peak can only be forgotten on Linux")
def test_the_peak_stays_until_it_is_forgotten() -> None:
    forget_peak_memory()
    before_mb = peak_memory_mb()
    block = np.ones(BLOCK_MB * 125_000)
    with_block_mb = peak_memory_mb()
    del block
    assert with_block_mb - before_mb > 0.9 * BLOCK_MB
    assert peak_memory_mb() == pytest.approx(with_block_mb, rel=0.01)
    forget_peak_memory()
    assert peak_memory_mb() < with_block_mb - 0.5 * BLOCK_MB
