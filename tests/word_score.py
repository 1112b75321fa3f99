"""Words right and wrong against a reference, alone and together with their speakers."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import permutations
from pathlib import Path

import jiwer

SpokenWord = tuple[str, str]
"""A word as :func:`plain_words` writes it, and the label of who said it."""


@dataclass(frozen=True, slots=True)
class WordScore:
    """Counts of one recording.

    Attributes:
        reference_words: words of the reference.
        errors: substitutions, deletions and insertions.
        right: reference words that were recognised.
        right_with_speaker: those of them whose speaker is right, under the best mapping of labels.
    """

    reference_words: int
    errors: int
    right: int
    right_with_speaker: int


def plain_words(text: str) -> list[str]:
    """Words in lower case without punctuation; apostrophes stay."""
    return re.sub(r"[^\w' ]", " ", text.lower().replace("’", "'")).split()


def read_stm(file: Path) -> list[SpokenWord]:
    """Words with their speakers, in the order of the file (NIST STM: file, channel, speaker, start, end, text)."""
    spoken = []
    for line in file.read_text(encoding="utf-8").splitlines():
        _, _, speaker, _, _, text = line.split(" ", 5)
        spoken += [(word, speaker) for word in plain_words(text)]
    return spoken


def score(reference: Sequence[SpokenWord], hypothesis: Sequence[SpokenWord]) -> WordScore:
    """Align two sequences of words by edit distance and count."""
    measures = jiwer.process_words(" ".join(word for word, _ in reference), " ".join(word for word, _ in hypothesis))
    pairs = [
        (reference[chunk.ref_start_idx + offset][1], hypothesis[chunk.hyp_start_idx + offset][1])
        for chunk in measures.alignments[0]
        if chunk.type == "equal"
        for offset in range(chunk.ref_end_idx - chunk.ref_start_idx)
    ]
    return WordScore(
        reference_words=len(reference),
        errors=measures.substitutions + measures.deletions + measures.insertions,
        right=len(pairs),
        right_with_speaker=_best_mapping(pairs),
    )


def _best_mapping(pairs: Iterable[tuple[str, str]]) -> int:
    """Pairs that agree when each label of the hypothesis stands for at most one speaker of the reference."""
    pairs = list(pairs)
    speakers = sorted({speaker for speaker, _ in pairs})
    labels = sorted({label for _, label in pairs})
    labels += [""] * (len(speakers) - len(labels))
    return max(
        sum(dict(zip(speakers, chosen, strict=True))[speaker] == label for speaker, label in pairs)
        for chosen in permutations(labels, len(speakers))
    )
