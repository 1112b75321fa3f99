"""Who speaks when: a waveform in, speaker turns out, by a pyannote.audio pipeline of version 3 or 4."""

import contextlib
import re
import sys
import threading
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray

from speech_pipeline.audio.waveform import SAMPLING_RATE
from speech_pipeline.errors import DiarizationFailed, OutOfMemory, SpeechError, UnsupportedByModel
from speech_pipeline.memory import is_out_of_memory, release_cached_memory
from speech_pipeline.progress import Progress, no_progress
from speech_pipeline.transcript import Diarization, SpeakerTurn

if TYPE_CHECKING:
    from pyannote.audio import Pipeline
    from pyannote.core import Annotation

    from speech_pipeline.diarization_fast import FastPipeline

PROGRESS_SHARES = {"segmentation": (0.0, 0.2), "embeddings": (0.2, 0.95)}
"""What part of the whole each step takes, from and to, unless a pipeline says so itself; the rest is clustering."""


class Diarizer:
    """The diarization stage.

    Calls of all instances run one after another: pyannote changes settings of the whole process while it works.
    """

    _lock = threading.Lock()

    def __init__(self, pipeline: "Pipeline | FastPipeline") -> None:
        self._pipeline = pipeline

    def check(self, num_speakers: int | None) -> None:
        """Refuse what the model cannot do, before any work.

        Raises:
            UnsupportedByModel: the pipeline cannot count speakers itself and ``num_speakers`` is not given.
        """
        clustering = getattr(self._pipeline, "clustering", None)
        if num_speakers is None and getattr(clustering, "expects_num_clusters", False):
            raise UnsupportedByModel("The loaded diarization model cannot count speakers itself; set num_speakers.")

    def diarize(
        self,
        samples: NDArray[np.float32],
        *,
        num_speakers: int | None = None,
        min_speakers: int | None = None,
        max_speakers: int | None = None,
        progress: Progress = no_progress,
    ) -> Diarization:
        """Find the speaker turns of a recording.

        Speakers are named ``SPEAKER_00``, ``SPEAKER_01`` in the order in which they are first heard. A recording
        without speech has no turns. Where a number of speakers cannot be had, the warnings say what was found.

        Args:
            samples: float32 [n], mono, 16 000 Hz.
            num_speakers: exact number of speakers, when known.
            min_speakers: least number of speakers.
            max_speakers: greatest number of speakers.
            progress: called with ``"diarization"`` and what part is done.

        Raises:
            DiarizationFailed: the pipeline failed.
            OutOfMemory: the recording does not fit in memory, even with smaller batches.
            UnsupportedByModel: see :meth:`check`.
        """
        duration = samples.size / SAMPLING_RATE
        limits = _Limits(num_speakers, min_speakers, max_speakers)
        self.check(num_speakers)
        if samples.size == 0:
            progress("diarization", 1.0)
            return Diarization(warnings=limits.warnings(found=0))

        shares = getattr(self._pipeline, "progress_shares", PROGRESS_SHARES)
        output = self._apply(samples, limits, _ProgressHook(progress, shares))
        # Version 3 pipelines, and those configured as "legacy", return the turns alone.
        everything = getattr(output, "speaker_diarization", output)
        exclusive = getattr(output, "exclusive_speaker_diarization", None)
        turns = _turns(everything, duration)
        exclusive_turns = _exclusive(turns) if exclusive is None else _turns(exclusive, duration)
        labels = dict.fromkeys(turn.speaker for turn in turns + exclusive_turns)
        names = {label: f"SPEAKER_{number:02d}" for number, label in enumerate(labels)}
        progress("diarization", 1.0)
        return Diarization(
            turns=_renamed(turns, names),
            exclusive_turns=_renamed(exclusive_turns, names),
            warnings=limits.warnings(found=len(names)),
        )

    def _apply(self, samples: NDArray[np.float32], limits: "_Limits", hook: "_ProgressHook") -> Any:
        """Run the pipeline, a second time with smaller batches when memory runs out."""
        with Diarizer._lock, _process_settings_kept():
            hook.begin()
            try:
                return self._run(samples, limits, hook)
            except OutOfMemory:
                pass  # Past this point the failed attempt's frames, and the memory they held, are gone.
            release_cached_memory()
            with self._smaller_batches():
                return self._run(samples, limits, hook)

    def _run(self, samples: NDArray[np.float32], limits: "_Limits", hook: "_ProgressHook") -> Any:
        # torch takes neither read-only arrays nor reversed views; only those are copied here.
        waveform = torch.from_numpy(np.require(samples, np.float32, ["C", "W"]))[None]
        recording = {"waveform": waveform, "sample_rate": SAMPLING_RATE}
        try:
            try:
                return self._pipeline(recording, hook=hook, **limits.arguments())
            except ValueError as error:
                found = _TOO_FEW_EMBEDDINGS.search(str(error))
                if found is None:
                    raise
            # A failure of this kind means little speech, so computing everything again is quick.
            return self._pipeline(recording, hook=hook, **limits.lowered(int(found[1])).arguments())
        except SpeechError:
            raise
        except Exception as error:
            if is_out_of_memory(error):
                raise OutOfMemory("The recording is too long to diarize in the memory of this machine.") from error
            raise DiarizationFailed(
                "The diarization model failed on this recording; set diarize to false to get its text without speakers."
            ) from error

    @contextlib.contextmanager
    def _smaller_batches(self) -> Iterator[None]:
        names = ("segmentation_batch_size", "embedding_batch_size")
        sizes = {name: getattr(self._pipeline, name) for name in names}
        try:
            for name, size in sizes.items():
                setattr(self._pipeline, name, max(1, size // 8))
            yield
        finally:
            for name, size in sizes.items():
                setattr(self._pipeline, name, size)


_TOO_FEW_EMBEDDINGS = re.compile(r"n_samples=(\d+) should be >= n_clusters")
"""What scikit-learn says when VBx clustering is asked for more speakers than there are stretches of clear speech."""


@dataclass(frozen=True)
class _Limits:
    """The number of speakers that was asked for."""

    num_speakers: int | None
    min_speakers: int | None
    max_speakers: int | None

    def arguments(self) -> dict[str, Any]:
        return {name: value for name, value in asdict(self).items() if value is not None}

    def lowered(self, most: int) -> "_Limits":
        return replace(self, **{name: min(value, most) for name, value in self.arguments().items()})

    def warnings(self, *, found: int) -> tuple[str, ...]:
        least = self.num_speakers or self.min_speakers or 0
        most = self.num_speakers or self.max_speakers or found
        if least <= found <= most:
            return ()
        asked = " and ".join(f"{name}={value}" for name, value in self.arguments().items())
        return (f"{asked} could not be met: {found} {'speaker was' if found == 1 else 'speakers were'} found.",)


class _ProgressHook:
    """Called by pyannote during its steps; reports one fraction that never goes back, also when a step is repeated."""

    def __init__(self, progress: Progress, shares: Mapping[str, tuple[float, float]]) -> None:
        self._progress = progress
        self._shares = shares
        self._fraction = 0.0

    def begin(self) -> None:
        """Say that nothing is done yet; who waited in vain for others to be done can leave."""
        self._progress("diarization", 0.0)

    def __call__(
        self, step: str, artifact: Any, file: Any = None, total: int | None = None, completed: int | None = None
    ) -> None:
        if step not in self._shares or not total or completed is None:
            return
        start, end = self._shares[step]
        fraction = start + (end - start) * min(float(completed) / total, 1.0)
        if fraction > self._fraction:
            self._fraction = fraction
            self._progress("diarization", fraction)


@contextlib.contextmanager
def _process_settings_kept() -> Iterator[None]:
    """Undo what pyannote does to the whole process: TensorFloat-32 switched off, warnings, lines on standard output."""
    backends: tuple[Any, ...] = (torch.backends.cuda.matmul, torch.backends.cudnn)
    flags = [(backend, backend.allow_tf32) for backend in backends]
    try:
        with warnings.catch_warnings(), contextlib.redirect_stdout(sys.stderr):
            warnings.filterwarnings("ignore", module=r"pyannote\.audio")
            warnings.filterwarnings("ignore", category=RuntimeWarning, module="numpy")
            yield
    finally:
        for backend, allowed in flags:
            if backend.allow_tf32 != allowed:
                backend.allow_tf32 = allowed


def _turns(annotation: "Annotation", duration: float) -> tuple[SpeakerTurn, ...]:
    """Turns ordered by start and kept inside the recording; its windows are padded, so they may reach past the end."""
    turns = (
        SpeakerTurn(str(label), max(0.0, float(segment.start)), min(duration, float(segment.end)))
        for segment, _, label in annotation.itertracks(yield_label=True)
    )
    return tuple(sorted((turn for turn in turns if turn.end > turn.start), key=lambda turn: (turn.start, turn.end)))


def _exclusive(turns: tuple[SpeakerTurn, ...]) -> tuple[SpeakerTurn, ...]:
    """Give each overlapped stretch to the shortest turn in it, so that a short answer inside a long turn is kept."""
    pieces: list[SpeakerTurn] = []
    active: list[SpeakerTurn] = []
    waiting = list(reversed(turns))
    bounds = sorted({time for turn in turns for time in (turn.start, turn.end)})
    for start, end in pairwise(bounds):
        active = [turn for turn in active if turn.end > start]
        while waiting and waiting[-1].start <= start:
            active.append(waiting.pop())
        if not active:
            continue
        speaker = min(active, key=lambda turn: turn.duration).speaker
        if pieces and pieces[-1].speaker == speaker and pieces[-1].end == start:
            start = pieces.pop().start
        pieces.append(SpeakerTurn(speaker, start, end))
    return tuple(pieces)


def _renamed(turns: tuple[SpeakerTurn, ...], names: Mapping[str, str]) -> tuple[SpeakerTurn, ...]:
    return tuple(SpeakerTurn(names[turn.speaker], turn.start, turn.end) for turn in turns)
