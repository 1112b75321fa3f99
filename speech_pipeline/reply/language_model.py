"""What every language model does, wherever it runs: a conversation in, text out token by token."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol


@dataclass(frozen=True, slots=True)
class Message:
    """One message of a conversation.

    Attributes:
        role: who says it; ``system`` says how to answer.
        content: the text.
    """

    role: Literal["system", "user", "assistant"]
    content: str


@dataclass(frozen=True, slots=True)
class Written:
    """What is known about an answer once it has been written.

    Attributes:
        complete: whether the model came to an end by itself; False where the largest number of tokens was reached.
        dropped_messages: how many of the oldest messages were left out because they did not fit.
    """

    complete: bool
    dropped_messages: int = 0


class LanguageModel(Protocol):
    """Writes answers. Safe to call from several threads at once."""

    def write(
        self,
        messages: Sequence[Message],
        emit: Callable[[str], None],
        *,
        max_tokens: int,
        temperature: float,
        seed: int | None,
    ) -> Written:
        """Write the next message of a conversation.

        Args:
            messages: one ``system`` message at most, which is the first; then ``user`` and ``assistant`` by turns, and
                ``user`` has the last word.
            emit: called after every token with the text that has become certain, which may be none. What it raises
                ends the writing and is passed on: that is how an answer is cancelled.
            max_tokens: the longest answer, in tokens.
            temperature: of sampling; 0 takes the likeliest token each time.
            seed: makes sampling repeatable; None: different each time.

        Raises:
            TextTooLong: the last message does not fit.
            ReplyFailed: the model failed or cannot be reached.
            OutOfMemory: the conversation does not fit in memory.
        """
        ...
