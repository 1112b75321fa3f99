"""From ``inputs`` to samples at 16 kHz."""

import base64
import io
import math
import struct
import tracemalloc
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import av
import librosa
import numpy as np
import pytest
import soundfile
from hypothesis import given, settings
from hypothesis import strategies as st

from speech_pipeline.audio.decoding import SAMPLING_RATE, Audio, load_audio
from speech_pipeline.audio.readers import UnknownContainerError, read_with_ffmpeg
from speech_pipeline.errors import AudioTooLarge, AudioTooLong, InvalidAudio, InvalidPayload, SpeechError
from tests.bad_inputs import Case, cases
from tests.synthetic_audio import (
    encode,
    encode_with_ffmpeg,
    long_silence,
    noise,
    pcm16,
    tone,
    with_data_size,
)

AUDIO_CODES = ("invalid_payload", "invalid_audio", "audio_too_large", "audio_too_long")


def load(inputs: object, **options: Any) -> Audio:
    limits = {"sampling_rate": None, "separate_channels": False, "max_bytes": 2**24, "max_duration_s": 3_600.0}
    return load_audio(inputs, **(limits | options))


def dominant_frequency(samples: np.ndarray) -> float:
    """Hz of the strongest component."""
    spectrum = np.abs(np.fft.rfft(samples * np.hanning(len(samples))))
    return float(np.argmax(spectrum)) * SAMPLING_RATE / len(samples)


def assert_is_tone(audio: Audio, seconds: float, tolerance_s: float = 0.001) -> None:
    assert audio.samples.dtype == np.float32
    assert audio.duration == pytest.approx(seconds, abs=tolerance_s)
    assert dominant_frequency(audio.samples) == pytest.approx(440, abs=3)
    assert np.sqrt(np.mean(audio.samples**2)) == pytest.approx(0.3 / math.sqrt(2), rel=0.2)


@pytest.mark.parametrize("case", cases(), ids=lambda case: case.name)
def test_case_gives_audio_or_its_code(case: Case) -> None:
    body = case.body
    parameters = body.get("parameters")
    parameters = parameters if isinstance(parameters, dict) else {}
    options = {
        "sampling_rate": parameters.get("sampling_rate") if not case.name.startswith("parameter") else None,
        "separate_channels": parameters.get("channels") == "separate",
        "max_duration_s": 10_800.0,
    }
    if case.expected_code in AUDIO_CODES:
        with pytest.raises(SpeechError) as caught:
            load(body.get("inputs"), **options)
        assert caught.value.code == case.expected_code
    else:
        audio = load(body["inputs"], **options)
        assert len(audio.samples) > 0
        assert np.isfinite(audio.samples).all()
        assert np.abs(audio.samples).max() <= 1


@pytest.mark.parametrize(
    ("container", "subtype", "rate"),
    [
        ("WAV", "PCM_U8", 8_000),
        ("WAV", "PCM_16", 16_000),
        ("WAV", "PCM_24", 44_100),
        ("WAV", "PCM_32", 48_000),
        ("WAV", "FLOAT", 96_000),
        ("WAV", "DOUBLE", 22_050),
        ("WAV", "ULAW", 8_000),
        ("WAV", "ALAW", 8_000),
        ("WAV", "MS_ADPCM", 16_000),
        ("WAVEX", "PCM_24", 48_000),
        ("RF64", "PCM_16", 16_000),
        ("W64", "PCM_16", 16_000),
        ("AIFF", "PCM_16", 44_100),
        ("AU", "PCM_16", 16_000),
        ("CAF", "PCM_16", 16_000),
        ("FLAC", "PCM_24", 44_100),
        ("NIST", "PCM_16", 16_000),
        ("VOC", "PCM_16", 16_000),
    ],
)
def test_uncompressed_and_lossless_files(container: str, subtype: str, rate: int) -> None:
    audio = load(encode(tone(2.0, rate), rate, container, subtype))
    assert_is_tone(audio, 2.0, tolerance_s=0.05)
    assert audio.warnings == ()


