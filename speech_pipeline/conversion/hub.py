"""Original repositories from the Hugging Face Hub, where it can be reached."""

import logging
import shutil
import urllib.request
from pathlib import Path

logger = logging.getLogger(__name__)

TIMEOUT_S = 2.0
"""How long to wait for the hub's first answer before it counts as out of reach."""

FILES = ("*.json", "*.txt", "*.safetensors", "LICENSE*")


def fetch_from_hub(repository: str, destination: Path) -> bool:
    """Download a public repository's configuration, tokenizer and safetensors.

    The hub counts as out of reach when it does not answer within two seconds, and when ``HF_HUB_OFFLINE`` is set.

    Args:
        repository: hub id.
        destination: folder to write into.

    Returns:
        Whether all of it is there now; if not, ``destination`` may hold part of it.
    """
    from huggingface_hub import constants, hf_hub_url, snapshot_download

    if constants.HF_HUB_OFFLINE:
        return False
    request = urllib.request.Request(hf_hub_url(repository, "config.json"), method="HEAD")
    try:
        with urllib.request.urlopen(request, timeout=TIMEOUT_S):
            pass
        snapshot_download(repository, local_dir=destination, allow_patterns=list(FILES), token=False)
    except Exception as error:  # The client's transport errors share no base class across its releases.
        logger.info("The hub was not used: %s", type(error).__name__)
        return False
    shutil.rmtree(destination / ".cache", ignore_errors=True)
    return all((destination / name).is_file() for name in ("config.json", "model.safetensors", "tokenizer.json"))
