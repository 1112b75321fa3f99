"""Manifests: what is read, and what is said about one that is wrong."""

import json
from pathlib import Path
from typing import Any

import pytest

from speech_pipeline.errors import InvalidManifest
from speech_pipeline.evaluation.manifest import Recording, ReferenceWord, load_manifest
from speech_pipeline.evaluation.references import Utterance
from speech_pipeline.transcript import SpeakerTurn

RTTM = "SPEAKER call 1 0.5 1.0 <NA> <NA> Ann <NA> <NA>\n"
STM = "call 1 Ann 0.5 1.5 Hello there.\ncall 1 Bob 1.5 2.0 Hi.\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    data = tmp_path / "data"
    data.mkdir()
    (data / "call.wav").touch()
    (data / "call.rttm").write_text(RTTM)
    (data / "call.stm").write_text(STM)
    (data / "wrong.stm").write_text("call 1 Ann zero 1.5 Hello.\n")
    (data / "binary.stm").write_bytes(b"\xff\xfe\x00")
    (tmp_path / "outside.wav").touch()
    return data


def load(folder: Path, *entries: Any) -> tuple[Recording, ...]:
    (folder / "manifest.json").write_text(json.dumps(list(entries)))
    return load_manifest(folder)


def load_one(folder: Path, **entry: Any) -> Recording:
    (recording,) = load(folder, {"file": "call.wav", **entry})
    return recording


def test_only_the_file_is_required(folder: Path) -> None:
    assert load_one(folder) == Recording("call.wav", folder / "call.wav")
    assert load_one(folder, text=None, language=None, words=None, source="me", note="hm") == load_one(folder)


def test_text_words_and_turns_of_reference_files(folder: Path) -> None:
    recording = load_one(folder, rttm="call.rttm", stm="call.stm", num_speakers=2)
    assert recording.text == "Hello there. Hi."
    assert [(word.word, word.speaker) for word in recording.words] == [
        ("Hello", "Ann"),
        ("there.", "Ann"),
        ("Hi.", "Bob"),
    ]
    assert recording.turns == (SpeakerTurn("Ann", 0.5, 1.5),)
    assert recording.utterances == (Utterance("Ann", 0.5, 1.5, "Hello there."), Utterance("Bob", 1.5, 2.0, "Hi."))
    assert recording.num_speakers == 2


def test_the_entrys_own_text_and_words_come_first(folder: Path) -> None:
    words = [{"word": "Hello", "start": 0.5, "end": 0.9, "speaker": "A"}]
    recording = load_one(folder, stm="call.stm", text="Hello!", words=words)
    assert recording.text == "Hello!"
    assert recording.words == (ReferenceWord(word="Hello", start=0.5, end=0.9, speaker="A"),)
    assert load_one(folder, words=words).text == "Hello"


def test_empty_text_is_silence_and_missing_text_is_not(folder: Path) -> None:
    assert load_one(folder, text="").turns == ()
    assert load_one(folder).text is None
    assert load_one(folder).turns is None


@pytest.mark.parametrize(
    ("written", "languages", "language"),
    [
        (None, (), None),
        ("", (), None),
        ("en", ("en",), "en"),
        ("German", ("de",), "de"),
        ("pt-BR", ("pt",), "pt"),
        ("en, de", ("en", "de"), None),
    ],
)
def test_languages(folder: Path, written: str | None, languages: tuple[str, ...], language: str | None) -> None:
    recording = load_one(folder, language=written)
    assert (recording.languages, recording.language) == (languages, language)


def test_the_one_speaker_can_be_named(folder: Path) -> None:
    assert load_one(folder, speaker=" Ann ").speaker == "Ann"
    assert load_one(folder).speaker is None


