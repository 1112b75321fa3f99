from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from speech_pipeline.errors import InvalidParameters
from speech_pipeline.evaluation.clips import load_clips
from speech_pipeline.evaluation.conversations import Conversation, Recipe, make_conversation, make_long_speech
from speech_pipeline.transcript import SpeakerTurn
from tests.evaluation.source_clips import RATE, clip, speakers

CLIPS = speakers(6)

recipes = st.builds(
    Recipe,
    speakers=st.integers(2, 6),
    duration_s=st.floats(40, 90),
    seed=st.integers(0, 2**32),
    gap_s=st.tuples(st.floats(0, 1), st.floats(1, 2)),
    overlap_share=st.floats(0, 0.3),
    backchannel_share=st.floats(0, 1),
    level_difference_db=st.floats(0, 20),
    noise_snr_db=st.none(),
)


def voices_at_once(turns: Sequence[SpeakerTurn], length: int) -> NDArray[np.int64]:
    """How many turns hold each sample: int [length]."""
    changes = np.zeros(length + 1, np.int64)
    for turn in turns:
        changes[round(turn.start * RATE)] += 1
        changes[round(turn.end * RATE)] -= 1
    return np.cumsum(changes)[:-1]


def overlap_share(conversation: Conversation) -> float:
    changes = sorted([(turn.start, 1) for turn in conversation.turns] + [(turn.end, -1) for turn in conversation.turns])
    speech = overlapped = 0.0
    voices = 0
    for (start, change), (end, _) in pairwise(changes):
        voices += change
        speech += (end - start) * (voices > 0)
        overlapped += (end - start) * (voices > 1)
    return overlapped / speech


@settings(max_examples=25, deadline=None)
@given(recipe=recipes)
def test_what_is_heard_is_what_the_reference_says(recipe: Recipe) -> None:
    conversation = make_conversation(CLIPS, recipe)

    assert len(conversation.samples) == round(recipe.duration_s * RATE)
    assert conversation.samples.dtype == np.float32
    assert float(np.abs(conversation.samples).max()) <= 0.951
    assert len(conversation.speakers) == recipe.speakers
    voices = voices_at_once(conversation.turns, len(conversation.samples))
    assert np.all(conversation.samples[voices == 0] == 0)
    for turn in conversation.turns:
        heard = conversation.samples[round(turn.start * RATE) : round(turn.end * RATE)]
        assert float(np.sqrt(np.mean(heard**2))) > 1e-4


@settings(max_examples=25, deadline=None)
@given(recipe=recipes)
def test_turns_are_inside_the_recording_and_nobody_overlaps_himself(recipe: Recipe) -> None:
    conversation = make_conversation(CLIPS, recipe)

    assert all(0 <= turn.start < turn.end <= conversation.duration for turn in conversation.turns)
    for speaker in conversation.speakers:
        own = [turn for turn in conversation.turns if turn.speaker == speaker]
        assert all(left.end < right.start for left, right in pairwise(own))


@settings(max_examples=25, deadline=None)
@given(recipe=recipes)
def test_each_word_is_in_a_turn_of_its_speaker(recipe: Recipe) -> None:
    conversation = make_conversation(CLIPS, recipe)

    assert len(conversation.words) == sum(len(utterance.clip.words) for utterance in conversation.utterances)
    for word in conversation.words:
        assert any(
            turn.speaker == word.speaker and turn.start - 1e-9 <= word.start <= word.end <= turn.end + 1e-9
            for turn in conversation.turns
        )


@settings(max_examples=10, deadline=None)
@given(recipe=recipes)
def test_the_same_seed_gives_the_same_bytes(recipe: Recipe) -> None:
    first, second = make_conversation(CLIPS, recipe), make_conversation(CLIPS, recipe)

    assert first.samples.tobytes() == second.samples.tobytes()
    assert first.turns == second.turns
    assert first.words == second.words


def test_another_seed_gives_another_conversation() -> None:
    assert make_conversation(CLIPS, Recipe(seed=1)).turns != make_conversation(CLIPS, Recipe(seed=2)).turns


@pytest.mark.parametrize("share", [0.0, 0.05, 0.1, 0.2, 0.3])
@pytest.mark.parametrize("count", [2, 4])
def test_the_share_of_overlapped_speech_is_about_what_was_asked_for(share: float, count: int) -> None:
    conversation = make_conversation(CLIPS, Recipe(speakers=count, duration_s=600, overlap_share=share))

    assert overlap_share(conversation) == pytest.approx(share, abs=0.02)


def test_pauses_are_as_long_as_was_asked_for() -> None:
    conversation = make_conversation(CLIPS, Recipe(speakers=3, duration_s=300, gap_s=(0.6, 0.8)))

    pauses = [(right.start - left.end) / RATE for left, right in pairwise(conversation.utterances)]
    assert 0.6 <= min(pauses) < max(pauses) <= 0.8001


