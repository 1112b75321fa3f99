"""What a language model is told."""

import pytest

from speech_pipeline.reply.language_model import Message
from speech_pipeline.reply.prompts import LANGUAGE_PROMPTS, conversation, plain_prompt


@pytest.mark.parametrize("language", sorted(LANGUAGE_PROMPTS))
def test_instructions_are_in_the_language_of_the_answer(language: str) -> None:
    system, question = conversation("?", language)
    assert system.role == "system"
    assert system.content.endswith(LANGUAGE_PROMPTS[language])
    assert question == Message("user", "?")


def test_other_languages_are_named() -> None:
    assert "Answer in German." in conversation("?", "de")[0].content


def test_instructions_of_the_request_replace_the_usual_ones_and_keep_the_language() -> None:
    assert conversation("?", "fr", system_prompt="Be kind.")[0].content == "Be kind. Réponds en français."


def test_user_and_assistant_take_turns_and_the_user_has_the_last_word() -> None:
    history = [
        *(Message("user", "a"), Message("user", "b"), Message("assistant", "c"), Message("assistant", "d")),
        Message("user", "e"),
    ]
    messages = conversation("f", "en", history=history)[1:]
    assert messages == [Message("user", "a\n\nb"), Message("assistant", "c\n\nd"), Message("user", "e\n\nf")]


def test_plain_prompt_ends_where_the_answer_begins() -> None:
    messages = [Message("system", "Be brief."), Message("user", "a"), Message("assistant", "b"), Message("user", "c")]
    assert plain_prompt(messages) == "Be brief.\n\nUser: a\n\nAssistant: b\n\nUser: c\n\nAssistant:"
