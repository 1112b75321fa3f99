"""Chat models behind an OpenAI-compatible server: OpenAI itself, vLLM, TGI, llama.cpp, Ollama and others."""

from collections.abc import Callable, Sequence
from typing import Any

import openai
from openai.types.chat import ChatCompletionChunk

from speech_pipeline.errors import ReplyFailed, TextTooLong
from speech_pipeline.reply.answer_filter import AnswerFilter
from speech_pipeline.reply.language_model import Message, Written

TIMEOUT_S = 60.0
"""How long the server may be silent, in seconds."""

_REPLACEMENTS = {"max_tokens": "max_completion_tokens", "temperature": None, "seed": None}
"""Options that some models refuse, and what they take instead: OpenAI's reasoning models do."""


class OpenAIServer:
    """A :class:`.language_model.LanguageModel` at a URL, through its route ``/chat/completions``."""

    def __init__(self, base_url: str, model: str, api_key: str | None = None, *, timeout_s: float = TIMEOUT_S) -> None:
        """Remember where the server is; nothing is connected to yet.

        Args:
            base_url: URL up to and with ``/v1``.
            model: name of the model there.
            api_key: sent as bearer token.
            timeout_s: how long the server may be silent, in seconds.
        """
        # The client refuses to work without a key, and would otherwise look for one in the environment.
        self._client = openai.OpenAI(base_url=base_url, api_key=api_key or "none", timeout=timeout_s, max_retries=1)
        self._model = model
        self._refused: set[str] = set()

    def write(
        self,
        messages: Sequence[Message],
        emit: Callable[[str], None],
        *,
        max_tokens: int,
        temperature: float,
        seed: int | None,
    ) -> Written:
        """See :class:`.language_model.LanguageModel`; which messages fit is the server's affair."""
        answer = AnswerFilter()
        options = {"max_tokens": max_tokens, "temperature": temperature, **({} if seed is None else {"seed": seed})}
        finish_reason = None
        try:
            with self._answer(messages, options) as chunks:
                for chunk in chunks:
                    for choice in chunk.choices[:1]:
                        finish_reason = choice.finish_reason or finish_reason
                        emit(answer.feed(choice.delta.content or ""))
        except openai.OpenAIError as error:
            raise _explained(error) from error
        emit(answer.finish())
        if finish_reason is None:
            raise ReplyFailed("The language model's server broke off in the middle of the answer.")
        return Written(complete=finish_reason != "length")

    def _answer(self, messages: Sequence[Message], options: dict[str, float]) -> openai.Stream[ChatCompletionChunk]:
        """Begin an answer, without the options the model is known to refuse."""
        request: dict[str, Any] = {
            "model": self._model,
            "messages": [{"role": message.role, "content": message.content} for message in messages],
        }
        for name, value in options.items():
            if taken := _REPLACEMENTS[name] if name in self._refused else name:
                request[taken] = value
        try:
            stream: openai.Stream[ChatCompletionChunk] = self._client.chat.completions.create(**request, stream=True)
            return stream
        except openai.BadRequestError as error:
            if error.param not in options or error.param in self._refused or "unsupported" not in str(error.code):
                raise
            self._refused.add(error.param)
            return self._answer(messages, options)


def _explained(error: openai.OpenAIError) -> ReplyFailed | TextTooLong:
    """What went wrong, without the server's own words, which may quote the conversation or the key."""
    if isinstance(error, openai.AuthenticationError | openai.PermissionDeniedError):
        return ReplyFailed("The language model's server refused the key; check LM_API_KEY.")
    if isinstance(error, openai.NotFoundError):
        return ReplyFailed("The language model's server knows no such model or route; check LM_MODEL and LM_BASE_URL.")
    if isinstance(error, openai.RateLimitError):
        return ReplyFailed("The language model's server is busy; try again later.")
    if isinstance(error, openai.BadRequestError):
        if error.code == "context_length_exceeded":
            return TextTooLong("The conversation is too long for the language model; send less of its history.")
        return ReplyFailed("The language model's server refused the request.")
    if isinstance(error, openai.APITimeoutError):
        return ReplyFailed("The language model's server did not answer in time.")
    if isinstance(error, openai.APIConnectionError):
        return ReplyFailed("The language model's server cannot be reached; check LM_BASE_URL.")
    return ReplyFailed("The language model's server failed.")