def test_backchannels_are_short_and_lie_inside_what_another_says() -> None:
    plain = make_conversation(CLIPS, Recipe(speakers=3, duration_s=300))
    conversation = make_conversation(CLIPS, Recipe(speakers=3, duration_s=300, backchannel_share=0.8))

    inside = [
        aside
        for aside, other in pairwise(sorted(conversation.utterances, key=lambda utterance: -utterance.start))
        if other.clip.speaker != aside.clip.speaker and other.end > aside.end
    ]
    assert overlap_share(plain) == 0
    assert len(inside) >= 5
    assert all(len(aside.clip.samples) <= RATE for aside in inside)


def test_a_word_or_two_are_cut_from_a_clip_with_word_times() -> None:
    talker, listener = clip("talk", "talker", 3.0), clip("listen", "listener", 0.8, 2.0, timed=True)

    conversation = make_conversation([talker, listener], Recipe(duration_s=120, backchannel_share=1.0))

    cut = [utterance for utterance in conversation.utterances if len(utterance.clip.samples) <= RATE]
    assert {utterance.clip.text for utterance in cut} == {"listen0"}
    assert all(utterance.clip.speaker == "listener" for utterance in cut)


def test_the_quietest_speaker_is_as_much_below_the_loudest_as_was_asked_for() -> None:
    conversation = make_conversation(CLIPS, Recipe(speakers=3, duration_s=120, level_difference_db=12))

    levels = {
        utterance.clip.speaker: float(np.abs(conversation.samples[utterance.start : utterance.end]).max())
        for utterance in conversation.utterances
    }
    assert 20 * np.log10(max(levels.values()) / min(levels.values())) == pytest.approx(12, abs=0.01)


@pytest.mark.parametrize("colour", ["white", "pink"])
def test_noise_has_the_level_and_the_colour_that_were_asked_for(colour: str) -> None:
    quiet = make_conversation(CLIPS, Recipe(duration_s=130))
    noisy = make_conversation(CLIPS, Recipe(duration_s=130, noise_snr_db=10, noise=colour))  # type: ignore[arg-type]

    noise = noisy.samples - quiet.samples
    speech = quiet.samples[voices_at_once(quiet.turns, len(noise)) > 0]
    assert noisy.turns == quiet.turns
    assert 10 * np.log10(np.mean(speech**2) / np.mean(noise**2)) == pytest.approx(10, abs=0.1)
    power = np.abs(np.fft.rfft(noise[: 60 * RATE])) ** 2
    low, high = float(power[60 * 250 : 60 * 500].sum()), float(power[60 * 500 : 60 * 1000].sum())
    assert high / low == pytest.approx(2.0 if colour == "white" else 1.0, rel=0.1)


def test_only_clips_in_the_languages_are_used() -> None:
    with pytest.raises(InvalidParameters, match="the clips have 0"):
        make_conversation(CLIPS, Recipe(languages=("de",)))


def test_more_speakers_than_there_are_are_refused() -> None:
    with pytest.raises(InvalidParameters, match="4 speakers were asked for; the clips have 3"):
        make_conversation(speakers(3), Recipe(speakers=4))


def test_a_duration_in_which_not_everybody_can_speak_is_refused() -> None:
    with pytest.raises(InvalidParameters, match="too short"):
        make_conversation(CLIPS, Recipe(speakers=6, duration_s=2))


def test_two_hours_are_made_as_well() -> None:
    conversation = make_conversation(CLIPS, Recipe(speakers=4, duration_s=7200, overlap_share=0.1))

    assert conversation.duration == 7200
    assert overlap_share(conversation) == pytest.approx(0.1, abs=0.01)
    assert conversation.turns[-1].end > 7190


def test_long_speech_holds_every_clip_where_it_says() -> None:
    speech = make_long_speech(CLIPS, 120, seed=3, pause_s=0.25)

    assert speech.duration >= 120
    assert {utterance.clip.name for utterance in speech.utterances} == {made.name for made in CLIPS}
    for utterance in speech.utterances:
        assert np.array_equal(speech.samples[utterance.start : utterance.end], utterance.clip.samples)
    assert {right.start - left.end for left, right in pairwise(speech.utterances)} == {RATE // 4}


def test_long_speech_says_everything_once_before_anything_again_in_an_order_of_its_seed() -> None:
    orders = []
    for seed in (0, 0, 1):
        names = [utterance.clip.name for utterance in make_long_speech(CLIPS, 100, seed).utterances]
        assert len(set(names[: len(CLIPS)])) == len(CLIPS)
        orders.append(names)
    assert orders[0] == orders[1] != orders[2]


@pytest.mark.parametrize(("languages", "duration_s"), [(("fr",), 10.0), (("en",), 0.0)])
def test_long_speech_without_anything_to_say_is_refused(languages: tuple[str, ...], duration_s: float) -> None:
    with pytest.raises(InvalidParameters):
        make_long_speech(CLIPS, duration_s, languages=languages)


def test_real_clips_make_a_conversation(shared_data: Path) -> None:
    conversation = make_conversation(
        load_clips(shared_data), Recipe(speakers=6, duration_s=120, overlap_share=0.1, backchannel_share=0.3)
    )

    assert len(conversation.speakers) == 6
    assert overlap_share(conversation) == pytest.approx(0.1, abs=0.05)
