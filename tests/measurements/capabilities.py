"""What comes of recordings that each ask for something else: ``python -m tests.measurements.capabilities DATA``.

``DATA`` is the folder of shared recordings. Everything is printed; nothing is asserted.
"""

import json
import sys
from pathlib import Path
from typing import Any

import torch

from config import InferenceConfig, ModelSettings
from speech_pipeline.loading import load_pipeline, resolve_sources
from speech_pipeline.pipeline import SpeechPipeline
from speech_pipeline.recognition.assistant import Assistant
from speech_pipeline.recognition.loading import load_recognizer
from speech_pipeline.recognition.precision import Precision
from speech_pipeline.transcript import Transcript
from tests.synthetic_audio import encode, noise


def main(data: Path) -> None:
    """Run every demonstration."""
    pipeline = load_pipeline(ModelSettings(asr_model="starter"))
    languages(pipeline, data)
    for name in ("de", "es", "it"):
        show(f"{name} translated", run(pipeline, data / f"speech/{name}.wav", task="translate"))
    show("en_then_de", run(pipeline, data / "speech/en_then_de.mp3"))
    separate = run(pipeline, data / "speech/two_channels.wav", channels="separate")
    for segment in separate.speaker_segments:
        print(f"two_channels: {segment.speaker} {segment.start:.2f}-{segment.end:.2f}{segment.text}")
    show("hotword absent", run(pipeline, data / "speech/hotword_comfyui.mp3"))
    show("hotword given", run(pipeline, data / "speech/hotword_comfyui.mp3", hotwords="ComfyUI"))
    guards(pipeline, data)
    assisted(data)


def languages(pipeline: SpeechPipeline, data: Path) -> None:
    """The language heard in every clip, beside the language it is in."""
    for entry in json.loads((data / "manifest.json").read_text(encoding="utf-8")):
        transcript = run(pipeline, data / entry["file"])
        print(f"language of {entry['file']}: {transcript.language}, stated {entry.get('language')}")


def guards(pipeline: SpeechPipeline, data: Path) -> None:
    """Each guard on audio that provokes it, and the same with the guard switched off."""
    hiss = encode(0.1 * noise(8.0))
    show("noise, guards on", run(pipeline, hiss, vad=False, language="en"))
    off = {"no_speech_threshold": None, "logprob_threshold": None, "compression_ratio_threshold": None}
    show("noise, guards off", run(pipeline, hiss, vad=False, language="en", **off))
    call = data / "conversations/phone_call.wav"
    show("call, repetition limit 1.2", run(pipeline, call, language="en", compression_ratio_threshold=1.2))
    show("call, confidence limit -0.1", run(pipeline, call, language="en", logprob_threshold=-0.1))


def assisted(data: Path) -> None:
    """Passes of the main decoder with and without an assistant: the model itself, and its first two layers."""
    for dtype in (torch.float32, torch.bfloat16):
        settings = ModelSettings(asr_model="starter", dtype="float32" if dtype is torch.float32 else "bfloat16")
        for name in ("itself", "two layers"):
            pipeline, passes = _counted(settings, dtype, name)
            for file in sorted((data / "speech").iterdir()):
                passes.clear()
                plain = run(pipeline, file, batch_size=1)
                without = len(passes)
                passes.clear()
                same = run(pipeline, file, assisted=True).segments == plain.segments
                print(
                    f"{dtype} assisted by {name}: {file.name}, {without} passes alone, {len(passes)} assisted, "
                    f"{'equal' if same else 'DIFFERENT'}"
                )


def _counted(settings: ModelSettings, dtype: torch.dtype, kind: str) -> tuple[SpeechPipeline, list[None]]:
    """A pipeline with an assistant, and a list that grows by one at each pass of its main decoder."""
    from transformers import WhisperForConditionalGeneration

    source = resolve_sources(settings).asr
    pipeline = load_pipeline(settings)
    decoder = load_recognizer(source, None, token=None, device=torch.device("cpu"), precision=Precision(dtype, dtype))
    draft = WhisperForConditionalGeneration.from_pretrained(source, dtype=dtype)
    if kind == "two layers":
        draft.model.decoder.layers = draft.model.decoder.layers[:2]
        draft.config.decoder_layers = 2
    main_model = decoder._decoder.model
    decoder._decoder.assistant = Assistant.fit(draft, main_model)
    passes: list[None] = []
    main_model.get_decoder().register_forward_hook(lambda *_: passes.append(None))
    pipeline._recognizer = decoder
    return pipeline, passes


def run(pipeline: SpeechPipeline, audio: Path | bytes, **parameters: Any) -> Transcript:
    """Transcribe a file or encoded audio."""
    config, _ = InferenceConfig.from_request(parameters)
    return pipeline.transcribe(audio if isinstance(audio, bytes) else audio.read_bytes(), config)


def show(name: str, transcript: Transcript) -> None:
    """Print what was heard, and how the model came to it."""
    heard = sorted({segment.language for segment in transcript.segments if segment.language})
    temperatures = sorted({segment.temperature for segment in transcript.segments})
    print(f"{name}: {transcript.text!r}, languages {heard}, temperatures {temperatures}, {list(transcript.warnings)}")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