@pytest.mark.parametrize(
    ("container", "codec", "rate"),
    [
        ("ipod", "aac", 44_100),
        ("mp4", "aac", 48_000),
        ("mov", "alac", 44_100),
        ("ogg", "libopus", 48_000),
        ("webm", "libopus", 48_000),
        ("matroska", "flac", 44_100),
        ("mp3", "libmp3lame", 44_100),
        ("adts", "aac", 44_100),
        ("amr", "libopencore_amrnb", 8_000),
        ("mpegts", "aac", 48_000),
        ("wav", "pcm_mulaw", 8_000),
        ("avi", "libmp3lame", 44_100),
    ],
)
def test_compressed_files(container: str, codec: str, rate: int) -> None:
    try:
        av.Codec(codec, "w")
    except av.codec.codec.UnknownCodecError:
        pytest.skip(f"this build of PyAV has no encoder {codec}")
    audio = load(encode_with_ffmpeg(tone(2.0, rate), rate, container, codec))
    assert_is_tone(audio, 2.0, tolerance_s=0.08)
    assert audio.warnings == ()


def test_mp4_with_its_index_at_the_end() -> None:
    data = encode_with_ffmpeg(tone(2.0, 44_100), 44_100, "mp4", "aac")
    assert data.index(b"mdat") < data.index(b"moov")
    assert_is_tone(load(data), 2.0, tolerance_s=0.08)


@pytest.mark.parametrize(("container", "codec"), [("matroska", "aac"), ("mp3", "libmp3lame"), ("webm", "libopus")])
def test_pictures_beside_the_audio_are_ignored(container: str, codec: str) -> None:
    data = encode_with_ffmpeg(tone(2.0, 48_000), 48_000, container, codec, cover=True)
    with av.open(io.BytesIO(data)) as file:
        assert file.streams.video
    assert_is_tone(load(data), 2.0, tolerance_s=0.08)


def test_video_without_audio_is_refused() -> None:
    buffer = io.BytesIO()
    with av.open(buffer, "w", format="matroska") as file:
        track = file.add_stream("mjpeg", rate=1)
        track.width, track.height, track.pix_fmt = 64, 64, "yuvj420p"
        for image in (av.VideoFrame.from_ndarray(np.zeros((64, 64, 3), np.uint8), format="rgb24"), None):
            for packet in track.encode(image):
                file.mux(packet)
    with pytest.raises(InvalidAudio, match="no audio track"):
        load(buffer.getvalue())


@pytest.mark.parametrize("rate", [8_000, 11_025, 44_100, 96_000])
def test_resampling_in_blocks_equals_resampling_at_once(rate: int) -> None:
    samples = noise(20.0, rate)
    whole = librosa.resample(samples, orig_sr=rate, target_sr=SAMPLING_RATE, res_type="soxr_hq")
    streamed = load({"array": samples, "sampling_rate": rate}).samples
    assert abs(len(streamed) - len(whole)) <= 1
    shorter = min(len(streamed), len(whole))
    np.testing.assert_allclose(streamed[:shorter], np.clip(whole, -1, 1)[:shorter], atol=1e-5)


@pytest.mark.parametrize("container", ["WAV", "FLAC"])
def test_channels_are_mixed_to_their_mean(container: str) -> None:
    left, right = tone(), noise()
    audio = load(encode(np.stack([left, right], axis=1), container=container))
    np.testing.assert_allclose(audio.samples, (left + right) / 2, atol=1e-4)
    assert audio.channels == ()


@pytest.mark.parametrize(
    ("container", "codec", "layout", "channels"),
    [
        ("ogg", "libopus", "7.1", 8),
        ("mp4", "aac", "7.1", 8),
        ("matroska", "pcm_s16le", "hexadecagonal", 16),
        ("wv", "wavpack", "hexadecagonal", 16),
    ],
)
def test_many_channels(container: str, codec: str, layout: str, channels: int) -> None:
    data = encode_with_ffmpeg(tone(1.0, 48_000), 48_000, container, codec, layout)
    audio = load(data)
    assert audio.duration == pytest.approx(1.0, abs=0.05)
    assert dominant_frequency(audio.samples) == pytest.approx(440, abs=3)
    if channels > 8:
        with pytest.raises(InvalidAudio, match=f"{channels} channels"):
            load(data, separate_channels=True)
    else:
        assert len(load(data, separate_channels=True).channels) == channels


