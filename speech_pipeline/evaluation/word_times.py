"""How far the times of words are off."""

from collections.abc import Sequence

from speech_pipeline.evaluation.tokens import Token
from speech_pipeline.evaluation.word_errors import Pair


def start_errors(reference: Sequence[Token], hypothesis: Sequence[Token], pairs: Sequence[Pair]) -> tuple[float, ...]:
    """Distance of the starts of each word that was recognised and has a time on both sides.

    Args:
        reference: words that are said.
        hypothesis: words that were heard.
        pairs: the alignment of the two.

    Returns:
        Seconds, at least 0, in order of the words.
    """
    errors = []
    for left, right in pairs:
        if left is None or right is None or reference[left].text != hypothesis[right].text:
            continue
        said, heard = reference[left].start, hypothesis[right].start
        if said is not None and heard is not None:
            errors.append(abs(heard - said))
    return tuple(errors)


def percentile(values: Sequence[float], percent: float) -> float | None:
    """Linear interpolation between the two nearest values; None without any."""
    import numpy as np

    return float(np.percentile(values, percent)) if values else None
