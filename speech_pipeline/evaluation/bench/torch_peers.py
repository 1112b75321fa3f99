"""openai-whisper and the recognition pipeline of transformers as systems that are measured, both on torch."""

from typing import Any

from speech_pipeline.audio.waveform import SAMPLING_RATE
from speech_pipeline.evaluation.bench.systems import Options, Output, Samples, System


def openai_whisper(options: Options) -> System:
    """openai-whisper in single precision, greedy, one temperature."""
    return _OpenAIWhisper(options)


def public_handler(options: Options) -> System:
    """What the widely used public handler does: chunks of 30 s that overlap, 24 at once, in single precision."""
    return _PublicHandler(options)


class _OpenAIWhisper:
    def __init__(self, options: Options) -> None:
        import whisper

        self._model = whisper.load_model(options.openai, device="cpu")
        self._language = options.language

    def prepare(self, samples: Samples) -> None:
        self.run(samples[: 30 * SAMPLING_RATE])

    def run(self, samples: Samples) -> Output:
        # fp16=False: its own choice on a CPU, said aloud to save the warning. No beam_size means greedy.
        result = self._model.transcribe(samples, language=self._language, temperature=0.0, fp16=False)
        return Output(str(result["text"]).strip())


class _PublicHandler:
    def __init__(self, options: Options) -> None:
        import torch
        from transformers import pipeline
        from transformers.pipelines import automatic_speech_recognition

        # The pipeline imports torchcodec for every request, which fails where FFmpeg's libraries are missing. Samples
        # are handed over, so nothing of it is used.
        vars(automatic_speech_recognition)["is_torchcodec_available"] = lambda: False
        self._pipeline = pipeline(
            "automatic-speech-recognition", model=options.whisper, dtype=torch.float32, device="cpu"
        )
        # Without num_beams=1 newer versions search with five beams.
        self._generation = {"task": "transcribe", "language": options.language, "num_beams": 1}

    def prepare(self, samples: Samples) -> None:
        self.run(samples[: 30 * SAMPLING_RATE])

    def run(self, samples: Samples) -> Output:
        result: Any = self._pipeline(
            {"raw": samples, "sampling_rate": SAMPLING_RATE},
            chunk_length_s=30,
            batch_size=24,
            generate_kwargs=dict(self._generation),
            return_timestamps=True,
        )
        return Output(str(result["text"]).strip())
