"""Words and speaker turns, from a real call with references and from generated conversations with known speakers."""

import math
import random
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from diarization_utils import assign_speakers, attribute, number_speakers
from speech_pipeline.transcript import Diarization, Segment, SpeakerTurn, Word

Call = tuple[list[Segment], list[SpeakerTurn], list[str]]


def segment(words: Iterable[Word], **fields: object) -> Segment:
    words = tuple(words)
    text = "".join(word.text for word in words)
    return replace(Segment(text, words[0].start, words[-1].end, words), **fields)


def sentence(text: str, start: float, end: float) -> Segment:
    """The words of a text, spread evenly from start to end."""
    words = text.split()
    step = (end - start) / len(words)
    return segment(Word(f" {w}", start + i * step, start + (i + 1) * step) for i, w in enumerate(words))


def diarization(*turns: tuple[str, float, float]) -> Diarization:
    return Diarization(tuple(SpeakerTurn(*turn) for turn in turns))


def speakers(segments: Iterable[Segment]) -> list[str | None]:
    return [word.speaker for item in segments for word in item.words]


def spoken_by(segments: Iterable[Segment]) -> list[tuple[str | None, str]]:
    return [(item.speaker, item.text.strip()) for item in segments]


# A real call


@pytest.fixture
def call(sample_call: Path) -> Call:
    return reference_call(sample_call)


def reference_call(sample_call: Path) -> Call:
    """Segments of the reference transcript, reference turns, and the true speaker of each word."""
    turns = []
    for line in sample_call.with_suffix(".rttm").read_text().splitlines():
        fields = line.split()
        start = float(fields[3])
        turns.append(SpeakerTurn(fields[7], start, start + float(fields[4])))
    segments, truth = [], []
    for line in sample_call.with_suffix(".stm").read_text().splitlines():
        _, _, name, start, end, text = line.split(maxsplit=5)
        segments.append(sentence(text, float(start), float(end)))
        truth += [{"Diane": "speaker90", "Sheila": "speaker91"}[name]] * len(text.split())
    return segments, turns, truth


def test_call_with_reference_turns(call: Call) -> None:
    segments, turns, truth = call
    assert len(truth) == 81
    assert correct(assign_speakers(segments, Diarization(tuple(turns))), truth) >= 80


def test_call_with_exclusive_turns(call: Call) -> None:
    segments, turns, truth = call
    result = assign_speakers(segments, Diarization(tuple(turns), exclusive(turns)))
    assert correct(result, truth) >= 80


def test_call_with_inexact_turns_is_better_than_maximum_overlap(call: Call) -> None:
    segments, turns, truth = call
    own, plain = 0, 0
    for seed in range(20):
        moved = jittered(turns, random.Random(seed), 0.3)
        own += correct(assign_speakers(segments, Diarization(moved)), truth)
        plain += agreement(maximum_overlap(segments, moved), truth)
    assert own > plain + 20 * 2


# Generated conversations


@pytest.mark.parametrize("speaker_count", [2, 4])
@pytest.mark.parametrize("gap_s", [-0.1, 0.2, 0.8])
def test_generated_conversations_are_better_than_maximum_overlap(speaker_count: int, gap_s: float) -> None:
    own, plain, words = compare([conversation(random.Random(seed), speaker_count, gap_s) for seed in range(6)])
    assert own > plain
    assert own / words > 0.9


def test_without_punctuation_not_worse_than_maximum_overlap() -> None:
    calls = [
        conversation(random.Random(seed), 3, gap, punctuated=False) for seed in range(8) for gap in (-0.1, 0.2, 0.8)
    ]
    own, plain, _ = compare(calls)
    assert own >= plain


def test_missed_turns_are_better_than_maximum_overlap() -> None:
    calls = []
    for seed in range(6):
        segments, turns, truth = conversation(random.Random(seed), 3, 0.2)
        chance = random.Random(seed)
        calls.append((segments, [t for t in turns if t.duration > 0.8 or chance.random() < 0.5], truth))
    own, plain, _ = compare(calls)
    assert own > plain


# Cases


