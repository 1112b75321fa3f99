import pytest
import torch

from speech_pipeline.recognition.precision import Precision, resolve_precision

CPU = torch.device("cpu")


@pytest.mark.parametrize("name", ["float32", "float16", "bfloat16"])
def test_a_name_is_taken_at_its_word(name: str) -> None:
    dtype = getattr(torch, name)
    assert resolve_precision(name, CPU) == Precision(encoder=dtype, decoder=dtype)


def test_auto_on_a_cpu_never_computes_in_float16() -> None:
    precision = resolve_precision("auto", CPU)
    assert precision.encoder in (torch.float32, torch.bfloat16)
    assert precision.decoder == torch.float32
    assert precision.audio in (torch.float32, torch.bfloat16, torch.int8)
    assert not (precision.int8_encoder and precision.encoder == torch.bfloat16)


def test_auto_on_other_devices_is_float32() -> None:
    float32 = Precision(encoder=torch.float32, decoder=torch.float32)
    assert resolve_precision("auto", torch.device("mps")) == float32
