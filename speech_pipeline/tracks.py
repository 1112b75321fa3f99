"""What recognition listens to, the mix of a recording or its channels one by one, and whose words it hears there."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from diarization_utils import assign_speakers, number_speakers, with_speaker
from speech_pipeline.audio.decoding import Audio
from speech_pipeline.audio.voice_activity import VoiceActivity, VoiceActivityDetector
from speech_pipeline.transcript import Diarization, Segment, SpeakerTurn


@dataclass(slots=True)
class Track:
    """What one recogniser run listens to: the mix (``channel`` is None) or one channel.

    Attributes:
        samples: float32 [n] at 16 kHz.
        channel: index of the channel.
        activity: where somebody speaks.
    """

    samples: NDArray[np.float32]
    channel: int | None
    activity: VoiceActivity


def listen(
    audio: Audio, voice_activity: VoiceActivityDetector, warnings: list[str], *, separate_channels: bool
) -> list[Track]:
    """The mix, or the channels where they are to be kept apart and do differ; adds to ``warnings``."""
    heard: list[tuple[NDArray[np.float32], int | None]] = [(audio.samples, None)]
    if separate_channels:
        if len(audio.channels) < 2:
            warnings.append("The recording has one channel; there was nothing to separate.")
            heard = [(audio.samples, 0)]
        elif all(np.allclose(audio.channels[0], channel, atol=1e-4) for channel in audio.channels[1:]):
            warnings.append("All channels of the recording are the same; it was transcribed once.")
            heard = [(audio.channels[0], 0)]
        else:
            heard = list(zip(audio.channels, range(len(audio.channels)), strict=True))
    return [Track(samples, channel, voice_activity.detect(samples)) for samples, channel in heard]


def by_channel(
    segments: Sequence[Segment], tracks: Sequence[Track]
) -> tuple[tuple[Segment, ...], tuple[SpeakerTurn, ...]]:
    """Channels as speakers, their voice activity as turns."""

    def label(channel: int | None) -> str:
        return f"CHANNEL_{channel or 0:02d}"

    labelled = tuple(with_speaker(segment, label(segment.channel)) for segment in segments)
    turns = [SpeakerTurn(label(track.channel), *region) for track in tracks for region in track.activity.regions]
    return labelled, tuple(sorted(turns, key=lambda turn: turn.start))


def by_speaker(
    segments: Sequence[Segment], diarization: Diarization, warnings: list[str]
) -> tuple[tuple[Segment, ...], tuple[SpeakerTurn, ...]]:
    """Segments with their speakers, and the turns; adds to ``warnings``."""
    warnings += diarization.warnings
    attributed, numbered = number_speakers(assign_speakers(segments, diarization), diarization)
    return attributed, numbered.turns
