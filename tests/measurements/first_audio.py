"""Time to the first audio of a reply: ``python -m tests.measurements.first_audio [scripted] [starter]``.

``scripted`` runs a language model and a voice that only wait, so that what is left is the cost of the stage itself: how
much later the first audio is there than the first sentence is written and its synthesis takes. A voice that is faster
than the model's next token, which tells that the sentence is over, waits for it a little. ``starter`` prints what
the starter models need, the voice of TTS_MODEL where it is set, and how many words of the answers are heard again.
"""

import statistics
import sys
import time
from collections.abc import Iterator

import torch

from config import STARTER, InferenceConfig, ModelSettings
from speech_pipeline import starter
from speech_pipeline.loading import load_pipeline
from speech_pipeline.reply.demo import recovered_words
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


def scripted(token_s: float, speech_s: float) -> list[float]:
    """Milliseconds from the end of the first sentence, once it is written, to its audio, less its synthesis."""
    detector = TextLanguageDetector(("en",))
    delays = []
    for _ in range(ROUNDS):
        moments: dict[str, float] = {}

        def tokens(moments: dict[str, float] = moments) -> Iterator[str]:
            written = ""
            for token in tokens_of(TEXT):
                if written == FIRST:
                    moments["written"] = time.perf_counter()
                written += token
                yield token

        stage = ReplyStage(ScriptedLanguageModel(tokens, token_s=token_s), ScriptedVoice(speech_s=speech_s), detector)
        for piece in stage.stream("Why?", "en", InferenceConfig()):
            if piece.speech is not None:
                moments.setdefault("audio", time.perf_counter())
        delays.append((moments["audio"] - moments["written"] - speech_s) * 1_000)
    return delays


def print_scripted() -> None:
    print("| token | synthesis of the first sentence | first audio later than both, median | worst |")
    print("| ---: | ---: | ---: | ---: |")
    for token_ms in (5, 20, 50):
        for speech_ms in (20, 50, 200):
            delays = scripted(token_ms / 1_000, speech_ms / 1_000)
            print(f"| {token_ms} ms | {speech_ms} ms | {statistics.median(delays):.1f} ms | {max(delays):.1f} ms |")


def print_starter() -> None:
    environment = ModelSettings.from_environment()
    settings = environment.model_copy(
        update={"asr_model": STARTER, "lm_model": STARTER, "tts_model": environment.tts_model or STARTER}
    )
    print(f"Language model alone: {tokens_a_second(settings):.1f} tokens/s\n")
    pipeline = load_pipeline(settings)
    print("| question | first token | first sentence | first audio | total | voice | real-time factor | heard again |")
    print("| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |")
    config = InferenceConfig(language="en")
    for question in QUESTIONS:
        pipeline.respond({"text": question}, config)  # warm up
        reply = pipeline.respond({"text": question}, config)
        assert isinstance(reply, Reply)
        assert reply.audio is not None
        moments = (f"{reply.timings[name]:.2f} s" for name in ("first_token", "first_sentence", "first_audio", "total"))
        voice_s = reply.audio.duration
        factor = reply.timings["synthesis"] / voice_s
        heard, words = recovered_words(reply.text, pipeline.transcribe(reply.audio.data, config).text)
        again = f"{heard} of {words} words"
        print(f"| {question} | {' | '.join(moments)} | {voice_s:.1f} s | {factor:.2f} | {again} |", flush=True)


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
