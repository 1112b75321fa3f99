"""Recordings of several speakers with reference turns, which diarization is measured on."""

from dataclasses import dataclass
from pathlib import Path

from speech_pipeline.audio.decoding import load_audio
from speech_pipeline.audio.waveform import SAMPLING_RATE
from speech_pipeline.evaluation.bench.systems import Samples
from speech_pipeline.evaluation.manifest import load_manifest
from speech_pipeline.transcript import SpeakerTurn

MAX_BYTES = 2**32
MAX_DURATION_S = 36_000.0


@dataclass(frozen=True, slots=True)
class Dialogue:
    """A recording of several speakers.

    Attributes:
        name: what it is called in results.
        samples: float32 [n] at 16 kHz.
        turns: who really speaks when.
    """

    name: str
    samples: Samples
    turns: tuple[SpeakerTurn, ...]

    @property
    def duration_s(self) -> float:
        """Length in seconds."""
        return len(self.samples) / SAMPLING_RATE


def load_dialogues(folder: Path) -> tuple[Dialogue, ...]:
    """The recordings of a folder whose turns are known, by its ``manifest.json``.

    Raises:
        SpeechError: the manifest or a recording is missing or cannot be read.
    """
    return tuple(
        Dialogue(recording.path.stem, _samples(recording.path), recording.turns)
        for recording in load_manifest(folder)
        if recording.turns
    )


def _samples(file: Path) -> Samples:
    audio = load_audio(
        file.read_bytes(),
        sampling_rate=None,
        separate_channels=False,
        max_bytes=MAX_BYTES,
        max_duration_s=MAX_DURATION_S,
    )
    return audio.samples