def test_segments_are_cut_where_the_speaker_changes_and_nowhere_joined() -> None:
    segments = [
        sentence("How are you? Fine.", 0.0, 2.0),
        sentence("Good to hear.", 2.2, 3.0),
        sentence("And you?", 3.1, 3.6),
    ]
    result = attribute(segments, diarization(("b", 0.0, 1.5), ("a", 1.5, 2.05), ("b", 2.2, 3.6)))
    assert spoken_by(result) == [
        ("SPEAKER_00", "How are you?"),
        ("SPEAKER_01", "Fine."),
        ("SPEAKER_00", "Good to hear."),
        ("SPEAKER_00", "And you?"),
    ]
    assert (result[0].start, result[0].end, result[1].start, result[1].end) == (0.0, 1.5, 1.5, 2.0)


def test_whole_segments_keep_all_their_fields() -> None:
    whole = replace(sentence("Good to hear.", 2.2, 3.0), language="en", channel=1)
    (result,) = attribute([whole], diarization(("b", 0.0, 4.0), ("a", 5.0, 6.0)))
    words = tuple(replace(word, speaker="SPEAKER_00") for word in whole.words)
    assert result == replace(whole, speaker="SPEAKER_00", words=words)


@pytest.mark.parametrize("word", ["Oh", "Oh.", "yeah,", "Hello?"])
def test_one_word_between_two_halves_of_a_sentence_stays_its_own_turn(word: str) -> None:
    turns = diarization(("a", 0.0, 3.0), ("b", 3.1, 3.6), ("a", 3.7, 5.0))
    words = [(" We", 2.2, 2.5), (" went", 2.5, 2.95), (f" {word}", 3.2, 3.5), (" to", 3.75, 3.9), (" town.", 3.9, 4.5)]
    result = attribute([segment(Word(*w) for w in words)], turns)
    assert [text for _, text in spoken_by(result)] == ["We went", word, "to town."]


def test_a_turn_edge_inside_a_sentence_does_not_cut_it() -> None:
    first, second = sentence("I live in New Jersey.", 0.0, 2.0), sentence("And I live in Texas.", 2.1, 4.0)
    for edge in (1.75, 2.05, 2.4):
        result = attribute([first, second], diarization(("a", 0.0, edge), ("b", edge, 4.0)))
        assert [text for _, text in spoken_by(result)] == [first.text.strip(), second.text.strip()]


def test_sentences_end_with_the_punctuation_of_other_scripts() -> None:
    words = [Word(text, 0.3 * i, 0.3 * (i + 1)) for i, text in enumerate(["你", "好", "吗？", "我", "很", "好。"])]
    result = attribute([segment(words)], diarization(("a", 0.0, 1.1), ("b", 1.1, 2.5)))
    assert [item.text for item in result] == ["你好吗？", "我很好。"]


def test_a_word_outside_all_turns_goes_to_the_nearest_edge() -> None:
    turns = diarization(("long", 0.0, 30.0), ("short", 33.0, 33.4))
    assert speakers(assign_speakers([sentence("Bye.", 30.5, 30.8)], turns)) == ["long"]
    assert speakers(assign_speakers([sentence("Bye.", 32.5, 32.8)], turns)) == ["short"]
    assert speakers(assign_speakers([sentence("Much later.", 900.0, 901.0)], turns)) == ["short", "short"]


def test_words_after_the_last_turn_are_kept() -> None:
    result = attribute(
        [sentence("One two.", 0, 1), sentence("Three four.", 5, 6)], diarization(("a", 0, 1), ("b", 1, 2))
    )
    assert "".join(item.text for item in result) == " One two. Three four."


def test_overlapped_speech_goes_to_the_exclusive_turn() -> None:
    turns = diarization(("a", 0.0, 4.0), ("b", 2.0, 6.0))
    words = [sentence("We all agree then.", 2.2, 3.8)]
    for name in ("a", "b"):
        result = assign_speakers(words, replace(turns, exclusive_turns=(SpeakerTurn(name, 2.0, 4.0),)))
        assert speakers(result) == [name] * 4


def test_a_segment_without_words_goes_to_its_best_speaker() -> None:
    segments = [Segment(" Hello there.", 0.0, 2.0), Segment(" Good morning, everyone.", 2.0, 5.0)]
    result = attribute(segments, diarization(("a", 0.0, 2.8), ("b", 2.8, 5.0)))
    assert spoken_by(result) == [("SPEAKER_00", "Hello there."), ("SPEAKER_01", "Good morning, everyone.")]


