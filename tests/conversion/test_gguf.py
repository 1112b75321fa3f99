"""A chat model from GGUF: a small random Qwen2 is written, converted, and answers with the same numbers."""

from pathlib import Path

import numpy as np
import pytest
import torch
from tokenizers.pre_tokenizers import ByteLevel
from transformers import AutoModelForCausalLM, AutoTokenizer, Qwen2Config, Qwen2ForCausalLM

from speech_pipeline.conversion.gguf import write_chat_folder
from speech_pipeline.errors import ModelUnavailable

gguf = pytest.importorskip("gguf", reason="the package gguf is not installed")

TEMPLATE = (
    "{% for message in messages %}<|im_start|>{{ message.role }}\n{{ message.content }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
TOKENS = [*sorted(ByteLevel.alphabet()), "hi", "ho", "<|endoftext|>", "<|im_start|>", "<|im_end|>"]
END_OF_TEXT, START_OF_TURN, END_OF_TURN = 258, 259, 260


def small_model() -> Qwen2ForCausalLM:
    torch.manual_seed(0)
    return Qwen2ForCausalLM(
        Qwen2Config(
            vocab_size=len(TOKENS),
            hidden_size=32,
            intermediate_size=64,
            num_hidden_layers=2,
            num_attention_heads=4,
            num_key_value_heads=2,
            max_position_embeddings=64,
            rms_norm_eps=1e-6,
            tie_word_embeddings=False,
        )
    ).eval()


def write_gguf(model: Qwen2ForCausalLM, path: Path, template: str | None = TEMPLATE) -> None:
    config = model.config
    writer = gguf.GGUFWriter(path, "qwen2")
    writer.add_block_count(config.num_hidden_layers)
    writer.add_context_length(config.max_position_embeddings)
    writer.add_embedding_length(config.hidden_size)
    writer.add_feed_forward_length(config.intermediate_size)
    writer.add_head_count(config.num_attention_heads)
    writer.add_head_count_kv(config.num_key_value_heads)
    writer.add_layer_norm_rms_eps(config.rms_norm_eps)
    writer.add_rope_freq_base(10_000.0)
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("qwen2")
    writer.add_token_list(TOKENS)
    writer.add_token_types([gguf.TokenType.NORMAL] * 258 + [gguf.TokenType.CONTROL] * 3)
    writer.add_token_merges(["h i", "h o"])
    writer.add_bos_token_id(END_OF_TEXT)
    writer.add_eos_token_id(END_OF_TURN)
    writer.add_pad_token_id(END_OF_TEXT)
    if template is not None:
        writer.add_chat_template(template)
    names = gguf.get_tensor_name_map(gguf.MODEL_ARCH.QWEN2, config.num_hidden_layers)
    for name, tensor in model.state_dict().items():
        base, _, kind = name.rpartition(".")
        writer.add_tensor(f"{names.get_name(base)}.{kind}", tensor.numpy().astype(np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def test_the_converted_model_is_the_same_and_ends_its_turn(tmp_path: Path) -> None:
    original = small_model()
    write_gguf(original, tmp_path / "model.gguf")
    write_chat_folder(tmp_path / "model.gguf", tmp_path / "folder")

    tokenizer = AutoTokenizer.from_pretrained(tmp_path / "folder")
    converted = AutoModelForCausalLM.from_pretrained(tmp_path / "folder", dtype="auto")
    assert converted.dtype == torch.bfloat16
    assert converted.generation_config.eos_token_id == [END_OF_TURN, END_OF_TEXT]
    assert tokenizer.eos_token == "<|im_end|>"
    prompt = tokenizer.apply_chat_template(
        [{"role": "user", "content": "hi"}], add_generation_prompt=True, tokenize=False
    )
    assert prompt == "<|im_start|>user\nhi<|im_end|>\n<|im_start|>assistant\n"
    numbers = tokenizer(prompt, return_tensors="pt").input_ids
    assert numbers[0, 0] == START_OF_TURN
    with torch.no_grad():
        expected, got = original.bfloat16()(numbers).logits, converted(numbers).logits
    torch.testing.assert_close(got, expected, rtol=0.02, atol=0.02)


def test_a_model_that_does_not_chat_is_refused(tmp_path: Path) -> None:
    write_gguf(small_model(), tmp_path / "model.gguf", template=None)
    with pytest.raises(ModelUnavailable, match="chat"):
        write_chat_folder(tmp_path / "model.gguf", tmp_path / "folder")


@pytest.mark.parametrize("kept", [0, 3, 100, 0.3, 0.9])
def test_a_file_cut_off_is_refused(tmp_path: Path, kept: float) -> None:
    write_gguf(small_model(), tmp_path / "model.gguf")
    content = (tmp_path / "model.gguf").read_bytes()
    (tmp_path / "model.gguf").write_bytes(content[: int(kept if kept >= 3 else kept * len(content))])
    with pytest.raises(ModelUnavailable, match="damaged") as raised:
        write_chat_folder(tmp_path / "model.gguf", tmp_path / "folder")
    assert str(tmp_path) not in str(raised.value)


def test_a_missing_file_is_a_coded_error(tmp_path: Path) -> None:
    with pytest.raises(ModelUnavailable):
        write_chat_folder(tmp_path / "nothing.gguf", tmp_path / "folder")
