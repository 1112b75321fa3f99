"""Requests that bring text in place of audio."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from speech_pipeline.errors import ConflictingParameters, InvalidPayload, InvalidText, TextTooLong
from speech_pipeline.parameter_values import kind, lower, plain_text
from speech_pipeline.voices.limits import MAX_TEXT_CHARACTERS

TextTask = Literal["answer", "speak"]

TEXT_TASKS: tuple[TextTask, ...] = ("answer", "speak")


@dataclass(frozen=True, slots=True)
class TextRequest:
    """A text and what to do with it: ``answer`` it, or ``speak`` it as it stands."""

    text: str
    task: TextTask


def read_text_request(inputs: object, task: str | None) -> TextRequest | None:
    """Tell whether a request brings text, by what it says and never by what its content looks like.

    Text is what comes as ``{"text": ...}``, with or without ``"task"`` beside it, and any string that comes with a task
    for texts in the parameters.

    Args:
        inputs: the ``inputs`` of the request.
        task: the task in its parameters; None where they name none.

    Returns:
        None for a request that brings audio.

    Raises:
        ConflictingParameters: the tasks exclude each other.
        InvalidPayload: the object with the text holds something else.
        InvalidText: the text is of a wrong type or empty.
        TextTooLong: it has more than :data:`MAX_TEXT_CHARACTERS`.
    """
    if isinstance(inputs, Mapping) and "text" in inputs:
        return TextRequest(_text(inputs["text"]), _task(inputs, task))
    for known in TEXT_TASKS:
        if task == known:
            return TextRequest(_text(inputs), known)
    return None


def _task(inputs: Mapping[object, object], task: str | None) -> TextTask:
    surplus = [key for key in inputs if key not in ("text", "task")]
    if surplus:
        raise InvalidPayload('inputs with "text" may hold "task" beside it, and nothing else.')
    inner = lower(inputs.get("task"))
    if inner is not None and inner not in TEXT_TASKS:
        raise InvalidPayload('The "task" beside "text" must be "answer" or "speak".')
    if task is not None and task not in TEXT_TASKS:
        raise ConflictingParameters(f"task is {task!r}, which takes audio; inputs are text.")
    if inner is not None and task is not None and inner != task:
        raise ConflictingParameters("The task in inputs and the one in parameters differ; leave out one of the two.")
    return "speak" if "speak" in (inner, task) else "answer"


def _text(value: object) -> str:
    """Text without control characters and without white space at its ends."""
    if not isinstance(value, str):
        raise InvalidText(f"The text must be a string, not {kind(value)}.")
    if len(value) > MAX_TEXT_CHARACTERS:
        raise TextTooLong(f"The text must have at most {MAX_TEXT_CHARACTERS} characters; this one has {len(value)}.")
    try:
        text = plain_text(value)
    except ValueError as error:
        raise InvalidText(f"The text {error}.") from None
    if not text:
        raise InvalidText("The text is empty; send something to answer or to speak.")
    return text
