"""What the systems got wrong, so that no speed stands alone: word errors on joined clips, diarization errors."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from speech_pipeline.evaluation.bench.dialogues import Dialogue
from speech_pipeline.evaluation.bench.systems import Output
from speech_pipeline.evaluation.diarization_errors import diarization_errors
from speech_pipeline.evaluation.normalization import normalizer
from speech_pipeline.evaluation.tokens import Token, tokenize
from speech_pipeline.evaluation.word_errors import align
from speech_pipeline.transcript import SpeakerTurn


@dataclass(frozen=True, slots=True)
class JoinedClipsErrors:
    """Word error rates of clips that were joined, some of them several times.

    Attributes:
        once: each clip counted once, with the mean of the errors of its occurrences.
        all: every occurrence counted.
    """

    once: float
    all: float


def joined_clips_errors(clips: Sequence[tuple[str, str]], text: str, language: str) -> JoinedClipsErrors:
    """Align all that was heard with all that was said, once, and count the errors of each clip.

    An inserted word counts for the clip of the word before it in the reference, at the start for the first.

    Args:
        clips: name and text of each clip, in the order in which they were joined; at least one has a word.
        text: what was heard.
        language: code of the language, by whose rules both are normalised.
    """
    normalize = normalizer(language)
    # The place of a clip takes that of the speaker: a token knows from which it comes, also where numbers were joined.
    words = [Token(word, str(place)) for place, (_, said) in enumerate(clips) for word in said.split()]
    reference = tokenize(" ".join(said for _, said in clips), normalize, words)
    heard = normalize(text).split()
    errors = [0] * len(clips)
    lengths = [0] * len(clips)
    for token in reference:
        lengths[int(token.speaker or 0)] += 1
    owner = int(reference[0].speaker or 0)
    for said, found in align([token.text for token in reference], heard):
        if said is not None:
            owner = int(reference[said].speaker or 0)
        errors[owner] += said is None or found is None or reference[said].text != heard[found]
    by_clip: dict[str, list[tuple[int, int]]] = defaultdict(list)
    for (name, _), wrong, length in zip(clips, errors, lengths, strict=True):
        by_clip[name].append((wrong, length))
    wrong_once = sum(sum(wrong for wrong, _ in counts) / len(counts) for counts in by_clip.values())
    length_once = sum(sum(length for _, length in counts) / len(counts) for counts in by_clip.values())
    return JoinedClipsErrors(wrong_once / length_once, sum(errors) / sum(lengths))


def diarization_error_rates(dialogues: Sequence[Dialogue], outputs: Mapping[str, Output]) -> dict[str, float]:
    """DER of each dialogue that a system worked on, without collar, overlapping speech included."""
    rates = {}
    for dialogue in dialogues:
        if dialogue.name not in outputs:
            continue
        found = [SpeakerTurn(*turn) for turn in outputs[dialogue.name].turns]
        rate = diarization_errors(dialogue.turns, found, dialogue.duration_s).rate
        if rate is not None:
            rates[dialogue.name] = rate
    return rates
