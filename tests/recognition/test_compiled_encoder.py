import os
import shutil
from pathlib import Path

import pytest
import torch
from transformers import WhisperConfig
from transformers.models.whisper.modeling_whisper import WhisperEncoder

from speech_pipeline.errors import InvalidSettings
from speech_pipeline.recognition.compiled_encoder import compiled_encoder
from tests.programs import run_program

COMPILER_MISSING = """
import json, torch
from transformers import WhisperConfig
from transformers.models.whisper.modeling_whisper import WhisperEncoder
from speech_pipeline.errors import InvalidSettings
from speech_pipeline.recognition.compiled_encoder import compiled_encoder
config = WhisperConfig(d_model=32, encoder_layers=1, encoder_attention_heads=2, encoder_ffn_dim=64)
try:
    compiled_encoder(WhisperEncoder(config).eval(), 80)
    print(json.dumps("compiled"))
except InvalidSettings as error:
    print(json.dumps(str(error)))
"""


def small_encoder() -> WhisperEncoder:
    torch.manual_seed(0)
    config = WhisperConfig(d_model=32, encoder_layers=2, encoder_attention_heads=2, encoder_ffn_dim=64)
    return WhisperEncoder(config).eval()


@pytest.mark.skipif(shutil.which(os.environ.get("CXX", "g++")) is None, reason="compiling needs a C++ compiler")
@torch.inference_mode()
def test_compiled_it_gives_the_same() -> None:
    encoder = small_encoder()
    features = torch.randn(1, 80, 3_000, generator=torch.Generator().manual_seed(1))
    expected = encoder(features).last_hidden_state
    assert torch.allclose(compiled_encoder(encoder, 80)(features), expected, atol=1e-3, rtol=1e-3)


def test_says_what_compiling_needs(tmp_path: Path) -> None:
    missing = {"CXX": str(tmp_path / "none"), "TORCHINDUCTOR_CACHE_DIR": str(tmp_path)}
    assert "COMPILE_ENCODER needs a C++ compiler" in run_program(COMPILER_MISSING, **missing)
    assert InvalidSettings.code in run_program(COMPILER_MISSING, **missing)
