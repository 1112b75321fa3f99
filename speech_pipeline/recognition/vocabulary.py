"""The special tokens of a Whisper model, and the prompts made of them."""

from collections.abc import Sequence

from transformers import PreTrainedTokenizerBase, WhisperForConditionalGeneration

from speech_pipeline.languages import language_codes

MAX_PROMPT_TOKENS = 223
"""Previous text takes at most half of the decoder's 448 positions, less one for its start token."""


class Vocabulary:
    """Special tokens of one model, looked up by their text so that fine-tuned models without a full generation
    config work too.

    Attributes:
        start: ``<|startoftranscript|>``.
        end: ``<|endoftext|>``; every id from it on is special.
        no_timestamps: ``<|notimestamps|>``.
        no_speech: ``<|nospeech|>`` or ``<|nocaptions|>``, None when the model has neither.
        multilingual: whether prompts carry a language and a task.
        languages: language token id by language code; empty for an English-only model.
    """

    def __init__(self, tokenizer: PreTrainedTokenizerBase, model: WhisperForConditionalGeneration) -> None:
        self._tokenizer = tokenizer
        self._known = tokenizer.get_vocab()
        self.start = self._known["<|startoftranscript|>"]
        self.end = self._known["<|endoftext|>"]
        self.no_timestamps = self._known["<|notimestamps|>"]
        self.no_speech = self._known.get("<|nospeech|>", self._known.get("<|nocaptions|>"))
        self._previous = self._known.get("<|startofprev|>")
        self.multilingual = bool(getattr(model.generation_config, "is_multilingual", model.config.vocab_size > 51_864))
        self.languages = {
            code: self._known[f"<|{code}|>"]
            for code in (language_codes() if self.multilingual else ())
            if f"<|{code}|>" in self._known
        }

    def prompt(self, *, language: str, task: str) -> list[int]:
        """Token ids the decoder starts from, for text without timestamps.

        Args:
            language: code of the spoken language; unused by an English-only model.
            task: ``transcribe`` or ``translate``; always part of the prompt, since multilingual models go astray
                without it.
        """
        if not self.multilingual:
            return [self.start, self.no_timestamps]
        return [self.start, self.languages[language], self._known[f"<|{task}|>"], self.no_timestamps]

    def previous(self, *texts: str | None) -> list[int]:
        """Token ids that make the model take texts for what was said before; they go before :meth:`prompt`.

        There is room for 223 tokens. Where the texts take more, the later ones lose their beginning.
        """
        kept: list[int] = []
        for text in texts:
            if self._previous is None or text is None or not text.strip():
                continue
            ids = self._tokenizer.encode(f" {text.strip()}", add_special_tokens=False)
            # Text that spells a special token must not act as one.
            ordinary = [i for i in ids if i < self.end]
            kept += ordinary[max(0, len(ordinary) + len(kept) - MAX_PROMPT_TOKENS) :]
        return [self._previous, *kept] if self._previous is not None and kept else []

    def decode(self, ids: Sequence[int]) -> str:
        """Text of the ordinary tokens among ``ids``."""
        return self._tokenizer.decode(
            [i for i in ids if i < self.end], skip_special_tokens=True, clean_up_tokenization_spaces=False
        )
