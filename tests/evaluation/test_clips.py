from pathlib import Path
from typing import Any

import numpy as np
import pytest
import soundfile

from speech_pipeline.errors import InvalidManifest
from speech_pipeline.evaluation.clips import SPEECH_LEVEL, Clip, load_clips
from tests.evaluation.source_clips import RATE, loud, write_manifest, write_recording
from tests.synthetic_audio import tone


def cut(folder: Path, *entries: dict[str, Any]) -> tuple[Clip, ...]:
    write_manifest(folder, list(entries))
    return load_clips(folder, loud)


def test_a_clip_is_cut_to_its_speech(tmp_path: Path) -> None:
    write_recording(tmp_path, "a.wav", [(1.0, 2.0), (2.5, 4.0)], 6.0)

    (clip,) = cut(tmp_path, {"file": "a.wav", "language": "en", "text": "one two three four"})

    assert clip.speaker == "a"
    assert clip.language == "en"
    assert clip.text == "one two three four"
    assert not clip.timed
    assert len(clip.samples) == pytest.approx(3.0 * RATE, abs=20)
    assert clip.regions[0][0] == 0
    assert clip.regions[-1][1] == len(clip.samples)
    assert np.all(clip.samples[clip.regions[0][1] : clip.regions[1][0]] == 0)


def test_all_clips_have_the_same_level_of_speech(tmp_path: Path) -> None:
    write_recording(tmp_path, "a.wav", [(1.0, 2.0), (2.5, 4.0)], 6.0)
    soundfile.write(tmp_path / "quiet.wav", tone(2.0) / 20, RATE, subtype="PCM_16")

    clips = cut(tmp_path, {"file": "a.wav", "text": "loud"}, {"file": "quiet.wav", "text": "quiet"})

    for clip in clips:
        speech = np.concatenate([clip.samples[a:b] for a, b in clip.regions])
        assert float(np.sqrt(np.mean(speech**2))) == pytest.approx(SPEECH_LEVEL, rel=1e-3)


def test_words_without_times_are_spread_over_the_speech_by_their_length(tmp_path: Path) -> None:
    write_recording(tmp_path, "a.wav", [(1.0, 2.0), (3.0, 5.0)], 6.0)

    (clip,) = cut(tmp_path, {"file": "a.wav", "text": "aaa bbb ccc"})

    assert [(word.start, word.end) for word in clip.words] == [
        pytest.approx((0.0, 1.0), abs=0.01),
        pytest.approx((2.0, 3.0), abs=0.01),
        pytest.approx((3.0, 4.0), abs=0.01),
    ]


def test_words_with_times_keep_them_and_speech_without_words_is_left_out(tmp_path: Path) -> None:
    write_recording(tmp_path, "a.wav", [(1.0, 2.0), (3.0, 4.0), (5.0, 5.5)], 6.0)
    words = [{"word": "one", "start": 1.1, "end": 1.9}, {"word": "two", "start": 3.2, "end": 4.04}]

    (clip,) = cut(tmp_path, {"file": "a.wav", "text": "one two", "words": words})

    assert clip.timed
    assert len(clip.regions) == 2
    assert (clip.words[0].start, clip.words[0].end) == pytest.approx((0.1, 0.9), abs=0.002)
    assert (clip.words[1].start, clip.words[1].end) == pytest.approx((2.2, 3.0), abs=0.002)


def test_each_channel_is_a_speaker(tmp_path: Path) -> None:
    channels = np.stack([tone(1.0), tone(1.0, frequency=300)], axis=1)
    soundfile.write(tmp_path / "a.wav", channels, RATE, subtype="PCM_16")

    clips = cut(tmp_path, {"file": "a.wav", "channels": ["left", "right"]})

    assert [(clip.speaker, clip.text) for clip in clips] == [("a/0", "left"), ("a/1", "right")]


def test_of_a_conversation_only_what_one_speaker_says_alone_is_taken(tmp_path: Path) -> None:
    write_recording(tmp_path, "a.wav", [(0.5, 5.0)], 6.0)
    (tmp_path / "a.rttm").write_text(
        "SPEAKER a 1 0.5 2.0 <NA> <NA> x <NA> <NA>\nSPEAKER a 1 2.0 3.0 <NA> <NA> y <NA> <NA>\n"
    )
    (tmp_path / "a.stm").write_text("a 1 Ann 0.5 1.5 alone\na 1 Ann 1.5 2.5 not alone\na 1 Bob 3.0 5.0 alone as well\n")

    clips = cut(tmp_path, {"file": "a.wav", "rttm": "a.rttm", "stm": "a.stm"})

    assert [(clip.speaker, clip.text) for clip in clips] == [("a/Ann", "alone"), ("a/Bob", "alone as well")]
    assert [len(clip.samples) / RATE for clip in clips] == pytest.approx([1.0, 2.0], abs=0.01)


