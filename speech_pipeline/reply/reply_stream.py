"""One answer in the making: the text is written in one thread while its finished sentences are spoken in another."""

import logging
import threading
import time
from collections.abc import Callable, Generator, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from queue import Empty, Queue

import numpy as np

from speech_pipeline.error_log import log_error
from speech_pipeline.errors import ReplyFailed, SpeechError, SynthesisFailed
from speech_pipeline.punctuation import ends_sentence
from speech_pipeline.reply.head_start import HeadStart
from speech_pipeline.reply.language_model import Written
from speech_pipeline.reply.sentences import SentenceSplitter
from speech_pipeline.reply.spoken_text import SpokenText
from speech_pipeline.voices.voice import SENTENCE_PAUSE_S, Speech, Voice

logger = logging.getLogger(__name__)

Source = Callable[[Callable[[str], None]], Written]
"""``source(emit)``: writes a text and hands it to ``emit`` as it comes; see :class:`.language_model.LanguageModel`."""

MAX_WAITING_PIECES = 8
"""How many pieces the text may be ahead of the voice; then its writer waits."""

PATIENCE_S = 0.02
"""How long the first piece, spoken already, waits for the token that makes it certain, in seconds."""

CLAUSE_PAUSE_S = 0.1
"""Silence after a piece that ends in the middle of a sentence, in seconds."""


@dataclass(frozen=True, slots=True)
class SpokenPiece:
    """A piece of the answer.

    Attributes:
        text: the piece as it was written, with its white space; empty for all but the first part of its speech.
        speech: the piece, or the next part of it, spoken, with the pause before it; None where nothing is to be heard.
    """

    text: str
    speech: Speech | None


@dataclass(frozen=True, slots=True)
class _Guess:
    """What the first piece is likely to be. The next token will tell, which takes a slow model a while."""

    text: str


