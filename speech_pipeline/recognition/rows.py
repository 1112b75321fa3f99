"""Windows on their way through a recogniser, and which of them may share a batch."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from torch import Tensor

from config import InferenceConfig
from speech_pipeline.recognition.alignment import Reading
from speech_pipeline.recognition.windows import Window


@dataclass(frozen=True, slots=True)
class Hypothesis:
    """One attempt at the text of a window.

    Attributes:
        tokens: token ids without the end token.
        complete: whether the model ended the text; if not, it was cut at the most tokens allowed.
        temperature: sampling temperature; 0 is greedy or beam search.
        average_log_probability: natural logarithm, mean over the tokens and the end token.
        compression_ratio: bytes of the text divided by their size after zlib.
        reading: what the model says about the text.
    """

    tokens: tuple[int, ...]
    complete: bool
    temperature: float
    average_log_probability: float
    compression_ratio: float
    reading: Reading


@dataclass(slots=True)
class Row:
    """A window, what is asked of it, and what is known about it so far.

    Attributes:
        window: what is heard.
        config: options of its request; windows of one recording carry the same object.
        previous: token ids of hotwords and prompt, empty without.
        assisted: whether the assistant proposes tokens.
        states: encoder output [1, 1500, width], where it was computed ahead of the batch.
        elected: code of the language of its recording, where that is known.
        language: code of the language it is decoded in.
        no_speech_probability: of the decoder's first step.
        best: the best attempt so far.
        doubtful: whether no attempt has passed the guards yet.
        parts: the rows that are decoded for it: itself, or one for each language of its window; empty until known.
    """

    window: Window
    config: InferenceConfig
    previous: list[int] = field(default_factory=list)
    assisted: bool = False
    states: Tensor | None = None
    elected: str | None = None
    language: str = ""
    no_speech_probability: float = 0.0
    best: Hypothesis | None = None
    doubtful: bool = True
    parts: tuple["Row", ...] = ()


def batches(rows: Iterable[Row]) -> Iterator[list[Row]]:
    """Group rows whose options fit together into batches of their ``batch_size``; assisted ones go alone.

    Languages, tasks, temperatures and guards may differ within a batch; the number of prompt tokens may not.
    """
    groups: dict[tuple[int, int, int], list[Row]] = {}
    for row in rows:
        if row.assisted:
            yield [row]
            continue
        key = (row.config.batch_size, row.config.num_beams, len(row.previous))
        group = groups.setdefault(key, [])
        group.append(row)
        if len(group) == row.config.batch_size:
            yield groups.pop(key)
    yield from groups.values()
