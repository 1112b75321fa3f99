"""The stages in order: audio, voice activity, recognition, diarization, attribution, format."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from config import InferenceConfig
from diarization_utils import assign_speakers, number_speakers, with_speaker
from speech_pipeline.audio.decoding import SAMPLING_RATE, Audio, load_audio
from speech_pipeline.audio.voice_activity import VoiceActivity, VoiceActivityDetector
from speech_pipeline.diarization import Diarizer
from speech_pipeline.errors import DiarizationUnavailable, RecognitionFailed, SpeechError
from speech_pipeline.formats import format_transcript
from speech_pipeline.overlap import started
from speech_pipeline.progress import Progress, no_progress
from speech_pipeline.recognition.whisper import Recognition, WhisperRecognizer
from speech_pipeline.recognition.windows import Window, cut_windows
from speech_pipeline.stopwatch import Stopwatch
from speech_pipeline.transcript import Diarization, Segment, SpeakerTurn, Transcript


@dataclass(slots=True)
class _Track:
    """What one recogniser run listens to: the mix (``channel`` is None) or one channel."""

    samples: NDArray[np.float32]
    channel: int | None
    activity: VoiceActivity


class SpeechPipeline:
    """A recording and what is asked of it in, a transcript out.

    The stages take care of concurrent calls themselves; the pipeline holds no state between calls.
    """

    def __init__(
        self,
        recognizer: WhisperRecognizer,
        voice_activity: VoiceActivityDetector,
        diarizer: Diarizer | None = None,
        *,
        max_audio_bytes: int,
        max_audio_duration_s: float,
        overlap_stages: bool = False,
    ) -> None:
        """Put stages together.

        Args:
            recognizer: windows to words.
            voice_activity: finds speech.
            diarizer: finds speaker turns; None when no diarization model is loaded.
            max_audio_bytes: largest encoded recording, in bytes.
            max_audio_duration_s: longest recording, in seconds.
            overlap_stages: speaker turns are found while words are.
        """
        self._recognizer = recognizer
        self._voice_activity = voice_activity
        self._diarizer = diarizer
        self._max_audio_bytes = max_audio_bytes
        self._max_audio_duration_s = max_audio_duration_s
        self._overlap_stages = overlap_stages

    def transcribe(self, inputs: object, config: InferenceConfig, progress: Progress = no_progress) -> Transcript:
        """Transcribe one recording.

        Args:
            inputs: the ``inputs`` of a request: bytes, base64, a data URI, or samples with their rate.
            config: what is asked for.
            progress: told how far each stage is.

        Raises:
            SpeechError: any of its kinds; requests that cannot be honoured are refused before any work.
        """
        self._check(config)
        stopwatch = Stopwatch()
        with stopwatch.stage("total"):
            with stopwatch.stage("decoding"):
                audio = load_audio(
                    inputs,
                    sampling_rate=config.sampling_rate if "sampling_rate" in config.model_fields_set else None,
                    separate_channels=config.channels == "separate",
                    max_bytes=self._max_audio_bytes,
                    max_duration_s=self._max_audio_duration_s,
                )
            warnings = list(audio.warnings)
            with self._diarization(audio, config, progress, stopwatch) as diarization:
                with stopwatch.stage("voice_activity"):
                    tracks = self._tracks(audio, config, warnings)
                with stopwatch.stage("recognition"):
                    segments = self._recognize(tracks, config, progress, warnings, stopwatch)
                speaker_segments: tuple[Segment, ...] = ()
                turns: tuple[SpeakerTurn, ...] = ()
                if config.channels == "separate":
                    speaker_segments, turns = _by_channel(segments, tracks)
                elif diarization is not None:
                    speaker_segments, turns = _by_speaker(segments, diarization(), warnings)
                elif config.num_speakers or config.min_speakers or config.max_speakers:
                    warnings.append("The number of speakers had no effect: no diarization model is loaded.")
            transcript = Transcript(
                segments=_presented(segments, config),
                speaker_segments=_presented(speaker_segments, config),
                turns=turns,
                language=_language(segments) or config.language,
                duration=audio.duration,
            )
            with stopwatch.stage("formatting"):
                formatted = None if config.format == "json" else format_transcript(transcript, config.format)
        return replace(
            transcript, formatted=formatted, warnings=tuple(dict.fromkeys(warnings)), timings=stopwatch.seconds
        )

    def _check(self, config: InferenceConfig) -> None:
        if config.diarize and self._diarizer is None:
            raise DiarizationUnavailable(
                "diarize needs a diarization model and none is loaded; set DIARIZATION_MODEL at deployment, or leave "
                "out diarize."
            )
        if self._diarizer is not None and config.diarize is not False and config.channels == "mix":
            self._diarizer.check(config.num_speakers)
        self._recognizer.check(config)

    def _tracks(self, audio: Audio, config: InferenceConfig, warnings: list[str]) -> list[_Track]:
        """The mix, or the channels where they are to be kept apart and do differ."""
        heard: list[tuple[NDArray[np.float32], int | None]] = [(audio.samples, None)]
        if config.channels == "separate":
            if len(audio.channels) < 2:
                warnings.append("The recording has one channel; there was nothing to separate.")
                heard = [(audio.samples, 0)]
            elif all(np.allclose(audio.channels[0], channel, atol=1e-4) for channel in audio.channels[1:]):
                warnings.append("All channels of the recording are the same; it was transcribed once.")
                heard = [(audio.channels[0], 0)]
            else:
                heard = list(zip(audio.channels, range(len(audio.channels)), strict=True))
        return [_Track(samples, channel, self._voice_activity.detect(samples)) for samples, channel in heard]

    def _recognize(
        self,
        tracks: Sequence[_Track],
        config: InferenceConfig,
        progress: Progress,
        warnings: list[str],
        stopwatch: Stopwatch,
    ) -> tuple[Segment, ...]:
        windows: list[Window] = []
        for track in tracks:
            windows += cut_windows(
                track.samples,
                track.activity.regions if config.vad else ((0.0, len(track.samples) / SAMPLING_RATE),),
                max_duration_s=config.chunk_length_s,
                probabilities=track.activity.probabilities,
                channel=track.channel,
            )
        try:
            recognitions: list[Recognition] = self._recognizer.recognize(
                [(window, config) for window in windows], progress, stopwatch
            )
        except SpeechError:
            raise
        except Exception as error:
            raise RecognitionFailed("Recognition failed for a reason that is not in the request.") from error
        for recognition in recognitions:
            warnings += recognition.warnings
        segments = [segment for recognition in recognitions for segment in recognition.segments]
        return tuple(sorted(segments, key=lambda segment: segment.start))

    @contextmanager
    def _diarization(
        self, audio: Audio, config: InferenceConfig, progress: Progress, stopwatch: Stopwatch
    ) -> Iterator[Callable[[], Diarization] | None]:
        """What finds the speaker turns, perhaps at work already; None where they are not asked for."""
        diarizer = self._diarizer
        if diarizer is None or config.diarize is False or config.channels == "separate":
            yield None
            return

        def diarize(progress: Progress) -> Diarization:
            with stopwatch.stage("diarization"):
                return diarizer.diarize(
                    audio.samples,
                    num_speakers=config.num_speakers,
                    min_speakers=config.min_speakers,
                    max_speakers=config.max_speakers,
                    progress=progress,
                )

        with started(diarize, progress, now=self._overlap_stages) as result:
            yield result


def _by_speaker(
    segments: tuple[Segment, ...], diarization: Diarization, warnings: list[str]
) -> tuple[tuple[Segment, ...], tuple[SpeakerTurn, ...]]:
    """Segments with their speakers, and the turns."""
    warnings += diarization.warnings
    attributed, numbered = number_speakers(assign_speakers(segments, diarization), diarization)
    return attributed, numbered.turns


def _by_channel(
    segments: Sequence[Segment], tracks: Sequence[_Track]
) -> tuple[tuple[Segment, ...], tuple[SpeakerTurn, ...]]:
    """Channels as speakers, their voice activity as turns."""

    def label(channel: int | None) -> str:
        return f"CHANNEL_{channel or 0:02d}"

    labelled = tuple(with_speaker(segment, label(segment.channel)) for segment in segments)
    turns = [SpeakerTurn(label(track.channel), *region) for track in tracks for region in track.activity.regions]
    return labelled, tuple(sorted(turns, key=lambda turn: turn.start))


def _presented(segments: tuple[Segment, ...], config: InferenceConfig) -> tuple[Segment, ...]:
    """Without the words, where their times were not asked for."""
    return segments if config.word_timestamps else tuple(replace(segment, words=()) for segment in segments)


def _language(segments: Sequence[Segment]) -> str | None:
    """The language most of the speech is in."""
    seconds: dict[str, float] = {}
    for segment in segments:
        if segment.language:
            seconds[segment.language] = seconds.get(segment.language, 0.0) + segment.end - segment.start
    return max(seconds, key=lambda language: seconds[language]) if seconds else None
