"""What a made conversation is to be like, and a set of them that differ."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from speech_pipeline.errors import InvalidParameters


@dataclass(frozen=True, slots=True)
class Recipe:
    """What a conversation is to be like.

    Attributes:
        speakers: how many people speak, 2 to 6; each speaks at least once.
        duration_s: length of the recording, in seconds.
        seed: the same clips, recipe and seed give the same samples.
        gap_s: shortest and longest silence between two utterances, in seconds.
        overlap_share: share of the time with speech in which two or more people speak at once, 0 to 0.3.
        backchannel_share: share of the utterances of 2 s and more during which somebody else says a word or two,
            0 to 1. These are short clips, or words cut from clips with word times; who has neither, stays silent.
        level_difference_db: difference between the loudest and the quietest speaker, in dB.
        noise_snr_db: ratio of the loudest speaker to the noise, in dB; None is no noise, and then gaps are exactly 0.
        noise: colour of the noise.
        languages: codes of the languages the clips are chosen from; empty takes them all.

    Raises:
        InvalidParameters: a value is out of range.
    """

    speakers: int = 2
    duration_s: float = 60.0
    seed: int = 0
    gap_s: tuple[float, float] = (0.2, 1.0)
    overlap_share: float = 0.0
    backchannel_share: float = 0.0
    level_difference_db: float = 0.0
    noise_snr_db: float | None = None
    noise: Literal["pink", "white"] = "pink"
    languages: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Check the values."""
        checks = (
            (2 <= self.speakers <= 6, "speakers must be from 2 to 6"),
            (0 < self.duration_s <= 36_000, "duration_s must be above 0 and at most 36000"),
            (self.seed >= 0, "seed must not be negative"),
            (0 <= self.gap_s[0] <= self.gap_s[1] <= 60, "gap_s must be two rising numbers from 0 to 60"),
            (0 <= self.overlap_share <= 0.3, "overlap_share must be from 0 to 0.3"),
            (0 <= self.backchannel_share <= 1, "backchannel_share must be from 0 to 1"),
            (0 <= self.level_difference_db <= 40, "level_difference_db must be from 0 to 40"),
            (self.noise_snr_db is None or -20 <= self.noise_snr_db <= 100, "noise_snr_db must be from -20 to 100"),
            (self.noise in ("pink", "white"), "noise must be pink or white"),
        )
        wrong = [message for passed, message in checks if not passed]
        if wrong:
            raise InvalidParameters("; ".join(wrong) + ".")


def default_recipes(
    count: int = 12, *, minutes: float | None = None, seed: int = 0, languages: Sequence[str] = ()
) -> tuple[Recipe, ...]:
    """Conversations of 2 to 6 speakers that differ in pauses, overlap, backchannels, levels and noise.

    Args:
        count: how many.
        minutes: length of each; None is from 1 to 5 minutes in turn.
        seed: seed of the first; each next one has the next.
        languages: codes of the languages the clips are chosen from; empty takes them all.

    Raises:
        InvalidParameters: a value is out of range.
    """
    return tuple(
        Recipe(
            speakers=2 + number % 5,
            duration_s=60.0 * (1 + (number // 2) % 5 if minutes is None else minutes),
            seed=seed + number,
            gap_s=((0.2, 1.0), (0.0, 0.4), (0.5, 2.5))[number % 3],
            overlap_share=(0.0, 0.05, 0.1, 0.2)[number % 4],
            backchannel_share=(0.0, 0.3)[number // 2 % 2],
            level_difference_db=(0.0, 6.0, 12.0)[number // 2 % 3],
            noise_snr_db=(None, 30.0, 20.0, 10.0)[number // 3 % 4],
            noise=("pink", "white")[number % 2],
            languages=tuple(languages),
        )
        for number in range(count)
    )
