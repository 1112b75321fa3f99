"""A language model and a voice that do what a script says, for order, faults and timing without models."""

import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

import numpy as np

from speech_pipeline.errors import UnknownVoice, UnsupportedByModel
from speech_pipeline.reply.language_model import Message, Written
from speech_pipeline.voices.voice import Speech, join

RATE = 8_000
"""Samples a second of the scripted voice."""


class ScriptedLanguageModel:
    """Writes the tokens it is given and remembers what it was asked.

    Attributes:
        asked: messages of every call, with the options.
        written: how many tokens were written in all.
        ended: set when a call has ended, however it did.
    """

    def __init__(
        self,
        tokens: Iterable[str | Exception] | Callable[[], Iterable[str]],
        *,
        complete: bool = True,
        token_s: float = 0.0,
        dropped_messages: int = 0,
        before: Callable[[int], None] = lambda number: None,
    ) -> None:
        """Remember the script.

        Args:
            tokens: of every answer; an exception among them is raised in its place.
            complete: whether the answer ends by itself.
            token_s: time a token takes, in seconds.
            dropped_messages: of every answer.
            before: called before each token, with its number.
        """
        self.asked: list[tuple[list[Message], dict[str, object]]] = []
        self.written = 0
        self.ended = threading.Event()
        self._tokens = tokens
        self._written = Written(complete, dropped_messages)
        self._token_s = token_s
        self._before = before

    def write(self, messages: Sequence[Message], emit: Callable[[str], None], **options: object) -> Written:
        self.asked.append((list(messages), options))
        tokens = self._tokens() if callable(self._tokens) else self._tokens
        try:
            for number, token in enumerate(tokens):
                self._before(number)
                if self._token_s:
                    time.sleep(self._token_s)
                if isinstance(token, Exception):
                    raise token
                self.written += 1
                emit(token)
        finally:
            self.ended.set()
        return self._written


class ScriptedVoice:
    """Speaks a tone of 10 ms for every character and remembers what it was given.

    Attributes:
        said: the texts of all calls, with language, name and speed.
    """

    name = "scripted"

    def __init__(
        self,
        voices: Mapping[str, tuple[str, ...]] | None = None,
        *,
        fails_at: int | None = None,
        error: Exception | None = None,
        speech_s: float = 0.0,
        before: Callable[[int], None] = lambda number: None,
        parts: int = 1,
    ) -> None:
        """Remember the script.

        Args:
            voices: names by language.
            fails_at: number of the call that fails, from 0.
            error: what it fails with.
            speech_s: time a call takes, in seconds.
            before: called before each call, with its number.
            parts: in how many parts a text is spoken.
        """
        self.voices = voices or dict.fromkeys(("en", "fr", "es", "zh", "ja", "ko"), ("anna", "bob"))
        self.said: list[tuple[str, str, str | None, float]] = []
        self._fails_at = fails_at
        self._error = error or RuntimeError("secret words in /secret/path")
        self._speech_s = speech_s
        self._before = before
        self._number_of_parts = parts

    def synthesize(self, text: str, language: str, voice: str | None = None, speed: float = 1.0) -> Speech:
        return join(self.stream(text, language, voice, speed), RATE)

    def stream(self, text: str, language: str, voice: str | None = None, speed: float = 1.0) -> Iterator[Speech]:
        if language not in self.voices:
            raise UnsupportedByModel(f"The scripted voice speaks {', '.join(self.voices)}.")
        if voice is not None and voice not in self.voices[language]:
            raise UnknownVoice(f"There are {', '.join(self.voices[language])}.")
        return self._parts(text, language, voice, speed)

    def _parts(self, text: str, language: str, voice: str | None, speed: float) -> Iterator[Speech]:
        number = len(self.said)
        self.said.append((text, language, voice, speed))
        self._before(number)
        for part in range(self._number_of_parts):
            if self._speech_s:
                time.sleep(self._speech_s / self._number_of_parts)
            if number == self._fails_at and part == self._number_of_parts - 1:
                raise self._error
            count = len(text) * RATE // 100 // self._number_of_parts
            samples = 0.3 * np.sin(2 * np.pi * 200 * np.arange(count) / RATE)
            yield Speech(samples.astype(np.float32), RATE)


def tokens_of(text: str) -> list[str]:
    """A text in tokens as language models write them: words with the space before them, and marks."""
    tokens: list[str] = []
    for character in text:
        if tokens and character.isalpha() and (tokens[-1][-1].isalpha() or tokens[-1] == " "):
            tokens[-1] += character
        else:
            tokens.append(character)
    return tokens
