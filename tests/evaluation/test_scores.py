"""Every figure of one recording, counted by hand, and sums of recordings."""

from dataclasses import replace
from pathlib import Path

import pytest

from speech_pipeline.evaluation.diarization_errors import DiarizationErrors
from speech_pipeline.evaluation.manifest import Recording, ReferenceWord
from speech_pipeline.evaluation.scores import Scores, align_words, score
from speech_pipeline.evaluation.speaker_errors import WordSpeakers
from speech_pipeline.evaluation.word_errors import ErrorCounts
from speech_pipeline.evaluation.word_times import percentile
from speech_pipeline.transcript import Segment, SpeakerTurn, Transcript, Word
from tests.evaluation.worked_example import recording, transcript


def scored(reference: Recording, heard: Transcript) -> Scores:
    return score(reference, heard, align_words(reference, heard))


class TestWorkedExample:
    # so hello there mister smith i have 2 dogs now       Ann 0-4 s: so ... smith, Bob 4-9 s: i ... now
    #    hello their mister smith i have 2 dogs now okay  00 0.5-5 s: hello ... i, 01 5-9.5 s: have ... okay
    scores = scored(recording(), transcript())

    def test_words(self) -> None:
        # there -> their; so left out; okay invented; 10 words are said
        assert self.scores.words == ErrorCounts(substitutions=1, deletions=1, insertions=1, reference=10)
        assert self.scores.words.rate == pytest.approx(0.3)

    def test_characters(self) -> None:
        # "so " left out (3), there -> their (2), " okay" invented (5); 36 letters and 9 spaces are said
        assert self.scores.characters is not None
        assert self.scores.characters.reference == 45
        assert self.scores.characters.errors == 10

    def test_words_by_speaker(self) -> None:
        # Ann: so left out, there -> their, i invented; Bob: i left out, okay invented
        assert self.scores.speaker_words == ErrorCounts(substitutions=1, deletions=2, insertions=2, reference=10)
        assert self.scores.speaker_words.rate == pytest.approx(0.5)

    def test_words_with_their_speaker(self) -> None:
        # all but so and there are recognised; of those i is given to the wrong speaker
        assert self.scores.word_speakers == WordSpeakers(reference=10, recognized=8, right=7)
        assert self.scores.word_speakers.accuracy == pytest.approx(0.7)

    def test_turns(self) -> None:
        # nobody found from 0 to 0.5 s; 00 instead of Bob from 4 to 5 s; 01 goes on from 9 to 9.5 s
        errors = self.scores.diarization
        assert errors is not None
        assert errors.missed == pytest.approx(0.5)
        assert errors.confusion == pytest.approx(1.0)
        assert errors.false_alarm == pytest.approx(0.5)
        assert errors.reference == pytest.approx(9.0)
        assert errors.rate == pytest.approx(2 / 9)

    def test_word_starts(self) -> None:
        # in order of size 0, 0, 0, 0, 0.1, 0.1, 0.2, 0.4; the 95th percentile lies at place 0.95 * 7 = 6.65
        starts = self.scores.start_errors_s
        assert starts == pytest.approx((0.1, 0.0, 0.2, 0.0, 0.1, 0.0, 0.4, 0.0))
        assert percentile(starts, 50) == pytest.approx(0.05)
        assert percentile(starts, 95) == pytest.approx(0.2 + 0.65 * 0.2)


def test_totals_are_rates_of_sums() -> None:
    short = Scores(ErrorCounts(1, 0, 0, 2), diarization=DiarizationErrors(missed=1.0, reference=1.0))
    long = Scores(ErrorCounts(0, 1, 0, 8), start_errors_s=(0.1,))
    total = short + long
    assert total.words is not None
    assert total.words.rate == pytest.approx(0.2)
    assert total.diarization == short.diarization
    assert total.start_errors_s == (0.1,)
    assert total.speaker_words is None


