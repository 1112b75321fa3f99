"""Recordings that systems are measured on, written as numpy files where the workers find them."""

import io
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
import soundfile

from speech_pipeline.audio.waveform import SAMPLING_RATE
from speech_pipeline.evaluation.bench.rounds import Recording
from speech_pipeline.evaluation.bench.systems import Samples
from speech_pipeline.evaluation.clips import load_clips
from speech_pipeline.evaluation.conversations import make_long_speech

SHORT_S = 8.0
"""Length of a short request in seconds; that of the table in the Hugging Face blog's article on asr-diarization."""

LONG_S = 60.0
"""Length of the long request of the same table."""


@dataclass(frozen=True, slots=True)
class Speech:
    """Clips of one language, joined in a seeded order.

    Attributes:
        samples: float32 [n] at 16 kHz.
        clips: name and text of each, in their order; a name comes again where a clip does.
    """

    samples: Samples
    clips: tuple[tuple[str, str], ...]

    @property
    def duration_s(self) -> float:
        """Length in seconds."""
        return len(self.samples) / SAMPLING_RATE

    def cut(self, duration_s: float) -> Samples:
        """The first so many seconds; the whole where it is shorter."""
        return self.samples[: round(duration_s * SAMPLING_RATE)]


def long_speech(data: Path, duration_s: float, language: str, seed: int) -> Speech:
    """Join the clips of a folder whose text is known.

    Args:
        data: folder with a ``manifest.json``.
        duration_s: the shortest length in seconds.
        language: code of the clips' language.
        seed: decides the order.

    Raises:
        SpeechError: the manifest or a recording is missing or cannot be read, or no clip is in the language.
    """
    made = make_long_speech(load_clips(data), duration_s, seed, languages=(language,))
    return Speech(made.samples, tuple((utterance.clip.name, utterance.clip.text) for utterance in made.utterances))


def encoded(samples: Samples, file_format: Literal["WAV", "FLAC"] = "WAV") -> bytes:
    """Samples as a file of 16-bit audio, as a caller sends it."""
    file = io.BytesIO()
    soundfile.write(file, samples, SAMPLING_RATE, format=file_format, subtype="PCM_16")
    return file.getvalue()


def write_recording(folder: Path, name: str, samples: Samples) -> Recording:
    """Write samples for the workers."""
    file = folder / f"{name}.npy"
    np.save(file, np.ascontiguousarray(samples, dtype=np.float32))
    return Recording(name, file, len(samples) / SAMPLING_RATE)
