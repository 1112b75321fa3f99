"""The recognition stage: windows of speech to segments with words, in batches, through one Whisper model."""

import threading
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor
from transformers import PreTrainedTokenizerBase, WhisperFeatureExtractor, WhisperForConditionalGeneration

from config import InferenceConfig
from speech_pipeline.errors import AssistantUnavailable, OutOfMemory, UnsupportedByModel
from speech_pipeline.languages import language_name
from speech_pipeline.progress import Progress, no_progress
from speech_pipeline.recognition.alignment import read_texts
from speech_pipeline.recognition.assistant import Assistant
from speech_pipeline.recognition.decoding import decode, max_new_tokens
from speech_pipeline.recognition.guards import compression_ratio, is_doubtful, is_silence
from speech_pipeline.recognition.language import first_step, vote, window_language
from speech_pipeline.recognition.segments import split_segments
from speech_pipeline.recognition.vocabulary import Vocabulary
from speech_pipeline.recognition.windows import SAMPLING_RATE, Window
from speech_pipeline.recognition.word_times import time_words
from speech_pipeline.transcript import Segment

VOTERS = 5
"""Windows of a recording that vote on its language, spread evenly over it."""


@dataclass(frozen=True, slots=True)
class Recognition:
    """What was recognised in one window.

    Attributes:
        segments: in order of time; empty where nobody speaks.
        language: code of the language it was decoded in.
        warnings: sentences for the caller.
    """

    segments: tuple[Segment, ...]
    language: str
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Hypothesis:
    """One attempt at the text of a window."""

    tokens: tuple[int, ...]
    text: str
    temperature: float
    average_log_probability: float
    compression_ratio: float
    token_log_probabilities: Tensor
    attention: Tensor | None


@dataclass(slots=True)
class _Row:
    """A window on its way through the stage."""

    window: Window
    config: InferenceConfig
    assisted: bool
    states: Tensor | None = None
    language: str = ""
    no_speech_probability: float = 0.0
    prompt: list[int] = field(default_factory=list)
    best: _Hypothesis | None = None
    doubtful: bool = True


