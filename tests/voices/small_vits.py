"""Small VITS networks with random weights: what they say is noise, how they are run is the same."""

import json
from pathlib import Path

import torch
from transformers import VitsConfig, VitsModel, VitsTokenizer


def small_network(num_speakers: int = 1) -> VitsModel:
    """Random weights, always the same."""
    torch.manual_seed(0)
    network = VitsModel(
        VitsConfig(
            vocab_size=30, hidden_size=16, num_hidden_layers=1, num_attention_heads=2, ffn_dim=32, flow_size=16,
            spectrogram_bins=33, upsample_initial_channel=32, upsample_rates=[8, 8], upsample_kernel_sizes=[16, 16],
            resblock_kernel_sizes=[3], resblock_dilation_sizes=[[1]], prior_encoder_num_flows=1,
            prior_encoder_num_wavenet_layers=1, posterior_encoder_num_wavenet_layers=1, duration_predictor_num_flows=1,
            duration_predictor_flow_bins=4, duration_predictor_filter_channels=16, depth_separable_num_layers=1,
            num_speakers=num_speakers, speaker_embedding_size=8 if num_speakers > 1 else 0,
        )
    )  # fmt: skip
    return network.eval()


def write_folder(
    folder: Path,
    *,
    language: str | None = "eng",
    num_speakers: int = 1,
    is_uroman: bool = False,
    phonemize: bool = False,
) -> Path:
    """A model as the hub has them, with the letters of English and no digits."""
    small_network(num_speakers).save_pretrained(folder)
    (folder / "letters.json").write_text(json.dumps({s: i for i, s in enumerate("_abcdefghijklmnopqrstuvwxyz' -")}))
    tokenizer = VitsTokenizer(
        str(folder / "letters.json"), pad_token="_", unk_token="_", language=language, phonemize=phonemize,
        is_uroman=is_uroman,
    )  # fmt: skip
    tokenizer.save_pretrained(folder)
    return folder