def test_a_segment_whose_words_do_not_spell_its_text_is_not_cut() -> None:
    segments = [replace(sentence("How are you? Fine.", 0.0, 2.0), text=" Wie geht's? Gut.")]
    (result,) = attribute(segments, diarization(("a", 0.0, 1.5), ("b", 1.5, 2.0)))
    assert result.text == " Wie geht's? Gut."
    assert speakers([result]) == ["SPEAKER_00"] * 4


def test_without_turns_all_is_one_speaker() -> None:
    result = attribute([sentence("Hello there.", 0, 1), Segment(" Hi.", 1, 2)], Diarization())
    assert [item.speaker for item in result] == ["SPEAKER_00", "SPEAKER_00"]
    assert speakers(result) == ["SPEAKER_00", "SPEAKER_00"]


def test_nothing_said() -> None:
    assert attribute([], diarization(("a", 0, 1))) == ()
    assert attribute([], Diarization()) == ()


def test_speakers_are_numbered_by_first_word_then_by_first_turn() -> None:
    turns = diarization(("x", 0.0, 0.1), ("z", 1.0, 2.0), ("y", 2.0, 3.0))
    turns = replace(turns, exclusive_turns=turns.turns, warnings=("kept",))
    segments, numbered = number_speakers(assign_speakers([sentence("Well, hello.", 1.1, 1.9)], turns), turns)
    assert speakers(segments) == ["SPEAKER_00", "SPEAKER_00"]
    assert [turn.speaker for turn in numbered.turns] == ["SPEAKER_01", "SPEAKER_00", "SPEAKER_02"]
    assert numbered.exclusive_turns == numbered.turns
    assert numbered.warnings == ("kept",)


# Properties

times = st.floats(-5, 60, allow_nan=False).map(lambda value: round(value, 2))
texts = st.sampled_from([" yes", " no.", " well,", " 好。", "好", " what?", ' "done."', "", " "])
words = st.builds(lambda t, s, d: Word(t, s, s + d), texts, times, st.floats(0, 3))
with_words = st.lists(words, min_size=1, max_size=8).map(lambda w: segment(w, end=max(w[0].start, w[-1].end)))
without_words = st.builds(lambda t, s, d: Segment(t, s, s + d), texts, times, st.floats(0, 9))
any_segments = st.lists(st.one_of(with_words, without_words), max_size=6)
edges = st.one_of(times, times, st.sampled_from([math.inf, -math.inf]))
any_turns = st.lists(st.builds(SpeakerTurn, st.sampled_from(["c", "a", "b"]), edges, edges), max_size=8).map(tuple)


@given(any_segments, any_turns, any_turns)
@settings(deadline=None)
def test_nothing_is_lost_and_all_is_labelled(
    segments: list[Segment], turns: tuple[SpeakerTurn, ...], exclusive_turns: tuple[SpeakerTurn, ...]
) -> None:
    given_turns = Diarization(turns, exclusive_turns)
    result, numbered = number_speakers(assign_speakers(segments, given_turns), given_turns)

    assert result == attribute(segments, given_turns)
    assert "".join(item.text for item in result) == "".join(item.text for item in segments)
    said = [replace(word, speaker=None) for item in result for word in item.words]
    assert said == [word for item in segments for word in item.words]
    assert all(item.end >= item.start for item in result)
    assert all(word.speaker == item.speaker for item in result for word in item.words)

    heard = [item.speaker for item in result]
    first_heard = list(dict.fromkeys(heard))
    assert first_heard == [f"SPEAKER_{index:02d}" for index in range(len(first_heard))]
    pairs = list(zip((*turns, *exclusive_turns), (*numbered.turns, *numbered.exclusive_turns), strict=True))
    names = {old.speaker: new.speaker for old, new in pairs}
    assert len(set(names.values())) == len(names)
    assert all(replace(old, speaker=names[old.speaker]) == new for old, new in pairs)
    assert set(heard) <= set(names.values()) or not pairs


# Helpers


def correct(segments: Iterable[Segment], truth: Sequence[str]) -> int:
    return agreement(speakers(segments), truth)


def agreement(labels: Sequence[str | None], truth: Sequence[str]) -> int:
    return sum(label == true for label, true in zip(labels, truth, strict=True))


