"""A folder of recordings with references -> clips: one speaker, cut to the speech, with text."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.signal import correlate

from speech_pipeline.audio.waveform import SAMPLING_RATE
from speech_pipeline.errors import InvalidManifest, SpeechError
from speech_pipeline.evaluation.clips_pieces import Piece, find_pieces
from speech_pipeline.evaluation.manifest import Recording, load_manifest
from speech_pipeline.transcript import Word

SPEECH_LEVEL = 0.05
"""Root mean square that the speech of every clip is brought to (-26 dB below full scale)."""

FADE_S = 0.005
"""Length of the fade at both ends of each stretch of speech, in seconds; it keeps the cuts from clicking."""

MAX_RECORDING_S = 36_000.0
"""Longest recording that clips are cut from, in seconds."""

COPY_CORRELATION = 0.8
"""Correlation of the samples, at the best shift, above which two clips of the same text are one recording."""

COPY_DIFFERENCE_S = 0.5
"""Most that two copies of a recording differ in length, in seconds, after they were cut to their speech."""

Region = tuple[int, int]
"""First sample of a stretch of speech, and the one after its last."""

Detector = Callable[[NDArray[np.float32]], Sequence[tuple[float, float]]]
"""Finds speech: float32 [n] at 16 kHz -> (start, end) in seconds, in order, without overlap."""


@dataclass(frozen=True, slots=True, eq=False)
class Clip:
    """Something that one person says.

    Attributes:
        name: what the clip was cut from; no two clips of a folder have the same.
        speaker: label of the person; the same voice has the same label in every clip.
        language: ISO 639-1 code, or None where it is not known.
        samples: float32 [n] at 16 kHz, from the first sample of speech to the last, exactly 0 between the regions.
        regions: stretches of speech in samples, the first from 0, the last to n.
        words: what is said; times in seconds from the start of the clip, each word inside one region.
        timed: whether the times of the words come from the reference; otherwise they are spread evenly by length.
    """

    name: str
    speaker: str
    language: str | None
    samples: NDArray[np.float32]
    regions: tuple[Region, ...]
    words: tuple[Word, ...]
    timed: bool

    @property
    def text(self) -> str:
        """What is said."""
        return " ".join(word.text for word in self.words)


def load_clips(folder: Path, detect: Detector | None = None) -> tuple[Clip, ...]:
    """Cut the recordings of a folder into clips of one speaker each.

    Used are recordings with ``text`` (one speaker, named by ``speaker`` or else by the file), each of the
    ``channels``, the stretches of an ``stm`` in which, by the ``rttm``, nobody else speaks, and ``words`` with
    speakers but without times where clear pauses part the speakers. Recordings without text are not used: words of
    unknown text would count as errors. Copies of a recording, such as the same in another format, are left out: their
    voice would be taken for another person's.

    Args:
        folder: holds ``manifest.json`` and the recordings it names.
        detect: finds speech; None is Silero VAD, padded by 0.05 s, with pauses from 0.3 s on.

    Raises:
        InvalidManifest: the manifest or a recording is missing, cannot be read, or is not of the right form.
    """
    detect = detect or _silero()
    clips: dict[str, list[Clip]] = {}
    for recording in load_manifest(folder):
        if not recording.text and not recording.channels:
            continue
        channels = _channels(recording)
        regions = [detect(channel) for channel in channels]
        pieces = list(find_pieces(recording, regions))
        stem = str(Path(recording.name).with_suffix(""))
        for number, piece in enumerate(pieces):
            name = stem if len(pieces) == 1 else f"{stem}#{number}"
            clip = _cut(name, recording.language, channels[piece.channel], regions[piece.channel], piece)
            if clip is not None and not any(_is_copy(clip, other) for other in clips.get(clip.text, ())):
                clips.setdefault(clip.text, []).append(clip)
    return tuple(clip for same_text in clips.values() for clip in same_text)


def fade_ends(samples: NDArray[np.float32]) -> None:
    """Fade in and out over ``FADE_S``, in place."""
    fade = np.linspace(0, 1, round(FADE_S * SAMPLING_RATE), dtype=np.float32)
    samples[: len(fade)] *= fade
    samples[-len(fade) :] *= fade[::-1]


def _silero() -> Detector:
    from speech_pipeline.audio.voice_activity import VoiceActivityDetector

    detector = VoiceActivityDetector(padding_s=0.05)
    return lambda samples: detector.detect(samples).regions


def _channels(recording: Recording) -> tuple[NDArray[np.float32], ...]:
    """The mix, or each channel where those have texts of their own."""
    from speech_pipeline.audio.decoding import load_audio

    try:
        data = recording.path.read_bytes()
        audio = load_audio(
            data,
            sampling_rate=None,
            separate_channels=bool(recording.channels),
            max_bytes=len(data),
            max_duration_s=MAX_RECORDING_S,
        )
    except OSError as error:
        raise InvalidManifest(f"{recording.name} cannot be read: {error.strerror}.") from error
    except SpeechError as error:
        raise InvalidManifest(f"{recording.name}: {error.message}") from error
    if recording.channels and len(audio.channels) != len(recording.channels):
        raise InvalidManifest(f"{recording.name}: channels must have one text for each channel of the recording.")
    return audio.channels or (audio.samples,)


def _cut(
    name: str,
    language: str | None,
    recording: NDArray[np.float32],
    regions: Sequence[tuple[float, float]],
    piece: Piece,
) -> Clip | None:
    """Cut a piece to its speech; None where there is none. Speech without a word of a timed reference is noise."""
    spoken = [(max(a, piece.start), min(b, piece.end)) for a, b in regions if a < piece.end and b > piece.start]
    if piece.timed:
        spoken = [(a, b) for a, b in spoken if any(word.start < b and word.end > a for word in piece.words)]
    inside = [(round(a * SAMPLING_RATE), round(b * SAMPLING_RATE)) for a, b in spoken]
    inside = [(a, b) for a, b in inside if b - a > 2 * round(FADE_S * SAMPLING_RATE)]
    if not inside or not piece.words:
        return None
    origin = inside[0][0]
    samples = np.zeros(inside[-1][1] - origin, np.float32)
    for a, b in inside:
        heard = recording[a:b] - recording[a:b].mean()
        fade_ends(heard)
        samples[a - origin : b - origin] = heard
    moved = tuple((a - origin, b - origin) for a, b in inside)
    speech = sum(b - a for a, b in moved)
    level = float(np.sqrt(np.sum(np.square(samples, dtype=np.float64)) / speech))
    if level == 0:
        return None
    samples *= np.float32(SPEECH_LEVEL / level)
    shifted = [Word(w.text, w.start - origin / SAMPLING_RATE, w.end - origin / SAMPLING_RATE) for w in piece.words]
    words = [_inside(word, moved) for word in shifted] if piece.timed else _spread(piece.words, moved)
    return Clip(name, piece.speaker, language, samples, moved, tuple(words), piece.timed)


def _is_copy(clip: Clip, other: Clip) -> bool:
    """Whether two clips of one text are the same sound, but for its encoding."""
    if abs(len(clip.samples) - len(other.samples)) > COPY_DIFFERENCE_S * SAMPLING_RATE:
        return False
    products = correlate(clip.samples, other.samples, method="fft")
    return float(np.max(products) / (np.linalg.norm(clip.samples) * np.linalg.norm(other.samples))) > COPY_CORRELATION


def _inside(word: Word, regions: Sequence[Region]) -> Word:
    """The word, moved into the region that it overlaps most or is nearest to."""
    start, end = max((_limit(word, region) for region in regions), key=lambda span: span[2])[:2]
    return Word(word.text, start, end)


def _limit(word: Word, region: Region) -> tuple[float, float, float]:
    """Start and end of the word inside the region, and the length of their overlap; below 0 where they are apart."""
    first, last = region[0] / SAMPLING_RATE, region[1] / SAMPLING_RATE
    overlap = min(word.end, last) - max(word.start, first)
    return min(max(word.start, first), last), min(max(word.end, first), last), overlap


def _spread(words: Sequence[Word], regions: Sequence[Region]) -> list[Word]:
    """Give words times in proportion to their length, as if they filled the speech."""
    speech = sum(b - a for a, b in regions)
    letters = [len(word.text) for word in words]
    ends = np.cumsum(letters) / sum(letters) * speech
    starts = np.concatenate([[0.0], ends[:-1]])
    offsets = np.concatenate([[0], np.cumsum([b - a for a, b in regions])])
    spread = []
    for word, start, end in zip(words, starts, ends, strict=True):
        index = int(np.searchsorted(offsets, (start + end) / 2, side="right")) - 1
        index = min(index, len(regions) - 1)
        shift = regions[index][0] - offsets[index]
        placed = Word(word.text, float(start + shift) / SAMPLING_RATE, float(end + shift) / SAMPLING_RATE)
        first, last, _ = _limit(placed, regions[index])
        spread.append(Word(word.text, first, last))
    return spread