def test_speakers_are_not_scored_where_they_were_not_told_apart() -> None:
    scores = scored(recording(), transcript(diarized=False))
    assert scores.words == TestWorkedExample.scores.words
    assert (scores.speaker_words, scores.word_speakers, scores.diarization) == (None, None, None)


def test_nobody_found_where_people_speak_is_all_missed() -> None:
    heard = Transcript(duration=10.0, timings={"diarization": 0.1})
    scores = scored(recording(), heard)
    assert scores.diarization == DiarizationErrors(missed=9.0, reference=9.0)
    assert scores.speaker_words == ErrorCounts(deletions=10, reference=10)
    assert scores.word_speakers == WordSpeakers(reference=10)


def test_what_is_not_known_is_not_scored() -> None:
    assert scored(Recording("a.wav", Path("a.wav")), transcript()) == Scores()
    only_text = replace(recording(), words=(), turns=None)
    scores = scored(only_text, transcript())
    assert scores.words == TestWorkedExample.scores.words
    assert (scores.speaker_words, scores.word_speakers, scores.diarization) == (None, None, None)
    assert scores.start_errors_s == ()


def test_all_that_is_heard_in_silence_is_invented() -> None:
    silence = Recording("a.wav", Path("a.wav"), text="", turns=())
    scores = scored(silence, transcript())
    assert scores.words == ErrorCounts(insertions=10)
    assert scores.words.rate is None
    assert scores.diarization == DiarizationErrors(false_alarm=9.0)
    assert scored(silence, Transcript(duration=1.0)).words == ErrorCounts()


def test_a_number_of_several_words_keeps_its_speaker_and_time() -> None:
    reference = Recording(
        "a.wav",
        Path("a.wav"),
        ("en",),
        text="Twenty one dogs",
        words=(
            ReferenceWord(word="Twenty", start=1.0, speaker="A"),
            ReferenceWord(word="one", start=1.5, speaker="A"),
            ReferenceWord(word="dogs", start=2.0, speaker="A"),
        ),
    )
    words = (Word(" 21", 1.2, 1.4, speaker="S"), Word(" dogs", 2.0, 2.2, speaker="S"))
    segment = Segment(" 21 dogs", 1.2, 2.2, words, speaker="S")
    scores = scored(reference, Transcript((segment,), (segment,), duration=3.0, timings={"diarization": 0.1}))
    assert scores.words == ErrorCounts(reference=2)
    assert scores.word_speakers == WordSpeakers(2, 2, 2)
    assert scores.start_errors_s == pytest.approx((0.2, 0.0))


def test_channels_are_scored_one_by_one() -> None:
    reference = Recording("a.wav", Path("a.wav"), ("en",), channels=("good morning", "how are you"))
    segments = tuple(
        Segment(text, 0.0, 1.0, (Word(text, 0.0, 1.0, speaker=label),), speaker=label, channel=channel)
        for channel, (text, label) in enumerate([(" good evening", "CHANNEL_00"), (" how are you", "CHANNEL_01")])
    )
    turns = (SpeakerTurn("CHANNEL_00", 0.0, 1.0), SpeakerTurn("CHANNEL_01", 0.0, 1.0))
    scores = scored(reference, Transcript(segments, segments, turns, duration=1.0))
    assert scores.words == ErrorCounts(substitutions=1, reference=5)
    assert scores.speaker_words == ErrorCounts(substitutions=1, reference=5)
    assert scores.word_speakers == WordSpeakers(reference=5, recognized=4, right=4)
    assert scores.diarization is None


def test_languages_without_spaces_are_scored_by_character() -> None:
    reference = Recording("a.wav", Path("a.wav"), ("zh",), text="你好，世界。")
    segment = Segment("你好世家", 0.0, 1.0, (Word("你好", 0.0, 0.5), Word("世家", 0.5, 1.0)))
    scores = scored(reference, Transcript((segment,), duration=1.0))
    assert scores.words == scores.characters == ErrorCounts(substitutions=1, reference=4)