@pytest.mark.parametrize(
    ("spoken_s", "texts"),
    [
        pytest.param([(0.5, 1.0), (1.3, 2.0), (4.0, 5.0)], ["one two", "three"], id="a clear pause"),
        pytest.param([(0.5, 1.0), (1.5, 2.0), (2.4, 5.0)], [], id="no clear pause"),
        pytest.param([(0.2, 1.0), (2.5, 3.0), (4.5, 5.0)], [], id="two clear pauses"),
    ],
)
def test_speakers_without_times_are_parted_by_a_clear_pause(
    tmp_path: Path, spoken_s: list[tuple[float, float]], texts: list[str]
) -> None:
    write_recording(tmp_path, "a.wav", spoken_s, 6.0)
    words = [{"word": word, "speaker": who} for word, who in (("one", "1"), ("two", "1"), ("three", "2"))]

    assert [clip.text for clip in cut(tmp_path, {"file": "a.wav", "words": words})] == texts


@pytest.mark.parametrize(
    "entry",
    [
        pytest.param({}, id="unknown text"),
        pytest.param({"text": ""}, id="nobody speaks"),
        pytest.param({"text": "who knows", "num_speakers": 2}, id="two speakers mixed"),
        pytest.param(
            {"words": [{"word": "a", "start": 1, "end": 2, "speaker": who} for who in "xy"]}, id="speakers with times"
        ),
    ],
)
def test_recordings_whose_words_cannot_be_given_to_one_speaker_are_not_used(
    tmp_path: Path, entry: dict[str, Any]
) -> None:
    write_recording(tmp_path, "a.wav", [(0.5, 5.0)], 6.0)

    assert cut(tmp_path, {"file": "a.wav", **entry}) == ()


def test_a_copy_of_a_recording_in_another_format_is_not_another_speaker(tmp_path: Path) -> None:
    generator = np.random.default_rng(0)
    voice, other = (generator.normal(0, 0.1, RATE).astype(np.float32) for _ in range(2))
    soundfile.write(tmp_path / "a.wav", voice, RATE, subtype="PCM_16")
    soundfile.write(tmp_path / "b.wav", np.concatenate([np.zeros(99), voice[50:]]), RATE, subtype="PCM_U8")
    soundfile.write(tmp_path / "c.wav", other, RATE, subtype="PCM_16")

    clips = cut(tmp_path, *({"file": f"{name}.wav", "text": "the same"} for name in "abc"))

    assert [clip.speaker for clip in clips] == ["a", "c"]


def test_recordings_of_one_speaker_can_be_labelled(tmp_path: Path) -> None:
    write_recording(tmp_path, "a.wav", [(0.5, 2.0)], 3.0)
    write_recording(tmp_path, "b.wav", [(1.0, 2.0)], 3.0)

    clips = cut(tmp_path, *({"file": f"{name}.wav", "text": name, "speaker": "Ann Lee"} for name in "ab"))

    assert [clip.speaker for clip in clips] == ["Ann_Lee", "Ann_Lee"]


def test_a_file_that_is_no_audio_is_named(tmp_path: Path) -> None:
    (tmp_path / "a.wav").write_bytes(b"RIFF no audio at all")

    with pytest.raises(InvalidManifest, match=r"a\.wav: "):
        cut(tmp_path, {"file": "a.wav", "text": "words"})


def test_texts_for_more_channels_than_there_are_are_refused(tmp_path: Path) -> None:
    write_recording(tmp_path, "a.wav", [(0.5, 2.0)], 3.0)

    with pytest.raises(InvalidManifest, match="one text for each channel"):
        cut(tmp_path, {"file": "a.wav", "channels": ["left", "right"]})


def test_real_recordings_give_clips_of_each_of_their_speakers(shared_data: Path) -> None:
    clips = load_clips(shared_data)

    by_text = {clip.text.lower().split()[0]: clip.speaker for clip in clips}
    assert by_text["ladies"] == "conversations/three_speakers/3"
    assert by_text["well,"] == "conversations/phone_call/Sheila"
    assert len({clip.speaker for clip in clips}) == 13
    assert sum(clip.text == "1 2 3" for clip in clips) == 1
    for clip in clips:
        for word in clip.words:
            start, end = round(word.start * RATE), round(word.end * RATE)
            assert any(first <= start <= end <= last for first, last in clip.regions)
