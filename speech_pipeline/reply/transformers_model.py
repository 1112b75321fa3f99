"""Chat models that run in this process: whatever ``AutoModelForCausalLM`` of transformers loads."""

import copy
from collections.abc import Callable, Sequence
from typing import Any

import torch
from jinja2 import TemplateError
from transformers import (
    GenerationConfig,
    LogitsProcessor,
    LogitsProcessorList,
    PreTrainedModel,
    PreTrainedTokenizerBase,
    TopPLogitsWarper,
)
from transformers.generation.streamers import BaseStreamer

from speech_pipeline.errors import OutOfMemory, TextTooLong
from speech_pipeline.memory import is_out_of_memory, release_cached_memory
from speech_pipeline.reply.answer_filter import REASONING_BEGINS, AnswerFilter
from speech_pipeline.reply.language_model import Message, Written
from speech_pipeline.reply.prompts import PLAIN_STOPS, plain_prompt

TOP_P = 0.95
"""Sampling takes a token from the likeliest ones that have this probability together."""

DEFAULT_CONTEXT = 2048
"""Tokens of prompt and answer together, where the model's configuration does not say."""


class TransformersLanguageModel:
    """A :class:`.language_model.LanguageModel` on transformers.

    Prompts are made by the tokenizer's chat template, or else are plain text with ``User:`` and ``Assistant:``.
    """

    def __init__(self, model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase) -> None:
        """Take over a loaded model and its tokenizer."""
        self._model: Any = model
        self._tokenizer = tokenizer
        self._context = _context(model.config)
        self._generation_config: GenerationConfig = model.generation_config or GenerationConfig()
        end = self._generation_config.eos_token_id
        self._ends = frozenset(end if isinstance(end, list) else [end]) | {tokenizer.eos_token_id}
        added = (str(token) for token in tokenizer.added_tokens_decoder.values() if token.special)
        self._special_tokens = sorted({*tokenizer.all_special_tokens, *added} - {""}, key=len, reverse=True)

    def write(
        self,
        messages: Sequence[Message],
        emit: Callable[[str], None],
        *,
        max_tokens: int,
        temperature: float,
        seed: int | None,
    ) -> Written:
        """See :class:`.language_model.LanguageModel`."""
        prompt, kept = self._fitting(messages, max_tokens)
        ids = self._encoded(prompt)
        stops = () if self._tokenizer.chat_template else PLAIN_STOPS
        stream = _Stream(
            self._tokenizer, AnswerFilter(stops, reasoning=prompt.rstrip().endswith(REASONING_BEGINS)), emit
        )
        config = copy.deepcopy(self._generation_config)
        config.update(
            do_sample=False, num_beams=1, temperature=None, top_p=None, top_k=None, max_length=None,
            max_new_tokens=min(max_tokens, self._context - ids.shape[1]),
            pad_token_id=config.pad_token_id if config.pad_token_id is not None else self._tokenizer.eos_token_id,
        )  # fmt: skip
        processors = [_Sampler(temperature, seed, self._model.device)] if temperature > 0 else []
        try:
            with torch.inference_mode():
                self._model.generate(
                    input_ids=ids,
                    attention_mask=torch.ones_like(ids),
                    generation_config=config,
                    logits_processor=LogitsProcessorList(processors),
                    streamer=stream,
                )
        except _Stopped:
            pass
        except (RuntimeError, MemoryError) as error:
            if not is_out_of_memory(error):
                raise
            release_cached_memory()
            raise OutOfMemory("The conversation does not fit in memory; send less of its history.") from error
        complete = stream.stopped or stream.last_token in self._ends
        return Written(complete=complete, dropped_messages=len(messages) - kept)

    def _fitting(self, messages: Sequence[Message], max_tokens: int) -> tuple[str, int]:
        """The prompt, without the oldest messages if they are too many, and the number of messages in it."""
        room = self._context - min(max_tokens, self._context // 2)
        system, turns = [m for m in messages if m.role == "system"], [m for m in messages if m.role != "system"]
        while True:
            prompt = self._prompt([*system, *turns])
            if self._encoded(prompt).shape[1] <= room:
                return prompt, len(system) + len(turns)
            if len(turns) < 3:
                raise TextTooLong("The text is too long for the language model; send a shorter one.")
            turns = turns[2 if turns[0].role == "user" else 1 :]

    def _prompt(self, messages: Sequence[Message]) -> str:
        clean = [Message(message.role, self._without_special_tokens(message.content)) for message in messages]
        if not self._tokenizer.chat_template:
            return plain_prompt(clean)
        try:
            return self._from_template(clean)
        except TemplateError:  # some templates refuse the role "system", or want the user to begin
            system, *turns = clean
            if system.role != "system":
                raise
            if turns[0].role == "user":
                turns = [Message("user", f"{system.content}\n\n{turns[0].content}"), *turns[1:]]
            else:
                turns = [Message("user", system.content), *turns]
            return self._from_template(turns)

    def _from_template(self, messages: Sequence[Message]) -> str:
        return str(
            self._tokenizer.apply_chat_template(
                [{"role": message.role, "content": message.content} for message in messages],
                tokenize=False,
                add_generation_prompt=True,
                enable_thinking=False,  # templates of reasoning models that can do without look for it
            )
        )

    def _encoded(self, prompt: str) -> torch.Tensor:
        """Token ids int64 [1, n]. A chat template writes the special tokens itself."""
        templated = bool(self._tokenizer.chat_template)
        ids = self._tokenizer(prompt, return_tensors="pt", add_special_tokens=not templated, verbose=False)["input_ids"]
        return torch.as_tensor(ids).to(self._model.device)

    def _without_special_tokens(self, text: str) -> str:
        """A caller's text must not end its own message."""
        for token in self._special_tokens:
            text = text.replace(token, " ")
        return text


class _Stopped(Exception):
    """A stop string was written; ends ``generate``."""


class _Stream(BaseStreamer):
    """Hands the answer on while ``generate`` writes it."""

    def __init__(self, tokenizer: PreTrainedTokenizerBase, answer: AnswerFilter, emit: Callable[[str], None]) -> None:
        self.last_token: int | None = None
        self._tokenizer = tokenizer
        self._answer = answer
        self._emit = emit
        self._tokens: list[int] = []
        self._known = self._read = 0
        self._prompt_seen = False

    @property
    def stopped(self) -> bool:
        return self._answer.stopped

    def put(self, value: torch.Tensor) -> None:
        """Called by ``generate`` with the prompt first, then with every token."""
        if not self._prompt_seen:
            self._prompt_seen = True
            return
        self.last_token = int(value.reshape(-1)[0])
        self._tokens.append(self.last_token)
        self._emit(self._answer.feed(self._new_text()))
        if self.stopped:
            raise _Stopped

    def end(self) -> None:
        self._emit(self._answer.finish())

    def _new_text(self) -> str:
        """What the last tokens add: text of a token depends on the one before it, and some are part of a character."""
        known = self._decoded(self._tokens[self._known : self._read])
        text = self._decoded(self._tokens[self._known :])
        if text.endswith("\ufffd"):
            return ""
        self._known, self._read = self._read, len(self._tokens)
        return text[len(known) :]

    def _decoded(self, tokens: list[int]) -> str:
        return str(self._tokenizer.decode(tokens, skip_special_tokens=True, clean_up_tokenization_spaces=False))


class _Sampler(LogitsProcessor):
    """Samples by the Gumbel-max trick: the likeliest token once noise is added, which a seed of its own makes.

    What ``generate`` samples comes from the random numbers that the whole process shares.
    """

    def __init__(self, temperature: float, seed: int | None, device: torch.device) -> None:
        self._temperature = temperature
        self._warper: Any = TopPLogitsWarper(TOP_P)
        self._generator = torch.Generator(device)
        if seed is None:
            self._generator.seed()
        else:
            self._generator.manual_seed(seed)

    def __call__(self, input_ids: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
        """Scores float [1, vocabulary] to noisy ones whose largest is the sample."""
        scores = self._warper(input_ids, scores.float() / self._temperature)
        return scores - torch.empty_like(scores).exponential_(generator=self._generator).log()


def _context(config: Any) -> int:
    text_config = config.get_text_config()
    for name in ("max_position_embeddings", "n_positions", "max_seq_len", "seq_length"):
        length = getattr(text_config, name, None)
        if isinstance(length, int) and length > 0:
            return length
    return DEFAULT_CONTEXT