def test_full_scale_channels_do_not_clip_when_mixed() -> None:
    samples = np.sign(tone()) * np.float32(0.99)
    audio = load(encode(np.stack([samples] * 6, axis=1)))
    np.testing.assert_allclose(audio.samples, samples, atol=1e-4)


@pytest.mark.parametrize("rate", [16_000, 44_100])
def test_channels_are_kept_apart_when_asked(rate: int) -> None:
    left, right = tone(1.0, rate), noise(1.0, rate)
    audio = load(encode(np.stack([left, right], axis=1), rate), separate_channels=True)
    assert [len(channel) for channel in audio.channels] == [len(audio.samples)] * 2
    assert dominant_frequency(audio.channels[0]) == pytest.approx(440, abs=3)
    np.testing.assert_allclose(audio.samples, (audio.channels[0] + audio.channels[1]) / 2, atol=1e-6)


def test_one_channel_has_nothing_to_keep_apart() -> None:
    assert load(encode(tone()), separate_channels=True).channels == ()


@pytest.mark.parametrize("size", [0, 0xFFFF_FFFF, 0x7FFF_FFFF, 10**8])
@pytest.mark.parametrize("subtype", ["PCM_16", "PCM_24", "FLOAT"])
def test_wav_with_a_wrong_size_is_read_to_its_end(size: int, subtype: str) -> None:
    audio = load(with_data_size(encode(tone(), subtype=subtype), size))
    assert_is_tone(audio, 1.0)
    assert bool(audio.warnings) == (size == 10**8)


