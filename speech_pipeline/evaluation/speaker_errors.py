"""Words given to the wrong speaker."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from speech_pipeline.evaluation.tokens import Token
from speech_pipeline.evaluation.word_errors import ErrorCounts, Pair

MAX_SPEAKERS = 20
"""meeteval refuses to score more."""


@dataclass(frozen=True, slots=True)
class WordSpeakers:
    """Words of one recording with their speakers, or the sum over several.

    Attributes:
        reference: words of the reference whose speaker is known.
        recognized: those of them that were recognised.
        right: those of them that were given to the right speaker as well.
    """

    reference: int = 0
    recognized: int = 0
    right: int = 0

    @property
    def accuracy(self) -> float | None:
        """Words right in text and speaker, as a share of the reference; None where it has none."""
        return self.right / self.reference if self.reference else None

    def __add__(self, other: "WordSpeakers") -> "WordSpeakers":
        return WordSpeakers(
            self.reference + other.reference, self.recognized + other.recognized, self.right + other.right
        )


def speaker_word_errors(reference: Mapping[str, str], hypothesis: Mapping[str, str]) -> ErrorCounts | None:
    """Concatenated minimum-permutation word errors (cpWER; Watanabe et al. 2020).

    All that one speaker says is compared with all that was given to one label, under the mapping with the fewest
    errors; what is left over on either side counts as deleted or inserted.

    Args:
        reference: normalised words, parted by spaces, of each speaker.
        hypothesis: the same of each label.

    Returns:
        The errors, or None where either has more than ``MAX_SPEAKERS``.
    """
    if max(len(reference), len(hypothesis)) > MAX_SPEAKERS:
        return None
    from meeteval.wer import cp_word_error_rate

    # The words of a speaker are in order; meeteval would sort them by times, which it is not given.
    errors = cp_word_error_rate(dict(reference), dict(hypothesis), reference_sort=False, hypothesis_sort=False)
    return ErrorCounts(errors.substitutions, errors.deletions, errors.insertions, errors.length)


def label_mapping(
    reference: Sequence[Token], hypothesis: Sequence[Token], pairs: Sequence[Pair]
) -> dict[str | None, str | None]:
    """The speaker that each label stands for: those that share the most recognised words, each with one at most.

    Args:
        reference: words that are said.
        hypothesis: words that were heard.
        pairs: the alignment of the two.
    """
    from scipy.optimize import linear_sum_assignment

    matches = _matches(reference, hypothesis, pairs)
    speakers = sorted({speaker for speaker, label in matches if speaker is not None and label is not None})
    labels = sorted({label for speaker, label in matches if speaker is not None and label is not None})
    if not labels:
        return {}
    together = [[matches[speaker, label] for label in labels] for speaker in speakers]
    rows, columns = linear_sum_assignment(together, maximize=True)
    return {labels[column]: speakers[row] for row, column in zip(rows, columns, strict=True)}


def word_speakers(reference: Sequence[Token], hypothesis: Sequence[Token], pairs: Sequence[Pair]) -> WordSpeakers:
    """Count the words that are right, alone and together with their speaker under :func:`label_mapping`.

    Args:
        reference: words that are said, of which those with a speaker are counted.
        hypothesis: words that were heard; those without a speaker are never right.
        pairs: the alignment of the two.
    """
    matches = _matches(reference, hypothesis, pairs)
    return WordSpeakers(
        reference=sum(token.speaker is not None for token in reference),
        recognized=sum(count for (speaker, _), count in matches.items() if speaker is not None),
        right=sum(matches[speaker, label] for label, speaker in label_mapping(reference, hypothesis, pairs).items()),
    )


def _matches(
    reference: Sequence[Token], hypothesis: Sequence[Token], pairs: Sequence[Pair]
) -> Counter[tuple[str | None, str | None]]:
    """Recognised words by speaker and label."""
    return Counter(
        (reference[left].speaker, hypothesis[right].speaker)
        for left, right in pairs
        if left is not None and right is not None and reference[left].text == hypothesis[right].text
    )
