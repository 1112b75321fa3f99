"""What a language model is told before it answers, in the language it is to answer in."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from speech_pipeline.languages import language_name
from speech_pipeline.reply.language_model import Message

SYSTEM_PROMPTS: Mapping[str, str] = MappingProxyType(
    {
        "en": "You are a voice assistant. Answer in one to three short sentences that are easy to listen to. "
        "Use plain words; no lists, no Markdown, no emoji.",
        "fr": "Tu es un assistant vocal. Réponds en une à trois phrases courtes et faciles à écouter. "
        "Utilise des mots simples, sans listes, sans Markdown et sans émojis.",
        "es": "Eres un asistente de voz. Responde con una a tres frases cortas y fáciles de escuchar. "
        "Usa palabras sencillas, sin listas, sin Markdown y sin emojis.",
        "zh": "你是语音助手。请用一到三句简短易懂的话回答。用词要简单，不要列表，不要 Markdown，不要表情符号。",
        "ja": "あなたは音声アシスタントです。聞き取りやすい短い文を一つから三つで答えてください。"
        "やさしい言葉を使い、箇条書き、Markdown、絵文字は使わないでください。",
        "ko": "당신은 음성 비서입니다. 듣기 쉬운 짧은 문장 한 개에서 세 개로 대답하세요. "
        "쉬운 말을 쓰고 목록, 마크다운, 이모지는 쓰지 마세요.",
    }
)
"""Small models answer in the language they are spoken to in, more than in the one they are told to use."""

LANGUAGE_PROMPTS: Mapping[str, str] = MappingProxyType(
    {
        "en": "Answer in English.",
        "fr": "Réponds en français.",
        "es": "Responde en español.",
        "zh": "请用中文回答。",
        "ja": "日本語で答えてください。",
        "ko": "한국어로 대답하세요.",
    }
)


def conversation(
    question: str, language: str, *, history: Sequence[Message] = (), system_prompt: str | None = None
) -> list[Message]:
    """The messages a language model is given.

    Args:
        question: what the user says now.
        language: code of the language of the answer.
        history: what was said before.
        system_prompt: instructions in place of those for a voice assistant; the language of the answer is added.

    Returns:
        A system message, then messages of user and assistant in turn, the user's last; neighbours of one role are
        joined, since many chat templates insist on it.
    """
    instructions = system_prompt or SYSTEM_PROMPTS.get(language, SYSTEM_PROMPTS["en"])
    in_language = LANGUAGE_PROMPTS.get(language) or f"Answer in {language_name(language).title()}."
    messages = [Message("system", f"{instructions} {in_language}")]
    for message in (*history, Message("user", question)):
        previous = messages[-1]
        if previous.role == message.role:
            messages[-1] = Message(message.role, f"{previous.content}\n\n{message.content}")
        else:
            messages.append(message)
    return messages


def plain_prompt(messages: Sequence[Message]) -> str:
    """A conversation as text, for models without a chat template, up to the point where the answer begins."""
    names = {"user": USER, "assistant": ASSISTANT}
    parts = [f"{names[m.role]} {m.content}" if m.role in names else m.content for m in messages]
    return "\n\n".join([*parts, ASSISTANT])


USER, ASSISTANT = "User:", "Assistant:"

PLAIN_STOPS = (f"\n{USER}", f"\n{ASSISTANT}")
"""Where an answer to :func:`plain_prompt` is over; models without a chat template go on with the user's part."""
