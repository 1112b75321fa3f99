"""Text or audio: told by what the request says, never by what its content looks like."""

from typing import Any

import pytest

from speech_pipeline.errors import ConflictingParameters, InvalidPayload, InvalidText, SpeechError, TextTooLong
from speech_pipeline.reply.text_request import TextRequest, read_text_request
from speech_pipeline.voices.voice import MAX_TEXT_CHARACTERS


@pytest.mark.parametrize(
    ("inputs", "task", "expected"),
    [
        ("Hello", "answer", TextRequest("Hello", "answer")),
        ("Hello", "speak", TextRequest("Hello", "speak")),
        ({"text": "Hello"}, None, TextRequest("Hello", "answer")),
        ({"text": "Hello", "task": " Speak "}, None, TextRequest("Hello", "speak")),
        ({"text": "Hello", "task": None}, "speak", TextRequest("Hello", "speak")),
        ({"text": "Hello", "task": "answer"}, "answer", TextRequest("Hello", "answer")),
        ("UklGRiQAAABXQVZF", "speak", TextRequest("UklGRiQAAABXQVZF", "speak")),
        (" \n Hel\x00lo\tthere\x1b[0m \x7f", "answer", TextRequest("Hello\tthere[0m", "answer")),
        ("😀", "answer", TextRequest("😀", "answer")),
        ("x" * MAX_TEXT_CHARACTERS, "speak", TextRequest("x" * MAX_TEXT_CHARACTERS, "speak")),
    ],
)
def test_text(inputs: Any, task: str | None, expected: TextRequest) -> None:
    assert read_text_request(inputs, task) == expected


@pytest.mark.parametrize("inputs", ["Hello", b"RIFF", {"array": [0.0]}, {"audio": "AAAA"}, [0.0, 0.1], None, 7])
@pytest.mark.parametrize("task", [None, "transcribe", "translate"])
def test_without_a_task_for_text_it_is_audio(inputs: Any, task: str | None) -> None:
    assert read_text_request(inputs, task) is None


@pytest.mark.parametrize(
    ("inputs", "task", "kind"),
    [
        ("", "answer", InvalidText),
        (" \n\t", "speak", InvalidText),
        ("\x00\x1b\x07", "answer", InvalidText),
        ("\ud800", "answer", InvalidText),
        ({"text": ""}, None, InvalidText),
        ({"text": None}, None, InvalidText),
        ({"text": ["Hello"]}, None, InvalidText),
        (b"Hello", "answer", InvalidText),
        (7, "speak", InvalidText),
        (None, "speak", InvalidText),
        ({"array": [0.0]}, "answer", InvalidText),
        ("x" * 100_000, "answer", TextTooLong),
        ({"text": "x" * 100_000}, None, TextTooLong),
        ({"text": "Hello", "task": "transcribe"}, None, InvalidPayload),
        ({"text": "Hello", "task": 7}, None, InvalidPayload),
        ({"text": "Hello", "array": [0.0]}, None, InvalidPayload),
        ({"text": "Hello", "voice": "anna"}, None, InvalidPayload),
        ({"text": "Hello", "task": "speak"}, "answer", ConflictingParameters),
        ({"text": "Hello"}, "transcribe", ConflictingParameters),
        ({"text": "Hello"}, "translate", ConflictingParameters),
    ],
)
def test_what_is_refused(inputs: Any, task: str | None, kind: type[SpeechError]) -> None:
    with pytest.raises(kind) as raised:
        read_text_request(inputs, task)
    assert "Hello" not in str(raised.value)
    assert len(str(raised.value)) < 200
