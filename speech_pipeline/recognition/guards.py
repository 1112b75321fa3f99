"""Signs of a hallucination, and what to do about them (thresholds of Radford et al. 2022, section 4.5)."""

import zlib

from config import InferenceConfig


def compression_ratio(text: str) -> float:
    """Bytes of ``text`` in UTF-8 divided by their size after zlib; text that repeats has a high one. 0 for no text."""
    data = text.encode()
    return len(data) / len(zlib.compress(data)) if data else 0.0


def is_silence(no_speech_probability: float, average_log_probability: float, config: InferenceConfig) -> bool:
    """Whether the model holds the window for silence and is not sure of its text either."""
    if config.no_speech_threshold is None or no_speech_probability <= config.no_speech_threshold:
        return False
    return config.logprob_threshold is None or average_log_probability <= config.logprob_threshold


def is_doubtful(
    ratio: float, no_speech_probability: float, average_log_probability: float, config: InferenceConfig
) -> bool:
    """Whether the text should be decoded again at a higher temperature: it repeats, or the model is unsure of it.

    A window held for silence is not tried again; its text is dropped instead.
    """
    if config.compression_ratio_threshold is not None and ratio > config.compression_ratio_threshold:
        return True
    unsure = config.logprob_threshold is not None and average_log_probability < config.logprob_threshold
    return unsure and not is_silence(no_speech_probability, average_log_probability, config)
