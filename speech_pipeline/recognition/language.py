"""Which language a recording is in, by a vote of its windows, and what in a window may be in another."""

from collections.abc import Sequence

import torch
from torch import Tensor

from speech_pipeline.recognition.vocabulary import Vocabulary

SURE = 0.8
"""A window at least this sure of its language keeps it, whatever the rest of the recording is in."""

OWN_LANGUAGE_S = 5.0
"""A shorter window follows the vote: a language heard for so short a time is a guess."""

STRANGE = 0.3
"""A stretch of a window that seems less likely to be in the window's language than this may be in another."""

OTHER_LANGUAGE_S = 2.0
"""Least speech that is taken for a language of its own inside a window, in seconds."""


def first_step(vocabulary: Vocabulary, logits: Tensor) -> tuple[list[dict[str, float]], list[float]]:
    """Languages and silence, from the decoder's first step.

    Args:
        vocabulary: special tokens of the model.
        logits: float32 [rows, vocabulary], what may follow the start token.

    Returns:
        For each row the probability of each language (empty for an English-only model), and the probability that
        nobody speaks.
    """
    probabilities = logits.softmax(dim=-1)
    silence = probabilities[:, vocabulary.no_speech].tolist() if vocabulary.no_speech else [0.0] * len(logits)
    if not vocabulary.languages:
        return [{} for _ in silence], silence
    ids = torch.tensor(list(vocabulary.languages.values()), device=logits.device)
    among = logits[:, ids].softmax(dim=-1).tolist()
    return [dict(zip(vocabulary.languages, row, strict=True)) for row in among], silence


def vote(ballots: Sequence[tuple[dict[str, float], float]]) -> str:
    """The language most of the speech is in.

    Args:
        ballots: for each window the probability of each language, and the window's weight (its seconds of speech).
    """
    totals: dict[str, float] = {}
    for probabilities, weight in ballots:
        for language, probability in probabilities.items():
            totals[language] = totals.get(language, 0.0) + probability * weight
    return max(totals, key=lambda language: totals[language])


def window_language(probabilities: dict[str, float], elected: str, duration_s: float) -> str:
    """The language to decode a window of ``duration_s`` seconds in: its own where that is sure, else the elected."""
    own = max(probabilities, key=lambda language: probabilities[language])
    return own if probabilities[own] >= SURE and duration_s >= OWN_LANGUAGE_S else elected


def strange_stretches(heard: Sequence[tuple[dict[str, float], float]]) -> tuple[str, list[int]]:
    """What in a window does not seem to be in the language of the rest.

    Args:
        heard: for each stretch of the window the probability of each language, and its seconds.

    Returns:
        The language most of the window is in, and the indices of the stretches that may be in others; none where they
        are too short to tell, or where no stretch seems to be in that language.
    """
    language = vote(heard)
    strange = [index for index, (probabilities, _) in enumerate(heard) if probabilities[language] < STRANGE]
    seconds = sum(heard[index][1] for index in strange)
    return language, strange if seconds >= OTHER_LANGUAGE_S and len(strange) < len(heard) else []