def compare(calls: Iterable[Call]) -> tuple[int, int, int]:
    """Words with the right speaker by this project and by maximum overlap, and all words."""
    own, plain, words = 0, 0, 0
    for segments, turns, truth in calls:
        alone = exclusive(turns)
        own += correct(assign_speakers(segments, Diarization(tuple(turns), alone)), truth)
        plain += agreement(maximum_overlap(segments, alone), truth)
        words += len(truth)
    return own, plain, words


def maximum_overlap(segments: Iterable[Segment], turns: Sequence[SpeakerTurn]) -> list[str]:
    """The usual method: the speaker whose turns cover most of the word, or else of the nearest turn."""
    labels = []
    for word in (word for item in segments for word in item.words):
        covered: dict[str, float] = {}
        for turn in turns:
            overlap = max(0.0, min(word.end, turn.end) - max(word.start, turn.start))
            covered[turn.speaker] = covered.get(turn.speaker, 0.0) + overlap
        best = max(covered, key=covered.__getitem__)
        nearest = min(turns, key=lambda turn: max(turn.start - word.end, word.start - turn.end))
        labels.append(best if covered[best] > 0 else nearest.speaker)
    return labels


def exclusive(turns: Sequence[SpeakerTurn]) -> tuple[SpeakerTurn, ...]:
    """At most one speaker at a time: where turns overlap, the one of the longest turn."""
    alone: list[SpeakerTurn] = []
    for start, end in pairwise(sorted({time for turn in turns for time in (turn.start, turn.end)})):
        active = [turn for turn in turns if turn.start <= start and turn.end >= end]
        if not active:
            continue
        speaker = max(active, key=lambda turn: turn.duration).speaker
        if alone and (alone[-1].speaker, alone[-1].end) == (speaker, start):
            start = alone.pop().start
        alone.append(SpeakerTurn(speaker, start, end))
    return tuple(alone)


def jittered(turns: Iterable[SpeakerTurn], chance: random.Random, limit_s: float) -> tuple[SpeakerTurn, ...]:
    """Turns with both edges moved by up to ``limit_s``; those that vanish are left out."""
    moved = [
        SpeakerTurn(t.speaker, t.start + chance.uniform(-limit_s, limit_s), t.end + chance.uniform(-limit_s, limit_s))
        for t in turns
    ]
    return tuple(sorted((turn for turn in moved if turn.duration > 0), key=lambda turn: turn.start))


def conversation(chance: random.Random, speaker_count: int, gap_s: float, *, punctuated: bool = True) -> Call:
    """Three minutes of talk with interruptions, heard with inexact word times and diarized with inexact turns."""
    spoken: list[tuple[str, float, float, str]] = []
    turns: list[SpeakerTurn] = []
    clock, speaker = 1.0, 0
    while clock < 180:
        speaker = chance.choice([other for other in range(speaker_count) if other != speaker])
        begin = clock
        for _ in range(chance.choice([1, 1, 2, 3])):
            length = chance.choice([1, 2, 3, 5, 7, 9, 12, 15])
            for index in range(length):
                mark = chance.choice("..?!") if index == length - 1 else "," if chance.random() < 0.1 else ""
                word_s = chance.uniform(0.12, 0.5)
                spoken.append((f" word{mark if punctuated else ''}", clock, clock + word_s, f"s{speaker}"))
                clock += word_s + (chance.uniform(0.1, 0.6) if chance.random() < 0.07 else 0.0)
            clock += chance.uniform(0, 0.4)
        turns.append(SpeakerTurn(f"s{speaker}", begin, clock))
        if chance.random() < 0.2:
            other = f"s{chance.choice([other for other in range(speaker_count) if other != speaker])}"
            at, word_s = chance.uniform(begin, clock), chance.uniform(0.2, 0.5)
            spoken.append((" yeah." if punctuated else " yeah", at, at + word_s, other))
            turns.append(SpeakerTurn(other, at, at + word_s))
        clock = max(begin + 0.5, clock + chance.gauss(gap_s, 0.4))
    words: list[Word] = []
    truth = []
    for text, start, end, name in sorted(spoken, key=lambda item: item[1]):
        heard = max(start + chance.gauss(-0.1, 0.15), words[-1].start if words else 0.0)
        words.append(Word(text, heard, max(heard + 0.02, end + chance.gauss(-0.1, 0.15))))
        truth.append(name)
    segments = [segment(words[index : index + 12]) for index in range(0, len(words), 12)]
    return segments, list(jittered(turns, chance, 0.3)), truth