class ReplyStream:
    """Writes and speaks one answer. Iterate over it once; leave the loop, or call :meth:`cancel`, to end it early.

    Failures raise nothing: what was written and spoken before them stays.

    Attributes:
        language: code of the language it is in.
        failure: the first thing that failed, or None.
        warnings: sentences about what is missing; those about failures begin with their code in brackets.
        complete: whether everything was written and spoken; valid once the iteration is over.
        timings: seconds from the start of the iteration to ``first_token``, ``first_sentence`` (cut off and handed to
            the voice), ``first_audio`` and ``total``, and those spent on ``synthesis``.
    """

    def __init__(
        self, source: Source, voice: Voice, *, language: str, voice_name: str | None = None, speed: float = 1.0
    ) -> None:
        """Prepare; nothing runs before the iteration begins.

        Args:
            source: writes the text.
            voice: speaks it.
            language: code of its language.
            voice_name: one of the voice's names for this language.
            speed: 1 is the voice's own pace.
        """
        self.language = language
        self.failure: SpeechError | None = None
        self.warnings: list[str] = []
        self.complete = True
        self.timings: dict[str, float] = {}
        self._source = source
        self._voice = HeadStart(lambda text: voice.stream(text, language, voice_name, speed))
        self._speed = speed
        self._parts: list[str] = []
        self._splitter = SentenceSplitter(language)
        self._splitting = threading.Lock()
        self._spoken_text = SpokenText(language)
        self._waiting: Queue[str | _Guess | None] = Queue(MAX_WAITING_PIECES)
        self._guessed = ""
        self._cancelled = threading.Event()
        self._speaks = True
        self._pause_s = 0.0
        self._started = 0.0

    @property
    def text(self) -> str:
        """What has been written so far."""
        return "".join(self._parts).strip()

    def __iter__(self) -> Generator[SpokenPiece, None, None]:
        self._started = time.perf_counter()
        threading.Thread(target=self._write, name="reply", daemon=True).start()
        ended = False
        try:
            for piece in self._pieces():
                yield from self._spoken(piece)
            ended = not self._cancelled.is_set()
        finally:
            self.complete = self.complete and ended
            self.cancel()
            self.timings["total"] = self._seconds()

    def cancel(self) -> None:
        """End the answer: nothing more is written after the current token. Harmless when it is over."""
        self._cancelled.set()
        while True:  # the writer may be waiting for room
            try:
                self._waiting.get_nowait()
            except Empty:
                break
        self._waiting.put(None)

    def _pieces(self) -> Iterator[str]:
        """The pieces to be spoken, until the writer has ended."""
        guess = ""
        while True:
            try:
                piece = self._waiting.get(timeout=PATIENCE_S if guess else None)
            except Empty:
                piece = self._cut_at(guess)
            guess = ""
            if piece is None:
                return
            if isinstance(piece, str):
                if piece:
                    yield piece
            elif self._waiting.empty():
                self._prepare(piece.text)
                guess = piece.text

    def _cut_at(self, guess: str) -> str:
        """The first piece as it was guessed, which is heard now, unless it has gone on meanwhile."""
        with self._splitting:
            piece = self._splitter.cut_at(guess)
        if piece:
            self.timings.setdefault("first_sentence", self._seconds())
        return piece

    def _write(self) -> None:
        """The writer's thread."""
        try:
            written = self._source(self._take)
            if not written.complete:
                self._miss("The answer was cut off at max_reply_tokens; a larger value lets it go on.")
            if written.dropped_messages:
                self.warnings.append(f"The oldest {written.dropped_messages} messages did not fit and were left out.")
        except _Cancelled:
            pass
        except SpeechError as error:
            self._fail(error)
        except Exception as error:
            # Models and servers of all kinds fail in ways of their own; what they wrote so far is worth keeping.
            failure = ReplyFailed("The language model failed for a reason that is not in the request.")
            failure.__cause__ = error
            self._fail(failure)
        with self._splitting:
            rest = self._splitter.finish()
        with suppress(_Cancelled):
            for piece in rest:
                self._put(piece)
        self._waiting.put(None)

    def _take(self, text: str) -> None:
        """The next text of the writer."""
        if self._cancelled.is_set():
            raise _Cancelled
        text = text.encode("utf-8", "replace").decode()
        if not text:
            return
        self.timings.setdefault("first_token", self._seconds())
        self._parts.append(text)
        # Pieces are handed over outside the lock: there may be no room for them until the one who needs it reads on.
        with self._splitting:
            pieces = self._splitter.feed(text)
            likely = self._splitter.likely() if not pieces and "first_sentence" not in self.timings else ""
        for piece in pieces:
            self._put(piece)
        if likely not in ("", self._guessed):
            self._guessed = likely
            self._waiting.put(_Guess(likely))

    def _put(self, piece: str) -> None:
        if self._cancelled.is_set():
            raise _Cancelled
        self.timings.setdefault("first_sentence", self._seconds())
        self._waiting.put(piece)

    def _prepare(self, piece: str) -> None:
        """Begin to speak the first piece before it is certain."""
        if text := SpokenText(self.language).say(piece):
            started = time.perf_counter()
            self._voice.guess(text)
            self._count_synthesis(started)

    def _spoken(self, piece: str) -> Iterator[SpokenPiece]:
        """A piece with its speech; without, where there is nothing to say or the voice has failed."""
        text = self._spoken_text.say(piece) if self._speaks else ""
        said = False
        if text:
            for speech in self._speeches(text):
                yield SpokenPiece("" if said else piece, self._after_a_pause(speech) if not said else speech)
                said = True
        if not said:
            yield SpokenPiece(piece, None)
        elif text:
            self._pause_s = (SENTENCE_PAUSE_S if ends_sentence(text) else CLAUSE_PAUSE_S) / self._speed

    def _speeches(self, text: str) -> Iterator[Speech]:
        started = time.perf_counter()
        try:
            for speech in self._voice.stream(text):
                self._count_synthesis(started)
                if len(speech.samples):
                    self.timings.setdefault("first_audio", self._seconds())
                    self.warnings += [warning for warning in speech.warnings if warning not in self.warnings]
                    yield speech
                started = time.perf_counter()
            self._count_synthesis(started)
        except SpeechError as error:
            self._speaks = False
            self._fail(error)
        except Exception as error:
            # Engines of all kinds fail in ways of their own; the text is worth keeping.
            self._speaks = False
            failure = SynthesisFailed("The voice failed for a reason that is not in the request.")
            failure.__cause__ = error
            self._fail(failure)

    def _after_a_pause(self, speech: Speech) -> Speech:
        pause = np.zeros(round(self._pause_s * speech.sampling_rate), np.float32)
        return replace(speech, samples=np.concatenate([pause, speech.samples]))

    def _count_synthesis(self, started: float) -> None:
        self.timings["synthesis"] = self.timings.get("synthesis", 0.0) + time.perf_counter() - started

    def _fail(self, error: SpeechError) -> None:
        if error.http_status >= 500:
            log_error(logger, error)
        self.failure = self.failure or error
        self._miss(str(error))

    def _miss(self, warning: str) -> None:
        self.complete = False
        self.warnings.append(warning)

    def _seconds(self) -> float:
        return time.perf_counter() - self._started


class _Cancelled(Exception):
    """Ends the writing of an answer that nobody waits for any more."""
