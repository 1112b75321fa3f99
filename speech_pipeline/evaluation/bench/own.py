"""This repository's pipeline as a system that is measured, with the settings a user gets who sets nothing."""

from config import InferenceConfig, ModelSettings
from speech_pipeline.audio.waveform import SAMPLING_RATE
from speech_pipeline.diarization_loading import load_diarizer
from speech_pipeline.evaluation.bench.systems import Options, Output, Samples, System
from speech_pipeline.loading import load_pipeline, resolve_device


def recognition(options: Options) -> System:
    """Text alone."""
    return _Pipeline(options, word_timestamps=False, diarize=False)


def words(options: Options) -> System:
    """Text with word times."""
    return _Pipeline(options, word_timestamps=True, diarize=False)


def words_and_speakers(options: Options) -> System:
    """The whole job."""
    return _Pipeline(options, word_timestamps=True, diarize=True)


def diarization(options: Options) -> System:
    """Speaker turns alone."""
    return _Diarization(options)


class _Pipeline:
    def __init__(self, options: Options, *, word_timestamps: bool, diarize: bool) -> None:
        settings = ModelSettings(
            asr_model=options.whisper,
            assistant_model=None,
            diarization_model=options.diarization if diarize else None,
            device=options.device,
        )
        self._pipeline = load_pipeline(settings)
        # One temperature: greedy as the peers are, without another try where a check fails.
        parameters = {"language": options.language, "word_timestamps": word_timestamps, "temperature": [0.0]}
        self._config, _ = InferenceConfig.from_request(parameters)

    def prepare(self, samples: Samples) -> None:
        self.run(samples[: 30 * SAMPLING_RATE])

    def run(self, samples: Samples) -> Output:
        transcript = self._pipeline.transcribe({"array": samples, "sampling_rate": SAMPLING_RATE}, self._config)
        turns = tuple((turn.speaker, turn.start, turn.end) for turn in transcript.turns)
        return Output(transcript.text, turns, transcript.timings)


class _Diarization:
    def __init__(self, options: Options) -> None:
        self._diarizer = load_diarizer(options.diarization, token=None, device=resolve_device(options.device))

    def prepare(self, samples: Samples) -> None:
        self.run(samples[: 30 * SAMPLING_RATE])

    def run(self, samples: Samples) -> Output:
        turns = self._diarizer.diarize(samples).turns
        return Output(turns=tuple((turn.speaker, turn.start, turn.end) for turn in turns))
