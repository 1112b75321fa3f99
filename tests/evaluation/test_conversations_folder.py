import json
from pathlib import Path

import numpy as np
import pytest
import soundfile

from speech_pipeline.evaluation.conversations import Conversation, Recipe, make_conversation
from speech_pipeline.evaluation.conversations_folder import write_conversations
from speech_pipeline.evaluation.manifest import load_manifest
from speech_pipeline.evaluation.references import read_stm
from tests.evaluation.source_clips import RATE, speakers


@pytest.fixture(scope="module")
def conversation() -> Conversation:
    return make_conversation(speakers(4), Recipe(speakers=4, overlap_share=0.1, backchannel_share=0.5))


def test_the_folder_is_read_as_any_other(tmp_path: Path, conversation: Conversation) -> None:
    manifest = write_conversations(tmp_path / "made", [("a", conversation), ("b", conversation)])

    recordings = load_manifest(manifest.parent)
    assert [recording.name for recording in recordings] == ["a.wav", "b.wav"]
    for recording in recordings:
        assert recording.language == "en"
        assert recording.num_speakers == 4
        assert [(w.word, w.speaker) for w in recording.words] == [(w.text, w.speaker) for w in conversation.words]
        assert recording.text == " ".join(word.text for word in conversation.words)
        assert recording.turns is not None
        assert len(recording.turns) == len(conversation.turns)
        for read, made in zip(recording.turns, conversation.turns, strict=True):
            assert read.speaker == made.speaker
            assert (read.start, read.end) == pytest.approx((made.start, made.end), abs=0.0011)


def test_only_words_with_times_of_a_reference_have_times(tmp_path: Path, conversation: Conversation) -> None:
    manifest = write_conversations(tmp_path, [("a", conversation)])

    (entry,) = json.loads(manifest.read_text(encoding="utf-8"))
    timed = [utterance.clip.timed for utterance in conversation.utterances for _ in utterance.clip.words]
    assert ["start" in word for word in entry["words"]] == timed
    assert {True, False} == set(timed)


def test_the_samples_are_the_conversation(tmp_path: Path, conversation: Conversation) -> None:
    write_conversations(tmp_path, [("a", conversation)])

    samples, rate = soundfile.read(tmp_path / "a.wav", dtype="float32")
    assert rate == RATE
    assert np.allclose(samples, conversation.samples, rtol=0, atol=1 / 32_000)


def test_the_utterances_are_written_as_well(tmp_path: Path, conversation: Conversation) -> None:
    write_conversations(tmp_path, [("a", conversation)])

    utterances = read_stm(tmp_path / "a.stm")
    assert [(u.speaker, u.text) for u in utterances] == [
        (utterance.clip.speaker, utterance.clip.text) for utterance in conversation.utterances
    ]
