"""Words and characters that are wrong: substituted, deleted, inserted."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

Pair = tuple[int | None, int | None]
"""Indices into a reference and a hypothesis; None in one of them where the other has nothing beside it."""


@dataclass(frozen=True, slots=True)
class ErrorCounts:
    """Errors of one recording, or their sum over several: rates of sums, not means of rates, are reported.

    Attributes:
        substitutions: words (or characters) that were taken for others.
        deletions: words that were left out.
        insertions: words that nobody says.
        reference: words of the reference.
    """

    substitutions: int = 0
    deletions: int = 0
    insertions: int = 0
    reference: int = 0

    @property
    def errors(self) -> int:
        """All errors."""
        return self.substitutions + self.deletions + self.insertions

    @property
    def rate(self) -> float | None:
        """Errors divided by the words of the reference (WER, CER); None where it has none."""
        return self.errors / self.reference if self.reference else None

    def __add__(self, other: "ErrorCounts") -> "ErrorCounts":
        return ErrorCounts(
            self.substitutions + other.substitutions,
            self.deletions + other.deletions,
            self.insertions + other.insertions,
            self.reference + other.reference,
        )


def align(reference: Sequence[str], hypothesis: Sequence[str]) -> list[Pair]:
    """Align two sequences of words with the fewest substitutions, deletions and insertions.

    Args:
        reference: words without white space.
        hypothesis: the same.

    Returns:
        Every index of both, in order.
    """
    import jiwer

    pairs: list[Pair] = []
    for chunk in jiwer.process_words(" ".join(reference), " ".join(hypothesis)).alignments[0]:
        left: Iterable[int | None] = range(chunk.ref_start_idx, chunk.ref_end_idx)
        right: Iterable[int | None] = range(chunk.hyp_start_idx, chunk.hyp_end_idx)
        if chunk.type == "delete":
            right = [None for _ in left]
        elif chunk.type == "insert":
            left = [None for _ in right]
        pairs += zip(left, right, strict=True)
    return pairs


def word_errors(reference: Sequence[str], hypothesis: Sequence[str]) -> ErrorCounts:
    """Errors of normalised words; of characters where the words are those of a language without spaces."""
    pairs = align(reference, hypothesis)
    both = [(left, right) for left, right in pairs if left is not None and right is not None]
    return ErrorCounts(
        substitutions=sum(reference[left] != hypothesis[right] for left, right in both),
        deletions=len(reference) - len(both),
        insertions=len(hypothesis) - len(both),
        reference=len(reference),
    )


def character_errors(reference: Sequence[str], hypothesis: Sequence[str], *, spaces: bool = True) -> ErrorCounts:
    """Errors of the characters of normalised words.

    Args:
        reference: words.
        hypothesis: words.
        spaces: whether a space between words counts as a character; false for languages without spaces.
    """
    import jiwer

    separator = " " if spaces else ""
    said, heard = separator.join(reference), separator.join(hypothesis)
    measures = jiwer.process_characters(said, heard)
    return ErrorCounts(measures.substitutions, measures.deletions, measures.insertions, len(said))
