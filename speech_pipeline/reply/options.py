"""What one request asks of the reply: the part of ``config.InferenceConfig`` that is about answers and voices."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field

from speech_pipeline.parameter_values import language_or_auto, lower, number, plain_text
from speech_pipeline.reply.language_model import Message
from speech_pipeline.voices.limits import MAX_SPEED, MAX_TEXT_CHARACTERS, MIN_SPEED

MAX_MESSAGES = 200
"""The longest history of a request."""


def _messages(value: Any) -> tuple[Message, ...]:
    """The history of a conversation, from a list of objects with a role and a content."""
    if not isinstance(value, (list, tuple)):
        raise ValueError('must be a list such as [{"role": "user", "content": "Hello"}]')
    if len(value) > MAX_MESSAGES:
        raise ValueError(f"must have at most {MAX_MESSAGES} messages")
    messages = tuple(_message(number, item) for number, item in enumerate(value, start=1))
    if sum(len(message.content) for message in messages) > MAX_TEXT_CHARACTERS:
        raise ValueError(f"must have at most {MAX_TEXT_CHARACTERS} characters in all")
    return messages


def _message(number: int, item: Any) -> Message:
    if isinstance(item, Message):
        return item
    if not isinstance(item, Mapping):
        raise ValueError(f'number {number} must be an object with "role" and "content"')
    role, content = lower(item.get("role")), item.get("content")
    if role not in ("user", "assistant"):
        raise ValueError(f'number {number} must have the role "user" or "assistant"; system_prompt is for instructions')
    content = plain_text(content) if isinstance(content, str) else None
    if content is None:
        raise ValueError(f"number {number} must have a content, as text that is not empty")
    return Message(role, content)


class ReplyOptions(BaseModel):
    """The answer and the voice a request asks for."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    reply: Annotated[bool, BeforeValidator(lower)] = False
    system_prompt: Annotated[str | None, AfterValidator(plain_text)] = Field(
        default=None, max_length=MAX_TEXT_CHARACTERS
    )
    messages: Annotated[tuple[Message, ...], BeforeValidator(_messages)] = ()
    reply_language: Annotated[str | None, BeforeValidator(language_or_auto)] = None
    max_reply_tokens: Annotated[int, BeforeValidator(number)] = Field(default=256, ge=1, le=4096)
    reply_temperature: Annotated[float, BeforeValidator(number)] = Field(default=0.0, ge=0, le=2)
    seed: Annotated[int | None, BeforeValidator(number)] = Field(default=None, ge=0, lt=2**63)
    voice: Annotated[str | None, AfterValidator(plain_text)] = Field(default=None, max_length=100)
    speed: Annotated[float, BeforeValidator(number)] = Field(default=1.0, ge=MIN_SPEED, le=MAX_SPEED)
    audio_format: Annotated[Literal["wav", "flac", "mp3", "opus"], BeforeValidator(lower)] = "wav"

    @property
    def reply_options_given(self) -> tuple[str, ...]:
        """Names of the options, other than ``reply``, that the request sets."""
        return tuple(name for name in ReplyOptions.model_fields if name in self.model_fields_set and name != "reply")