@pytest.mark.parametrize("container", ["WAV", "AIFF", "FLAC"])
def test_cut_files_give_what_is_there_and_a_warning(container: str) -> None:
    whole = encode(noise(4.0), container=container)
    audio = load(whole[: len(whole) // 2])
    assert 1.5 < audio.duration < 2.1
    assert len(audio.warnings) == 1


@pytest.mark.parametrize(("container", "codec"), [("mp3", "libmp3lame"), ("webm", "libopus"), ("adts", "aac")])
def test_cut_compressed_files_give_what_is_there_and_a_warning(container: str, codec: str) -> None:
    whole = encode_with_ffmpeg(tone(4.0, 48_000), 48_000, container, codec)
    audio = load(whole[: len(whole) // 2])
    assert 1.5 < audio.duration < 2.2
    assert len(audio.warnings) == 1


@pytest.mark.parametrize("container", ["MP3", "FLAC"])
def test_damage_in_the_middle_costs_little(container: str) -> None:
    rate = 44_100
    data = bytearray(
        encode(noise(4.0, rate), rate, container)
        if container == "FLAC"
        else encode_with_ffmpeg(tone(4.0, rate), rate, "mp3", "libmp3lame")
    )
    middle = len(data) // 2
    data[middle : middle + 300] = np.random.default_rng(0).bytes(300)
    audio = load(bytes(data))
    assert 3.5 < audio.duration <= 4.05
    assert any("damaged" in warning for warning in audio.warnings)


def test_longer_than_allowed_is_refused_while_decoding() -> None:
    assert load(encode(tone(2.0)), max_duration_s=2.0).duration == 2.0
    for data in (encode(tone(2.1)), encode_with_ffmpeg(tone(2.1, 48_000), 48_000, "ogg", "libopus")):
        with pytest.raises(AudioTooLong):
            load(data, max_duration_s=2.0)
    with pytest.raises(AudioTooLong):
        load({"array": np.zeros(33_000, np.int16), "sampling_rate": 16_000}, max_duration_s=2.0)
    with pytest.raises(AudioTooLong):
        load(bytes(66_000), sampling_rate=16_000, max_duration_s=2.0)


def test_hours_in_few_bytes_stop_at_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    read_frames = []
    read = soundfile.SoundFile.read

    def counting_read(file: soundfile.SoundFile, *arguments: Any, **options: Any) -> np.ndarray:
        frames = read(file, *arguments, **options)
        read_frames.append(len(frames))
        return frames

    monkeypatch.setattr(soundfile.SoundFile, "read", counting_read)
    bomb = long_silence(5)
    assert len(bomb) < 2_000_000
    with pytest.raises(AudioTooLong):
        load(bomb, max_duration_s=60.0)
    assert 0 < sum(read_frames) < 60 * 8_000 + 300_000


def test_memory_holds_the_waveform_and_little_more() -> None:
    data = long_silence(0.25, 44_100, channels=2)
    tracemalloc.start()
    try:
        waveform = load(data).samples.nbytes
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert waveform == 900 * SAMPLING_RATE * 4
    assert peak < 1.3 * waveform + 20e6


def test_flac_that_claims_a_length_of_years_is_read_to_its_end() -> None:
    data = bytearray(encode(tone(2.0), container="FLAC"))
    field = int.from_bytes(data[18:26])
    for total in (0, 2**36 - 1):
        data[18:26] = (field >> 36 << 36 | total).to_bytes(8)
        assert_is_tone(load(bytes(data)), 2.0)


def test_more_bytes_than_allowed_are_refused() -> None:
    with pytest.raises(AudioTooLarge):
        load(encode(tone()), max_bytes=1_000)


def test_raw_pcm_at_the_stated_rate() -> None:
    audio = load(pcm16(tone(1.0, 8_000)).tobytes(), sampling_rate=8_000)
    assert_is_tone(audio, 1.0)
    assert "8000 Hz" in audio.warnings[0]


def test_raw_pcm_without_a_rate_is_taken_for_16_khz_when_it_looks_like_sound() -> None:
    audio = load(pcm16(tone()).tobytes())
    assert_is_tone(audio, 1.0)
    assert audio.warnings
    with pytest.raises(InvalidAudio, match="WAV"):
        load(pcm16(noise()).tobytes())


def test_rate_of_the_file_goes_before_the_stated_one() -> None:
    assert_is_tone(load(encode(tone()), sampling_rate=44_100), 1.0)


def test_rate_beside_the_samples_goes_before_the_stated_one() -> None:
    assert load({"array": tone(), "sampling_rate": 16_000}, sampling_rate=8_000).duration == 1.0
    assert load({"array": tone()}, sampling_rate=8_000).duration == 2.0


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        (b"PK\x03\x04" + bytes(100), "zip"),
        (b"\x1f\x8b\x08" + bytes(100), "gzip"),
        (b"<html></html>", "HTML"),
        (b'\xef\xbb\xbf{"a": 1}', "JSON"),
        (b"%PDF-1.4 \x00\xff", "PDF"),
        (b"\x7fELF" + bytes(100), "program"),
        (("Grüße, " * 400).encode(), "text"),
    ],
)
def test_what_is_no_audio_is_named(data: bytes, kind: str) -> None:
    for rate in (None, 16_000):
        with pytest.raises(InvalidAudio, match=kind):
            load(data, sampling_rate=rate)


@pytest.mark.parametrize(
    "text",
    [
        "#EXTM3U\n#EXT-X-TARGETDURATION:1\n#EXTINF:1,\nfile://{file}\n#EXT-X-ENDLIST\n",
        "ffconcat version 1.0\nfile {file}\n",
        "v=0\no=- 0 0 IN IP4 127.0.0.1\ns=x\nc=IN IP4 127.0.0.1\nt=0 0\nm=audio 5004 RTP/AVP 0\n",
    ],
)
def test_playlists_open_nothing(tmp_path: Path, text: str) -> None:
    file = tmp_path / "recording.wav"
    file.write_bytes(encode(tone()))
    data = text.format(file=file).encode()
    with pytest.raises(InvalidAudio, match="text"):
        load(data)
    with pytest.raises(UnknownContainerError):
        list(read_with_ffmpeg(data, lambda warning: None))


def test_samples_that_are_no_numbers_become_silence() -> None:
    samples = tone()
    samples[1_000], samples[1_001], samples[1_002] = np.nan, np.inf, -np.inf
    for inputs in ({"array": samples, "sampling_rate": 16_000}, encode(samples, subtype="FLOAT")):
        audio = load(inputs)
        np.testing.assert_array_equal(audio.samples[1_000:1_003], 0)
        np.testing.assert_array_equal(audio.samples[:1_000], samples[:1_000])
        assert audio.warnings == ("3 samples were not finite numbers and were set to silence.",)


def test_few_samples_beyond_full_scale_are_clipped() -> None:
    samples = tone()
    samples[5_000] = 1e30
    for rate in (16_000, 44_100):
        audio = load({"array": samples, "sampling_rate": rate})
        assert audio.samples.max() == 1
        assert len(audio.warnings) == 1


def test_recording_on_another_scale_keeps_its_shape() -> None:
    audio = load({"array": tone() * 20_000, "sampling_rate": 16_000})
    np.testing.assert_allclose(audio.samples, tone() / 0.3, atol=1e-3)
    assert len(audio.warnings) == 1


def test_the_callers_array_is_not_changed() -> None:
    samples = tone() * 4
    before = samples.copy()
    load({"array": samples, "sampling_rate": 16_000})
    np.testing.assert_array_equal(samples, before)


def test_threads_do_not_disturb_one_another() -> None:
    files = [encode_with_ffmpeg(tone(1.0, 48_000, f), 48_000, "ogg", "libopus") for f in (300, 440, 800, 1_500)]
    alone = [load(data).samples for data in files]
    with ThreadPoolExecutor(4) as threads:
        together = list(threads.map(lambda data: load(data).samples, files * 4))
    for samples, expected in zip(together, alone * 4, strict=True):
        np.testing.assert_array_equal(samples, expected)


def test_nothing_is_printed(capfd: pytest.CaptureFixture[str]) -> None:
    data = bytearray(encode_with_ffmpeg(tone(2.0, 44_100), 44_100, "mp3", "libmp3lame"))
    data[5_000:5_400] = bytes(400)
    load(bytes(data))
    with pytest.raises(InvalidAudio):
        load(encode_with_ffmpeg(tone(), 16_000, "ipod", "aac")[:3_000])
    assert capfd.readouterr() == ("", "")


def test_real_call(sample_call: Path) -> None:
    audio = load(base64.b64encode(sample_call.read_bytes()).decode())
    assert audio.duration == pytest.approx(30.0, abs=0.01)
    assert audio.warnings == ()
    raw, _ = soundfile.read(sample_call, dtype="int16")
    np.testing.assert_array_equal(load(raw.tobytes()).samples, audio.samples)


def test_shared_recordings(shared_data: Path) -> None:
    files = [file for file in sorted(shared_data.rglob("*.*")) if file.suffix in (".wav", ".flac", ".aiff", ".mp3")]
    assert files
    for file in files:
        audio = load(file.read_bytes())
        assert audio.warnings == (), file.name
        assert audio.duration == pytest.approx(soundfile.info(file).duration, abs=0.06), file.name


def attempt(inputs: object, **options: Any) -> None:
    """Load with tight limits; anything but a result within them or a coded error fails the test."""
    try:
        audio = load(inputs, max_bytes=200_000, max_duration_s=5.0, **options)
    except (InvalidPayload, InvalidAudio, AudioTooLarge, AudioTooLong):
        return
    assert 0 < audio.duration <= 5.01
    assert np.isfinite(audio.samples).all()
    assert np.abs(audio.samples).max() <= 1


@given(data=st.binary(max_size=4_000), rate=st.sampled_from([None, 8_000, 16_000]))
@settings(deadline=None)
def test_any_bytes_give_audio_or_a_coded_error(data: bytes, rate: int | None) -> None:
    attempt(data, sampling_rate=rate)


CONTAINER_STARTS = {
    "wav": encode(tone(0.5)),
    "float wav": encode(tone(0.5), subtype="FLOAT"),
    "wavex": encode(tone(0.5), container="WAVEX"),
    "adpcm": encode(tone(0.5), subtype="IMA_ADPCM"),
    "aiff": encode(tone(0.5), container="AIFF"),
    "flac": encode(tone(0.5), container="FLAC"),
    "caf": encode(tone(0.5), container="CAF"),
}


@pytest.mark.parametrize("name", CONTAINER_STARTS)
@given(
    changes=st.lists(st.tuples(st.integers(0, 79), st.integers(0, 255)), min_size=1, max_size=6),
    separate=st.booleans(),
)
@settings(deadline=None, max_examples=60)
def test_any_header_gives_audio_or_a_coded_error(name: str, changes: list[tuple[int, int]], separate: bool) -> None:
    data = bytearray(CONTAINER_STARTS[name])
    for position, value in changes:
        data[position] = value
    attempt(bytes(data), separate_channels=separate)


@given(size=st.integers(0, 2**32 - 1), rate=st.integers(0, 2**32 - 1), channels=st.integers(0, 2**16 - 1))
@settings(deadline=None)
def test_any_numbers_in_a_wav_header_give_audio_or_a_coded_error(size: int, rate: int, channels: int) -> None:
    data = bytearray(with_data_size(encode(tone(0.5)), size))
    struct.pack_into("<HI", data, 22, channels, rate)
    attempt(bytes(data))


@pytest.mark.parametrize(("container", "codec"), [("ogg", "libopus"), ("ipod", "aac"), ("mp3", "libmp3lame")])
@given(seed=st.integers(0, 2**32 - 1), spoilt=st.integers(1, 40))
@settings(deadline=None, max_examples=30)
def test_any_damage_gives_audio_or_a_coded_error(container: str, codec: str, seed: int, spoilt: int) -> None:
    data = bytearray(encode_with_ffmpeg(tone(0.3, 48_000), 48_000, container, codec))
    generator = np.random.default_rng(seed)
    for position in generator.integers(0, len(data), spoilt):
        data[position] = generator.integers(256)
    attempt(bytes(data))


@given(
    inputs=st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
        lambda inner: (
            st.lists(inner) | st.dictionaries(st.sampled_from(["array", "raw", "audio", "sampling_rate", "x"]), inner)
        ),
    )
)
@settings(deadline=None)
def test_any_json_gives_audio_or_a_coded_error(inputs: object) -> None:
    attempt(inputs)


@given(samples=st.lists(st.floats(width=32) | st.integers(-(2**40), 2**40), min_size=1, max_size=400))
@settings(deadline=None)
def test_any_numbers_give_audio_or_a_coded_error(samples: list[float]) -> None:
    attempt({"array": samples, "sampling_rate": 16_000})


@pytest.mark.parametrize("inputs", [[], [[]], [[], []], {"array": np.zeros((2, 0))}, {"raw": ()}])
def test_no_samples_are_refused(inputs: object) -> None:
    with pytest.raises(InvalidAudio, match="no audio samples"):
        load(inputs)


@pytest.mark.parametrize("inputs", ["", b"", None, "https://example.com/a.wav"])
def test_what_is_no_payload_is_refused(inputs: object) -> None:
    with pytest.raises(InvalidPayload):
        load(inputs)


def test_ffmpeg_prints_nothing_even_where_another_library_lets_it(
    capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    data = encode_with_ffmpeg(tone(sampling_rate=44_100), 44_100, "ipod", "aac")[:4_000]
    av.logging.set_level(av.logging.ERROR)
    with pytest.raises(InvalidAudio):
        load_audio(data, sampling_rate=None, separate_channels=False, max_bytes=10**6, max_duration_s=60)
    assert capfd.readouterr() == ("", "")
    assert caplog.text == ""
