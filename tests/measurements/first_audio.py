"""Time to the first audio of a reply: ``python -m tests.measurements.first_audio [scripted] [starter]``.

``scripted`` runs a language model and a voice that only wait, so that what is left is the cost of the stage itself.
Three moments count: the last character of the first sentence is written; the sentence is certain, since the first
character of the next one is there; the first audio is ready. ``starter`` prints what the starter models need, and the
voice of TTS_MODEL where it is set.
"""

import statistics
import sys
import time
from collections.abc import Iterator

import torch

from config import STARTER, InferenceConfig, ModelSettings
from speech_pipeline import starter
from speech_pipeline.loading import load_pipeline
from speech_pipeline.reply.loading import load_language_model
from speech_pipeline.reply.prompts import conversation
from speech_pipeline.reply.reply_stage import ReplyStage
from speech_pipeline.reply.text_language import TextLanguageDetector
from speech_pipeline.transcript import Reply
from tests.reply.scripted import ScriptedLanguageModel, ScriptedVoice, tokens_of

FIRST = "The sky looks blue to us."
TEXT = f"{FIRST} The air scatters short waves of light far more than long ones. That is all there is to it."
ROUNDS = 10
QUESTIONS = (
    *("What is the capital of France?", "Why is the sky blue?", "Who wrote Romeo and Juliet?"),
    "Tell me about the sea.",
)


def scripted(token_s: float, speech_s: float) -> tuple[float, float]:
    """Medians in milliseconds: first audio after the sentence was written, and after it was certain; less the voice."""
    detector = TextLanguageDetector(("en",))
    after_written, after_certain = [], []
    for _ in range(ROUNDS):
        moments: dict[str, float] = {}

        def tokens(moments: dict[str, float] = moments) -> Iterator[str]:
            written = ""
            for token in tokens_of(TEXT):
                moment = time.perf_counter()
                if written == FIRST:
                    moments.setdefault("written", moment)
                if len(written) > len(FIRST):
                    moments.setdefault("certain", moment)
                written += token
                yield token

        stage = ReplyStage(ScriptedLanguageModel(tokens, token_s=token_s), ScriptedVoice(speech_s=speech_s), detector)
        for piece in stage.stream("Why?", "en", InferenceConfig()):
            if piece.speech is not None:
                moments.setdefault("audio", time.perf_counter())
        after_written.append(moments["audio"] - moments["written"] - speech_s)
        after_certain.append(moments["audio"] - moments["certain"] - speech_s)
    return statistics.median(after_written) * 1_000, statistics.median(after_certain) * 1_000


def print_scripted() -> None:
    print("| token | synthesis of the first sentence | after it was written | after it was certain |")
    print("| ---: | ---: | ---: | ---: |")
    for token_ms in (5, 10, 20, 50):
        for speech_ms in (50, 200):
            written, certain = scripted(token_ms / 1_000, speech_ms / 1_000)
            print(f"| {token_ms} ms | {speech_ms} ms | {written:.1f} ms | {certain:.1f} ms |")


def print_starter() -> None:
    environment = ModelSettings.from_environment()
    settings = environment.model_copy(
        update={"asr_model": STARTER, "lm_model": STARTER, "tts_model": environment.tts_model or STARTER}
    )
    print(f"Language model alone: {tokens_a_second(settings):.1f} tokens/s\n")
    pipeline = load_pipeline(settings)
    print("| question | first token | first sentence | first audio | total | voice | real-time factor of the voice |")
    print("| --- | ---: | ---: | ---: | ---: | ---: | ---: |")
    for question in QUESTIONS:
        pipeline.respond({"text": question}, InferenceConfig(language="en"))  # warm up
        reply = pipeline.respond({"text": question}, InferenceConfig(language="en"))
        assert isinstance(reply, Reply)
        assert reply.audio is not None
        moments = (f"{reply.timings[name]:.2f} s" for name in ("first_token", "first_sentence", "first_audio", "total"))
        voice_s = reply.audio.duration
        factor = reply.timings["synthesis"] / voice_s
        print(f"| {question} | {' | '.join(moments)} | {voice_s:.1f} s | {factor:.2f} |", flush=True)


def tokens_a_second(settings: ModelSettings) -> float:
    """Speed of the starter language model after its first token."""
    folder = str(starter.path_of(settings.starter_dir, "chat"))
    model = load_language_model(folder, token=None, device=torch.device("cpu"), dtype=settings.dtype)
    rates = []
    for question in QUESTIONS:
        moments: list[float] = []
        model.write(
            conversation(question, "en"),
            lambda text, moments=moments: moments.append(time.perf_counter()),  # type: ignore[misc]
            max_tokens=60,
            temperature=0.0,
            seed=None,
        )
        rates.append((len(moments) - 2) / (moments[-2] - moments[0]))  # the last call ends the answer
    return statistics.median(rates)


def main(wanted: list[str]) -> None:
    """Print what is named, or both tables."""
    for name, run in (("scripted", print_scripted), ("starter", print_starter)):
        if name in (wanted or ["scripted", "starter"]):
            run()


if __name__ == "__main__":
    main(sys.argv[1:])
