"""The systems that are measured: their names, what they do, and what one of them is once it is loaded."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import Literal, Protocol

import numpy as np
from numpy.typing import NDArray

Task = Literal["recognition", "words", "diarization", "all"]
"""Text; text with word times; speaker turns; text with word times and speakers."""

Samples = NDArray[np.float32]
"""Mono, 16 000 Hz, full scale 1."""


@dataclass(frozen=True, slots=True)
class Options:
    """What every system is given.

    Attributes:
        whisper: folder of a Whisper model in the format of transformers; this repository's system also takes a hub id.
        language: code of the spoken language.
        threads: number of threads to compute with.
        diarization: folder of a pyannote.audio pipeline; empty where none is to be measured.
        ctranslate2: folder of the same Whisper weights for CTranslate2; empty where they were not converted.
        openai: file of the same weights for openai-whisper; the same.
        device: where this repository's system computes; the others compute on the CPU.
    """

    whisper: str
    language: str
    threads: int
    diarization: str = ""
    ctranslate2: str = ""
    openai: str = ""
    device: str = "cpu"


@dataclass(frozen=True, slots=True)
class Output:
    """What a system made of a recording.

    Attributes:
        text: everything that was said; empty for diarization alone.
        turns: speaker, start and end in seconds; empty without diarization.
        timings: seconds spent by stage, where the system tells.
    """

    text: str = ""
    turns: tuple[tuple[str, float, float], ...] = ()
    timings: Mapping[str, float] = field(default_factory=dict)


class System(Protocol):
    """A loaded system."""

    def prepare(self, samples: Samples) -> None:
        """Do once, untimed, what is done only once in a long-lived process, and settle choices such as a batch size."""

    def run(self, samples: Samples) -> Output:
        """Work on one recording; this is what is timed."""


@dataclass(frozen=True, slots=True)
class Contender:
    """A system that can be measured.

    Attributes:
        name: what it is called in results.
        task: what it does; systems are compared with others of the same task.
        loader: ``module:function`` that takes :class:`Options` and returns a :class:`System`.
        package: the package that is measured; None for this one.
    """

    name: str
    task: Task
    loader: str
    package: str | None = None

    def load(self, options: Options) -> System:
        """Import what is needed and load the models.

        Raises:
            ImportError: the package, or one it needs, is not installed.
        """
        module, _, function = self.loader.partition(":")
        make: Callable[[Options], System] = getattr(import_module(f"{__package__}.{module}"), function)
        return make(options)


CONTENDERS: tuple[Contender, ...] = (
    Contender("speech_pipeline", "recognition", "own:recognition"),
    Contender("faster-whisper batched int8", "recognition", "faster_whisper_peer:batched_int8", "faster-whisper"),
    Contender("faster-whisper batched fp32", "recognition", "faster_whisper_peer:batched_fp32", "faster-whisper"),
    Contender("faster-whisper sequential int8", "recognition", "faster_whisper_peer:sequential_int8", "faster-whisper"),
    Contender("faster-whisper sequential fp32", "recognition", "faster_whisper_peer:sequential_fp32", "faster-whisper"),
    Contender("openai-whisper", "recognition", "torch_peers:openai_whisper", "openai-whisper"),
    Contender("public handler's method", "recognition", "torch_peers:public_handler", "transformers"),
    Contender("speech_pipeline words", "words", "own:words"),
    Contender("faster-whisper batched int8 words", "words", "faster_whisper_peer:batched_int8_words", "faster-whisper"),
    Contender("speech_pipeline diarization", "diarization", "own:diarization"),
    Contender("pyannote", "diarization", "diarization_peers:pyannote", "pyannote.audio"),
    Contender("WhisperX diarization", "diarization", "diarization_peers:whisperx", "whisperx"),
    Contender("Senko", "diarization", "diarization_peers:senko", "senko"),
    Contender("speech_pipeline words and speakers", "all", "own:words_and_speakers"),
)
"""In the order of the tables. The first of each task is this repository's."""


def contender(name: str) -> Contender:
    """The contender of a name.

    Raises:
        KeyError: there is none.
    """
    return {contender.name: contender for contender in CONTENDERS}[name]
