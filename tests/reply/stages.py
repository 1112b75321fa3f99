"""Reply stages of a scripted model and a scripted voice."""

import threading
from collections.abc import Callable
from typing import Any

from config import InferenceConfig
from speech_pipeline.reply.reply_stage import ReplyStage
from speech_pipeline.reply.text_language import TextLanguageDetector
from speech_pipeline.voices.voice import SENTENCE_PAUSE_S
from tests.reply.scripted import ScriptedLanguageModel, ScriptedVoice, tokens_of

ANSWER = "It is blue. The air scatters light, most of all **short** waves. 😀"
TIMEOUT_S = 30


def options(**parameters: Any) -> InferenceConfig:
    return InferenceConfig.from_request(parameters)[0]


def stage(
    detector: TextLanguageDetector,
    model: ScriptedLanguageModel | None = None,
    voice: ScriptedVoice | None = None,
) -> ReplyStage:
    return ReplyStage(model or ScriptedLanguageModel(tokens_of(ANSWER)), voice or ScriptedVoice(), detector)


def waiting(event: threading.Event, at: int) -> Callable[[int], None]:
    """Makes a scripted model wait for an event before the token of this number."""

    def wait(number: int) -> None:
        if number == at:
            assert event.wait(TIMEOUT_S)

    return wait


def duration(*texts: str) -> float:
    """Seconds of these sentences in the scripted voice, with the pauses between them."""
    return sum(len(text) for text in texts) / 100 + SENTENCE_PAUSE_S * (len(texts) - 1)
