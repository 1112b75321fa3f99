"""The manifest of a folder of recordings: what is known about each of them.

``manifest.json`` is a list of objects. Only ``file`` is required; what is left out or null is unknown, and what depends
on it is not scored:

- ``file``: the recording, relative to the folder
- ``language``: code or name; several are parted by commas (``"en,de"``)
- ``text``: everything that is said; ``""``: nobody speaks
- ``words``: ``[{"word", "start", "end", "speaker"}]``, every word of the text in order; times in seconds and speakers
  are optional
- ``channels``: what is said in each channel, as a list of texts; the channels are then transcribed separately
- ``rttm``: file of the speaker turns, overlapping speech included
- ``stm``: file of utterances with speakers, from which text and words are taken where they are not given
- ``speaker``: label of the one person who speaks, the same wherever it is that person; made conversations need it
- ``num_speakers``: how many people speak
- ``hotwords``: names and terms, as a string or a list, that are passed on with the request

Other names, such as ``source`` and ``note``, are for people.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, TypeVar

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError, field_validator, model_validator

from speech_pipeline.errors import InvalidManifest
from speech_pipeline.evaluation.references import Utterance, read_rttm, read_stm
from speech_pipeline.languages import language_code
from speech_pipeline.transcript import SpeakerTurn

MANIFEST = "manifest.json"

T = TypeVar("T")


class ReferenceWord(BaseModel):
    """A word that is said; times in seconds and the speaker are None where they are not known."""

    model_config = ConfigDict(frozen=True, allow_inf_nan=False)

    word: str
    start: float | None = Field(default=None, ge=0)
    end: float | None = Field(default=None, ge=0)
    speaker: str | None = None


@dataclass(frozen=True, slots=True)
class Recording:
    """A recording and what is known about it.

    Attributes:
        name: the file as the manifest has it.
        path: where the file is.
        languages: codes of the languages that are spoken; empty where they are not known.
        text: everything that is said, ``""`` where nobody speaks, None where it is not known.
        words: the words of the text with what is known about them; empty where nothing is.
        channels: what is said in each channel; empty where the channels are not known apart.
        turns: who speaks when; None where it is not known.
        utterances: who says what when; empty where it is not known.
        speaker: label of the one person who speaks; None where it is not known, or several do.
        num_speakers: how many people speak; None where it is not known.
        hotwords: names and terms that the request is to name.
    """

    name: str
    path: Path
    languages: tuple[str, ...] = ()
    text: str | None = None
    words: tuple[ReferenceWord, ...] = ()
    channels: tuple[str, ...] = ()
    turns: tuple[SpeakerTurn, ...] | None = None
    utterances: tuple[Utterance, ...] = ()
    speaker: str | None = None
    num_speakers: int | None = None
    hotwords: str | None = None

    @property
    def language(self) -> str | None:
        """The language that is spoken; None where there are several, or it is not known."""
        return self.languages[0] if len(self.languages) == 1 else None


def load_manifest(folder: Path) -> tuple[Recording, ...]:
    """Read the manifest of a folder, and the reference files that it names.

    Raises:
        InvalidManifest: the manifest or a file it names is missing, outside the folder, or not of the right form.
    """
    try:
        entries = json.loads((folder / MANIFEST).read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise InvalidManifest(f"The folder must hold a readable {MANIFEST}: {error.strerror}.") from error
    except ValueError as error:  # of the text's encoding, or of JSON
        raise InvalidManifest(f"{MANIFEST} must be JSON in UTF-8: {error}.") from error
    if not isinstance(entries, list) or not entries:
        raise InvalidManifest(f"{MANIFEST} must be a list of recordings, one at least.")
    return tuple(
        read_entry(folder, entry, f"Entry {number} of {MANIFEST}") for number, entry in enumerate(entries, start=1)
    )


def read_entry(folder: Path, written: object, where: str) -> Recording:
    """Read one entry, and the reference files that it names.

    Args:
        folder: what its files are relative to.
        written: the entry.
        where: the entry in messages.

    Raises:
        InvalidManifest: the entry or a file it names is missing, outside the folder, or not of the right form.
    """
    name = written.get("file") if isinstance(written, Mapping) else None
    where += f" ({name[:100]})" if isinstance(name, str) else ""
    entry = _checked(written, where)
    path = _inside(folder, entry.file, f"{where}: file")
    turns = None if entry.rttm is None else _read(folder, entry.rttm, f"{where}: rttm", read_rttm)
    utterances = () if entry.stm is None else _read(folder, entry.stm, f"{where}: stm", read_stm)
    words = entry.words or tuple(
        ReferenceWord(word=word, speaker=utterance.speaker)
        for utterance in utterances
        for word in utterance.text.split()
    )
    text = entry.text
    if text is None and (words or entry.stm is not None):
        text = " ".join(word.word for word in words)
    return Recording(
        name=entry.file,
        path=path,
        languages=tuple(entry.language.split(",")) if entry.language else (),
        text=text,
        words=words,
        channels=entry.channels or (),
        turns=() if turns is None and text is not None and not text.strip() else turns,
        utterances=utterances,
        speaker=entry.speaker,
        num_speakers=entry.num_speakers,
        hotwords=" ".join(entry.hotwords) if isinstance(entry.hotwords, tuple) else entry.hotwords,
    )


class Entry(BaseModel):
    """One entry as it is written."""

    model_config = ConfigDict(extra="ignore")

    file: str = Field(min_length=1)
    language: str | None = None
    text: str | None = None
    words: tuple[ReferenceWord, ...] | None = None
    channels: tuple[str, ...] | None = Field(default=None, min_length=2)
    rttm: str | None = None
    stm: str | None = None
    speaker: Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)] | None = None
    num_speakers: int | None = Field(default=None, ge=0)
    hotwords: str | tuple[str, ...] | None = None

    @field_validator("language")
    @classmethod
    def _known(cls, languages: str | None) -> str | None:
        names = [name for name in (languages or "").split(",") if name.strip()]
        return ",".join(language_code(name) for name in names) or None

    @model_validator(mode="after")
    def _one_text(self) -> "Entry":
        if self.channels is not None and (self.text is not None or self.words or self.stm):
            raise ValueError("must have either channels, or text, words and stm")
        return self


def _checked(written: object, where: str) -> Entry:
    try:
        return Entry.model_validate(written)
    except ValidationError as error:
        problem = error.errors(include_url=False)[0]
    field = ".".join(str(part) for part in problem["loc"])
    message = problem["msg"].removeprefix("Value error, ")
    raise InvalidManifest(f"{where}: {field}: {message}." if field else f"{where}: {message}.")


def _inside(folder: Path, file: str, where: str) -> Path:
    path = folder / file
    if not path.resolve().is_relative_to(folder.resolve()):
        raise InvalidManifest(f"{where} must lie inside the folder.")
    if not path.is_file():
        raise InvalidManifest(f"{where} is not there; it must be a path relative to the folder.")
    return path


def _read(folder: Path, file: str, where: str, reader: Callable[[Path], T]) -> T:
    path = _inside(folder, file, where)
    try:
        return reader(path)
    except OSError as error:
        raise InvalidManifest(f"{where} cannot be read: {error.strerror}.") from error
    except ValueError as error:
        raise InvalidManifest(f"{where} ({file[:100]}): {error}.") from error