def test_channels_and_hotwords(folder: Path) -> None:
    recording = load_one(folder, channels=["Hello.", ""], hotwords=["Ann", "Bob"])
    assert recording.channels == ("Hello.", "")
    assert recording.hotwords == "Ann Bob"


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ({}, "file: Field required"),
        ({"file": ""}, "file: String should have at least 1 character"),
        ({"file": 3}, "file: Input should be a valid string"),
        ({"file": "none.wav"}, "file is not there; it must be a path relative to the folder"),
        ({"file": "../outside.wav"}, "file must lie inside the folder"),
        ({"file": "/etc/passwd"}, "file must lie inside the folder"),
        ({"file": "."}, "file is not there"),
        ({"file": "call.wav", "language": "klingon"}, "language: must be a language Whisper knows"),
        ({"file": "call.wav", "text": ["Hello"]}, "text: Input should be a valid string"),
        ({"file": "call.wav", "words": ["Hello"]}, "words.0: Input should be"),
        ({"file": "call.wav", "words": [{"start": 0.1}]}, "words.0.word: Field required"),
        ({"file": "call.wav", "words": [{"word": "a", "start": -1}]}, "words.0.start: Input should be greater than"),
        ({"file": "call.wav", "words": [{"word": "a", "end": "soon"}]}, "words.0.end: Input should be a valid number"),
        ({"file": "call.wav", "channels": ["Hello"]}, "channels: Tuple should have at least 2 items"),
        ({"file": "call.wav", "channels": ["a", "b"], "text": "a b"}, "must have either channels, or text"),
        ({"file": "call.wav", "speaker": 1}, "speaker: Input should be a valid string"),
        ({"file": "call.wav", "speaker": " "}, "speaker: String should have at least 1 character"),
        ({"file": "call.wav", "num_speakers": -1}, "num_speakers: Input should be greater than or equal to 0"),
        ({"file": "call.wav", "rttm": "none.rttm"}, "rttm is not there"),
        ({"file": "call.wav", "rttm": "../../none.rttm"}, "rttm must lie inside the folder"),
        ({"file": "call.wav", "rttm": "call.stm"}, r"rttm \(call.stm\): line 1 must begin with a type of RTTM"),
        ({"file": "call.wav", "stm": "wrong.stm"}, r"stm \(wrong.stm\): line 1 must have its times in seconds"),
        ({"file": "call.wav", "stm": "binary.stm"}, r"stm \(binary.stm\)"),
        ("call.wav", "Input should be a valid dictionary"),
        (None, "Input should be a valid dictionary"),
    ],
)
def test_wrong_entries_are_named_with_what_is_right(folder: Path, entry: Any, message: str) -> None:
    good = {"file": "call.wav"}
    with pytest.raises(InvalidManifest, match=message) as caught:
        load(folder, good, entry)
    assert "Entry 2 of manifest.json" in caught.value.message
    assert str(folder) not in caught.value.message


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "must be JSON in UTF-8"),
        (b"[{", "must be JSON in UTF-8"),
        (b"\xff\xfe[", "must be JSON in UTF-8"),
        (b"{}", "must be a list of recordings"),
        (b"[]", "must be a list of recordings"),
        (b"3", "must be a list of recordings"),
    ],
)
def test_wrong_files(folder: Path, content: bytes, message: str) -> None:
    (folder / "manifest.json").write_bytes(content)
    with pytest.raises(InvalidManifest, match=message):
        load_manifest(folder)


def test_no_manifest(folder: Path) -> None:
    with pytest.raises(InvalidManifest, match=r"must hold a readable manifest\.json"):
        load_manifest(folder)


def test_a_link_does_not_lead_outside(folder: Path) -> None:
    (folder / "link.wav").symlink_to(folder.parent / "outside.wav")
    with pytest.raises(InvalidManifest, match="must lie inside the folder"):
        load(folder, {"file": "link.wav"})


def test_shared_recordings_are_read(shared_data: Path) -> None:
    recordings = {recording.name: recording for recording in load_manifest(shared_data)}
    call = recordings["conversations/phone_call.wav"]
    assert len(call.words) == 81
    assert {word.speaker for word in call.words} == {"Diane", "Sheila"}
    assert call.turns is not None
    assert len(call.turns) == 10
    assert recordings["speech/en_then_de.mp3"].languages == ("en", "de")
    assert recordings["speech/silence.wav"].turns == ()
