"""The stages in order: audio, voice activity, recognition, diarization, attribution, format, reply."""

import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

from config import InferenceConfig
from speech_pipeline.audio.decoding import SAMPLING_RATE, Audio, load_audio
from speech_pipeline.audio.voice_activity import VoiceActivityDetector
from speech_pipeline.diarization import Diarizer
from speech_pipeline.error_log import log_error
from speech_pipeline.errors import (
    ConflictingParameters,
    DiarizationUnavailable,
    RecognitionFailed,
    RecognitionUnavailable,
    ReplyFailed,
    ReplyUnavailable,
    SpeechError,
)
from speech_pipeline.formats import format_transcript
from speech_pipeline.languages import most_spoken
from speech_pipeline.overlap import started
from speech_pipeline.progress import Progress, no_progress
from speech_pipeline.recognition.whisper import Recognition, WhisperRecognizer
from speech_pipeline.recognition.windows import Window, cut_windows
from speech_pipeline.reply.text_request import TEXT_TASKS, read_text_request
from speech_pipeline.stopwatch import Stopwatch
from speech_pipeline.tracks import Track, by_channel, by_speaker, listen
from speech_pipeline.transcript import Diarization, Reply, Segment, SpeakerTurn, Transcript

if TYPE_CHECKING:  # an endpoint without replies does without their libraries
    from speech_pipeline.reply.reply_stage import ReplyStage

logger = logging.getLogger(__name__)