class WhisperRecognizer:
    """Windows to words with a Whisper model of ``transformers``.

    One call runs at a time; calls from several threads wait for each other.
    """

    def __init__(
        self,
        model: WhisperForConditionalGeneration,
        tokenizer: PreTrainedTokenizerBase,
        feature_extractor: WhisperFeatureExtractor,
        assistant: Assistant | None = None,
    ) -> None:
        self._model = model.eval()
        self._vocabulary = Vocabulary(tokenizer, model)
        self._feature_extractor = feature_extractor
        self._assistant = assistant
        self._heads = _alignment_heads(model)
        self._lock = threading.Lock()

    @property
    def languages(self) -> tuple[str, ...]:
        """Codes of the languages the model recognises."""
        return tuple(self._vocabulary.languages) or ("en",)

    @property
    def can_translate(self) -> bool:
        """Whether the model translates to English. Those with a shortened decoder (turbo, distil) were trained without."""
        config = self._model.config
        return self._vocabulary.multilingual and config.decoder_layers == config.encoder_layers

    def check(self, config: InferenceConfig) -> None:
        """Refuse what the model cannot do, before any work.

        Raises:
            AssistantUnavailable: assisted decoding without an assistant.
            UnsupportedByModel: a language or a task the model was not trained for.
        """
        if config.assisted is True and self._assistant is None:
            raise AssistantUnavailable(
                "assisted decoding needs an assistant model and none is loaded; set ASSISTANT_MODEL at deployment, "
                'or leave out assisted (or set it to "auto").'
            )
        if config.language is not None and config.language not in self.languages:
            name = language_name(config.language)
            if not self._vocabulary.multilingual:
                raise UnsupportedByModel(f"the loaded model knows English only, not {name}; load a multilingual one.")
            raise UnsupportedByModel(f"the loaded model does not know {name}.")
        if config.task == "translate" and not self.can_translate:
            raise UnsupportedByModel(
                "the loaded model cannot translate; use task=transcribe, or load a multilingual model with a full "
                "decoder, such as openai/whisper-large-v3."
            )

    def recognize(
        self, items: Sequence[tuple[Window, InferenceConfig]], progress: Progress = no_progress
    ) -> list[Recognition]:
        """Recognise windows of any number of requests, each with its own options.

        Windows that carry the same ``InferenceConfig`` object belong to one recording: they vote on its language
        together. Windows whose options fit together share a batch.

        Args:
            items: (window, options) in any order.
            progress: told the share of windows that are done.

        Returns:
            One recognition a window, in the order of ``items``.

        Raises:
            OutOfMemory: a single window does not fit in memory.
            AssistantUnavailable, UnsupportedByModel: see :meth:`check`.
        """
        for config in {id(config): config for _, config in items}.values():
            self.check(config)
        windows_of = Counter(id(config) for _, config in items)
        rows = [_Row(window, config, self._is_assisted(config, windows_of[id(config)])) for window, config in items]
        warnings: dict[int, tuple[str, ...]] = {}
        done = 0
        with self._lock, torch.inference_mode():
            elected = self._elect_languages(rows)
            for batch in _batches(rows, self._previous_length):
                for part, reduced in self._within_memory(batch, elected):
                    for row in part:
                        warnings[id(row)] = (
                            (f"The batch size was reduced to {len(part)} after running out of memory.",)
                            if reduced
                            else ()
                        )
                    done += len(part)
                    progress("recognition", done / len(rows))
        return [self._recognition(row, warnings[id(row)]) for row in rows]

    def _is_assisted(self, config: InferenceConfig, windows: int) -> bool:
        """``auto`` uses the assistant where it pays: for a request of one window."""
        if config.assisted == "auto":
            return self._assistant is not None and windows == 1 and config.num_beams == 1
        return bool(config.assisted)

    def _elect_languages(self, rows: Sequence[_Row]) -> dict[int, str]:
        """Language of each recording by the id of its options: the one asked for, or the winner of a vote."""
        elected: dict[int, str] = {}
        for key, config in {id(row.config): row.config for row in rows}.items():
            if not self._vocabulary.languages:
                elected[key] = "en"
            elif config.language is not None:
                elected[key] = config.language
        undecided = [row for row in rows if id(row.config) not in elected]
        for key in {id(row.config) for row in undecided}:
            own = [row for row in undecided if id(row.config) == key]
            if len(own) == 1:
                continue
            step = max(1, len(own) // VOTERS)
            ballots = []
            for row in own[::step][:VOTERS]:
                row.states = self._encode([row])
                probabilities, _ = first_step(self._model, self._vocabulary, row.states)
                ballots.append((probabilities[0], row.window.duration))
            elected[key] = vote(ballots)
        return elected

    def _within_memory(
        self, rows: Sequence[_Row], elected: dict[int, str], reduced: bool = False
    ) -> Iterator[tuple[Sequence[_Row], bool]]:
        """Decode a batch, in halves where it does not fit in memory; yields what was decoded together."""
        try:
            self._decode_batch(rows, elected)
        except (torch.OutOfMemoryError, MemoryError, RuntimeError) as error:
            if not _is_out_of_memory(error):
                raise
            if self._model.device.type == "cuda":
                torch.cuda.empty_cache()
            if len(rows) == 1:
                raise OutOfMemory("Not even one window fits in memory; use a smaller model or a larger machine.") from None
        else:
            yield rows, reduced
            return
        middle = len(rows) // 2
        for half in (rows[:middle], rows[middle:]):
            yield from self._within_memory(half, elected, reduced=True)

    def _decode_batch(self, rows: Sequence[_Row], elected: dict[int, str]) -> None:
        states = self._encode(rows)
        languages, silence = first_step(self._model, self._vocabulary, states)
        for row, probabilities, no_speech in zip(rows, languages, silence, strict=True):
            row.no_speech_probability = no_speech
            row.language = elected.get(id(row.config)) or max(probabilities, key=lambda code: probabilities[code])
            if row.config.language is None and probabilities:
                row.language = window_language(probabilities, row.language)
            row.prompt = self._vocabulary.prompt(
                language=row.language, task=row.config.task, previous=_previous_text(row.config)
            )
            row.best, row.doubtful = None, True
        for attempt in range(max(len(row.config.temperature) for row in rows)):
            trying = [i for i, row in enumerate(rows) if row.doubtful and attempt < len(row.config.temperature)]
            for temperature in sorted({rows[i].config.temperature[attempt] for i in trying}):
                chosen = [i for i in trying if rows[i].config.temperature[attempt] == temperature]
                part = states if len(chosen) == len(rows) else states[chosen]
                self._attempt([rows[i] for i in chosen], part, temperature)
        for row in rows:
            row.states = None

    def _attempt(self, rows: Sequence[_Row], states: Tensor, temperature: float) -> None:
        """Decode rows once, judge the texts, and keep each that is better than what its row has."""
        device = states.device
        prompts = torch.tensor([row.prompt for row in rows], device=device)
        assistant = self._assistant if rows[0].assisted else None
        written = decode(
            self._model,
            states,
            prompts,
            max_new_tokens=max_new_tokens(max(row.window.duration for row in rows)),
            temperature=temperature,
            num_beams=rows[0].config.num_beams,
            assistant=assistant.model if assistant else None,
            features=self._features(rows) if assistant and not assistant.shares_encoder else None,
        )
        end = self._vocabulary.end
        longest = max(len(ids) for ids in written) + 1
        texts = torch.tensor([[*ids, *[end] * (longest - len(ids))] for ids in written], device=device)
        forced = read_texts(self._model, states, prompts, texts, self._heads)
        for index, (row, ids) in enumerate(zip(rows, written, strict=True)):
            scores = forced.log_probabilities[index, : len(ids) + 1]
            text = self._vocabulary.decode(ids)
            attention = None if forced.attention is None else forced.attention[index, :, : len(ids) + 1]
            hypothesis = _Hypothesis(
                tuple(ids), text, temperature, float(scores.mean()), compression_ratio(text), scores, attention
            )
            row.doubtful = is_doubtful(
                hypothesis.compression_ratio, row.no_speech_probability, hypothesis.average_log_probability, row.config
            )
            if row.best is None or not row.doubtful or _rank(hypothesis, row) > _rank(row.best, row):
                row.best = hypothesis

    def _recognition(self, row: _Row, warnings: tuple[str, ...]) -> Recognition:
        best = row.best
        assert best is not None
        if is_silence(row.no_speech_probability, best.average_log_probability, row.config):
            return Recognition((), row.language, warnings)
        if row.doubtful:
            warnings = (
                *warnings,
                f"The text from {row.window.start:.1f} s to {row.window.end:.1f} s is doubtful: the model repeats "
                "itself or is unsure.",
            )
        spoken = "en" if row.config.task == "translate" else row.language
        words = time_words(
            self._vocabulary, best.tokens, spoken, row.window, best.attention, best.token_log_probabilities
        )
        segments = tuple(
            Segment(
                text="".join(word.text for word in group),
                start=group[0].start,
                end=group[-1].end,
                words=group,
                language=row.language,
                average_log_probability=best.average_log_probability,
                compression_ratio=best.compression_ratio,
                no_speech_probability=row.no_speech_probability,
                temperature=best.temperature,
                channel=row.window.channel,
            )
            for group in split_segments(words)
        )
        return Recognition(segments, row.language, warnings)

    def _features(self, rows: Sequence[_Row]) -> Tensor:
        """Log-mel features [rows, mel bins, 3000], padded with silence to 30 s."""
        inputs = self._feature_extractor(
            [row.window.samples for row in rows], sampling_rate=SAMPLING_RATE, return_tensors="pt", padding="max_length"
        )
        return inputs.input_features.to(self._model.device, self._model.dtype)

    def _encode(self, rows: Sequence[_Row]) -> Tensor:
        """Encoder output [rows, 1500, width]; a voter's is at hand already."""
        missing = [row for row in rows if row.states is None]
        fresh = self._model.get_encoder()(self._features(missing)).last_hidden_state if missing else None
        if fresh is not None and len(missing) == len(rows):
            return fresh
        following = iter(fresh.split(1) if fresh is not None else ())
        return torch.cat([row.states if row.states is not None else next(following) for row in rows])

    def _previous_length(self, row: _Row) -> int:
        previous = _previous_text(row.config)
        return len(self._vocabulary.prompt(language=self.languages[0], task="transcribe", previous=previous))


def _batches(rows: Iterable[_Row], prompt_length: "callable") -> Iterator[list[_Row]]:
    """Rows that may share a batch, in order; assisted ones go alone."""
    groups: dict[tuple[int, int, int], list[_Row]] = {}
    for row in rows:
        if row.assisted:
            yield [row]
            continue
        key = (row.config.batch_size, row.config.num_beams, prompt_length(row))
        group = groups.setdefault(key, [])
        group.append(row)
        if len(group) == row.config.batch_size:
            yield groups.pop(key)
    yield from groups.values()


def _previous_text(config: InferenceConfig) -> str | None:
    """Hotwords and prompt as text said before the window."""
    return " ".join(filter(None, (config.hotwords, config.prompt))) or None


def _rank(hypothesis: _Hypothesis, row: _Row) -> tuple[bool, float]:
    """What makes one doubtful attempt better than another: no repetition, then the model's own confidence."""
    limit = row.config.compression_ratio_threshold
    return limit is None or hypothesis.compression_ratio <= limit, hypothesis.average_log_probability


def _alignment_heads(model: WhisperForConditionalGeneration) -> list[tuple[int, int]]:
    """The heads that follow the audio; without a list, all heads of the later half of the decoder."""
    heads = getattr(model.generation_config, "alignment_heads", None)
    if heads:
        return [(int(layer), int(head)) for layer, head in heads]
    layers, count = model.config.decoder_layers, model.config.decoder_attention_heads
    return [(layer, head) for layer in range(layers // 2, layers) for head in range(count)]


def _is_out_of_memory(error: BaseException) -> bool:
    """CUDA raises its own type; the CPU allocator raises RuntimeError with a text of its own."""
    return isinstance(error, (torch.OutOfMemoryError, MemoryError)) or "allocate memory" in str(error)
