"""The starter models themselves: that they are whole, know what they are, and hear what is said."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import librosa
import numpy as np
import pytest
import torch
from transformers import WhisperForConditionalGeneration, WhisperProcessor

from speech_pipeline import starter

REPOSITORY = Path(__file__).parent.parent


def test_installed_models_are_seen_without_loading_torch(starter_dir: Path) -> None:
    code = (
        "import sys; from pathlib import Path; from speech_pipeline import starter;"
        "starter.install(Path(sys.argv[1])); print('torch' in sys.modules, 'transformers' in sys.modules)"
    )
    command = [sys.executable, "-c", code, str(starter_dir)]
    assert subprocess.check_output(command, cwd=REPOSITORY, text=True).split() == ["False", "False"]


def test_installed_models_are_undamaged_and_their_licences_are_listed(starter_dir: Path) -> None:
    starter.verify(starter_dir)
    licences = (starter_dir / "LICENSES.md").read_text()
    assert all(kind in licences for kind in starter.DEFAULT_KINDS)


@pytest.mark.parametrize(("kind", "multilingual"), [("whisper-base", True), ("whisper-tiny.en", False)])
def test_whisper_knows_its_languages_and_tasks(starter_dir: Path, kind: str, multilingual: bool) -> None:
    model = WhisperForConditionalGeneration.from_pretrained(starter.path_of(starter_dir, kind))
    config, tokenizer = model.generation_config, WhisperProcessor.from_pretrained(starter_dir / kind).tokenizer
    assert config.is_multilingual is multilingual
    assert model.config.vocab_size == len(tokenizer)
    assert config.no_timestamps_token_id == tokenizer.convert_tokens_to_ids("<|notimestamps|>")
    assert config.decoder_start_token_id == tokenizer.convert_tokens_to_ids("<|startoftranscript|>")
    if multilingual:
        assert len(config.lang_to_id) == 99
        assert config.lang_to_id["<|ko|>"] == tokenizer.convert_tokens_to_ids("<|ko|>")
        assert config.task_to_id["translate"] == tokenizer.convert_tokens_to_ids("<|translate|>")


def test_whisper_base_hears_the_phone_call(starter_dir: Path, sample_call: Path) -> None:
    reference = " ".join(line.split(maxsplit=5)[5] for line in sample_call.with_suffix(".stm").read_text().splitlines())
    heard, said = set(words(transcribe(starter_dir / "whisper-base", sample_call))), set(words(reference))
    assert {"chicago", "jersey", "texas"} <= heard
    assert len(heard & said) > 0.8 * len(said)


def test_a_copied_whisper_tiny_english_hears_the_phone_call(
    starter_dir: Path, sample_call: Path, tmp_path: Path
) -> None:
    folder = shutil.copytree(starter_dir / "whisper-tiny.en", tmp_path / "moved")
    assert {"chicago", "jersey"} <= set(words(transcribe(folder, sample_call)))


def test_whisper_base_hears_kennedy_word_for_word(starter_dir: Path, shared_data: Path) -> None:
    assert " ".join(words(transcribe(starter_dir / "whisper-base", shared_data / "speech" / "jfk.flac"))) == (
        "and so my fellow americans ask not what your country can do for you ask what you can do for your country"
    )


def words(text: str) -> list[str]:
    return re.findall(r"[\w']+", text.lower())


def transcribe(folder: Path, recording: Path) -> str:
    """Greedy decoding of the first 30 s, without timestamps."""
    processor = WhisperProcessor.from_pretrained(folder)
    model = WhisperForConditionalGeneration.from_pretrained(folder, dtype=torch.float32)
    samples: np.ndarray = librosa.load(recording, sr=16_000, mono=True)[0]
    features = processor(samples, sampling_rate=16_000, return_tensors="pt").input_features
    options = {"task": "transcribe", "language": "en"} if model.generation_config.is_multilingual else {}
    tokens = model.generate(features, num_beams=1, do_sample=False, **options)
    return processor.batch_decode(tokens, skip_special_tokens=True)[0]