class SpeechPipeline:
    """A recording and what is asked of it in, a transcript out; or a text in, a spoken reply out.

    The stages take care of concurrent calls themselves; the pipeline holds no state between calls.
    """

    def __init__(
        self,
        recognizer: WhisperRecognizer | None,
        voice_activity: VoiceActivityDetector,
        diarizer: Diarizer | None = None,
        reply_stage: "ReplyStage | None" = None,
        *,
        max_audio_bytes: int,
        max_audio_duration_s: float,
        overlap_stages: bool = False,
    ) -> None:
        """Put stages together.

        Args:
            recognizer: windows to words; None where only texts are answered or spoken.
            voice_activity: finds speech.
            diarizer: finds speaker turns; None when no diarization model is loaded.
            reply_stage: answers and speaks; None when no model for that is loaded.
            max_audio_bytes: largest encoded recording, in bytes.
            max_audio_duration_s: longest recording, in seconds.
            overlap_stages: speaker turns are found while words are.
        """
        self._recognizer = recognizer
        self._voice_activity = voice_activity
        self._diarizer = diarizer
        self._reply_stage = reply_stage
        self._max_audio_bytes = max_audio_bytes
        self._max_audio_duration_s = max_audio_duration_s
        self._overlap_stages = overlap_stages

    def respond(self, inputs: object, config: InferenceConfig, progress: Progress = no_progress) -> Transcript | Reply:
        """Do what a request asks for: transcribe a recording, or answer or speak a text.

        Args:
            inputs: the ``inputs`` of a request, see :meth:`transcribe` and
                :func:`speech_pipeline.reply.text_request.read_text_request`.
            config: what is asked for.
            progress: told how far each stage is.

        Raises:
            SpeechError: any of its kinds; requests that cannot be honoured are refused before any work.
        """
        request = read_text_request(inputs, config.task if "task" in config.model_fields_set else None)
        if request is None:
            return self.transcribe(inputs, config, progress)
        stage = self._replies()
        work = stage.speak if request.task == "speak" else stage.answer
        return work(request.text, config.language, config)

    def transcribe(self, inputs: object, config: InferenceConfig, progress: Progress = no_progress) -> Transcript:
        """Transcribe one recording, and answer what was said where the configuration asks for a reply.

        Args:
            inputs: the ``inputs`` of a request: bytes, base64, a data URI, or samples with their rate.
            config: what is asked for.
            progress: told how far each stage is.

        Raises:
            SpeechError: any of its kinds; requests that cannot be honoured are refused before any work.
        """
        self._check(config)
        separate = config.channels == "separate"
        stopwatch = Stopwatch()
        with stopwatch.stage("total"):
            with stopwatch.stage("decoding"):
                audio = load_audio(
                    inputs,
                    sampling_rate=config.sampling_rate if "sampling_rate" in config.model_fields_set else None,
                    separate_channels=separate,
                    max_bytes=self._max_audio_bytes,
                    max_duration_s=self._max_audio_duration_s,
                )
            warnings = list(audio.warnings)
            with self._diarization(audio, config, progress, stopwatch) as diarization:
                with stopwatch.stage("voice_activity"):
                    tracks = listen(audio, self._voice_activity, warnings, separate_channels=separate)
                with stopwatch.stage("recognition"):
                    segments = self._recognize(tracks, config, progress, warnings, stopwatch)
                speaker_segments: tuple[Segment, ...] = ()
                turns: tuple[SpeakerTurn, ...] = ()
                if separate:
                    speaker_segments, turns = by_channel(segments, tracks)
                elif diarization is not None:
                    speaker_segments, turns = by_speaker(segments, diarization(), warnings)
                elif config.num_speakers or config.min_speakers or config.max_speakers:
                    warnings.append("The number of speakers had no effect: no diarization model is loaded.")
            transcript = Transcript(
                segments=_presented(segments, config),
                speaker_segments=_presented(speaker_segments, config),
                turns=turns,
                language=most_spoken(segments) or config.language,
                duration=audio.duration,
            )
            with stopwatch.stage("formatting"):
                formatted = None if config.format == "json" else format_transcript(transcript, config.format)
            reply = None
            if config.reply:
                with stopwatch.stage("reply"):
                    reply = self._answer(transcript, config)
                warnings += reply.warnings
            elif config.reply_options_given:
                warnings.append(f"Without reply these had no effect: {', '.join(config.reply_options_given)}.")
        return replace(
            transcript,
            formatted=formatted,
            reply=reply,
            warnings=tuple(dict.fromkeys(warnings)),
            timings=stopwatch.seconds,
        )

    def _replies(self) -> "ReplyStage":
        if self._reply_stage is None:
            raise ReplyUnavailable("Replies need models that are not loaded; set LM_MODEL and TTS_MODEL at deployment.")
        return self._reply_stage

    def _answer(self, transcript: Transcript, config: InferenceConfig) -> Reply:
        """The answer to what was said; where there is none, the reason, so that the transcript is not lost."""
        if not transcript.text:
            return Reply(warnings=("Nobody speaks in the recording; there was nothing to answer.",))
        try:
            return self._replies().answer(transcript.text, transcript.language, config)
        except SpeechError as error:
            failure = error
        except Exception as error:
            log_error(logger, error)
            failure = ReplyFailed("The reply failed for a reason that is not in the request.")
        return Reply(language=transcript.language, complete=False, warnings=(str(failure),))

    def _recognition(self) -> WhisperRecognizer:
        if self._recognizer is None:
            raise RecognitionUnavailable("Recordings need a Whisper model; set ASR_MODEL at deployment, or send text.")
        return self._recognizer

    def _check(self, config: InferenceConfig) -> None:
        if config.task in TEXT_TASKS:
            raise ConflictingParameters(f"task is {config.task!r}, which takes text; this request brings audio.")
        recognizer = self._recognition()
        if config.reply:
            self._replies().check(config, config.language)
        if config.diarize and self._diarizer is None:
            raise DiarizationUnavailable(
                "diarize needs a diarization model and none is loaded; set DIARIZATION_MODEL at deployment, or leave "
                "out diarize."
            )
        if diarizer := self._diarizer_for(config):
            diarizer.check(config.num_speakers)
        recognizer.check(config)

    def _diarizer_for(self, config: InferenceConfig) -> Diarizer | None:
        """What finds the speakers; None where they are not asked for, or each channel is one."""
        return None if config.diarize is False or config.channels == "separate" else self._diarizer

    def _recognize(
        self,
        tracks: Sequence[Track],
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
            recognitions: list[Recognition] = self._recognition().recognize(
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
        diarizer = self._diarizer_for(config)
        if diarizer is None:
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


def _presented(segments: tuple[Segment, ...], config: InferenceConfig) -> tuple[Segment, ...]:
    """Without the words, where their times were not asked for."""
    return segments if config.word_timestamps else tuple(replace(segment, words=()) for segment in segments)
