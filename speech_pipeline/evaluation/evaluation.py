"""Recordings with references -> how well a pipeline transcribes them, and how fast."""

from dataclasses import dataclass, field
from time import perf_counter
from typing import TYPE_CHECKING, Any, Literal

from config import InferenceConfig
from speech_pipeline.evaluation.manifest import Recording
from speech_pipeline.evaluation.peak_memory import peak_memory_mb
from speech_pipeline.evaluation.scores import Alignment, Scores, align_words, score
from speech_pipeline.progress import Progress, no_progress
from speech_pipeline.transcript import Transcript

if TYPE_CHECKING:
    from speech_pipeline.pipeline import SpeechPipeline

DETECTION_S = 30.0
"""How much of a recording its language is detected from, where the transcription itself is told it; in seconds."""

LanguageSource = Literal["given", "auto"]
"""Whether the transcription is told the language of the manifest, or detects it."""


@dataclass(frozen=True, slots=True)
class Figures:
    """What was measured on one recording, or on several together.

    Attributes:
        scores: counts of errors.
        languages: recordings whose language is known and was looked for.
        languages_right: those of them whose language was found.
        audio_s: length of the recordings in seconds.
        seconds: time the transcriptions took.
        peak_memory_mb: most memory the process had in use until then, in megabytes; the models are part of it.
    """

    scores: Scores = field(default_factory=Scores)
    languages: int = 0
    languages_right: int = 0
    audio_s: float = 0.0
    seconds: float = 0.0
    peak_memory_mb: float = 0.0

    @property
    def rtfx(self) -> float | None:
        """Seconds of audio for each second of work; None without work."""
        return self.audio_s / self.seconds if self.seconds else None

    @property
    def language_accuracy(self) -> float | None:
        """Share of the languages that was found; None where none was looked for."""
        return self.languages_right / self.languages if self.languages else None

    def __add__(self, other: "Figures") -> "Figures":
        return Figures(
            self.scores + other.scores,
            self.languages + other.languages,
            self.languages_right + other.languages_right,
            self.audio_s + other.audio_s,
            self.seconds + other.seconds,
            max(self.peak_memory_mb, other.peak_memory_mb),
        )


@dataclass(frozen=True, slots=True)
class Result:
    """One recording evaluated.

    Attributes:
        recording: what is known about it.
        transcript: what was made of it.
        alignments: the words of both, side by side; empty where no text is known.
        detected_language: code, or None where it was not detected.
        figures: what was measured.
    """

    recording: Recording
    transcript: Transcript
    alignments: tuple[Alignment, ...]
    detected_language: str | None
    figures: Figures


def evaluate(
    pipeline: "SpeechPipeline",
    recording: Recording,
    language: LanguageSource = "given",
    progress: Progress = no_progress,
) -> Result:
    """Transcribe a recording and score the transcript.

    Channels whose texts are known apart are transcribed apart. The number of speakers is never told. Where the
    transcription is told the language, it is detected from the first ``DETECTION_S`` before; that takes no part in the
    time.

    Args:
        pipeline: transcribes.
        recording: what is known.
        language: whether the transcription is told a language that is known.
        progress: told how far the transcription is.

    Raises:
        SpeechError: the recording could not be transcribed.
        OSError: the recording cannot be read.
    """
    audio = recording.path.read_bytes()
    parameters: dict[str, Any] = {"hotwords": recording.hotwords}
    if recording.channels:
        parameters["channels"] = "separate"
    told = recording.language if language == "given" else None
    detected = _detect_language(pipeline, audio) if told else None
    config, _ = InferenceConfig.from_request({**parameters, "language": told})
    started = perf_counter()
    transcript = pipeline.transcribe(audio, config, progress)
    seconds = perf_counter() - started
    detected = detected if told else transcript.language
    known = bool(recording.languages) and detected is not None
    alignments = align_words(recording, transcript)
    figures = Figures(
        scores=score(recording, transcript, alignments),
        languages=int(known),
        languages_right=int(known and detected in recording.languages),
        audio_s=transcript.duration,
        seconds=seconds,
        peak_memory_mb=peak_memory_mb(),
    )
    return Result(recording, transcript, alignments, detected, figures)


def _detect_language(pipeline: "SpeechPipeline", audio: bytes) -> str | None:
    from speech_pipeline.audio.decoding import SAMPLING_RATE, load_audio

    decoded = load_audio(
        audio, sampling_rate=None, separate_channels=False, max_bytes=len(audio), max_duration_s=float("inf")
    )
    beginning = {"array": decoded.samples[: round(DETECTION_S * SAMPLING_RATE)], "sampling_rate": SAMPLING_RATE}
    config, _ = InferenceConfig.from_request({"diarize": False, "word_timestamps": False})
    return pipeline.transcribe(beginning, config).language
