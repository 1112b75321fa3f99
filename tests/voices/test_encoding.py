"""Encoded speech decodes to what was spoken, as a whole and as a stream."""

import io

import av
import numpy as np
import pytest
from numpy.typing import NDArray

from speech_pipeline.errors import InvalidParameters
from speech_pipeline.voices.encoding import AUDIO_FORMATS, AudioEncoder, StreamSink, encode
from speech_pipeline.voices.voice import Speech

RATES = [16_000, 22_050, 24_000, 44_100]
LOSSLESS = ["wav", "flac", "pcm"]


def tone(rate: int, seconds: float = 1.37) -> NDArray[np.float32]:
    return np.asarray(0.5 * np.sin(2 * np.pi * 440 * np.arange(int(seconds * rate)) / rate), np.float32)


def decode(data: bytes, audio_format: str, rate: int) -> tuple[NDArray[np.float32], int]:
    if audio_format == "pcm":
        return np.frombuffer(data, "<i2").astype(np.float32) / np.float32(32_767), rate
    with av.open(io.BytesIO(data), "r") as container:
        frames = list(container.decode(audio=0))
        resampler = av.AudioResampler("flt", "mono")
        pieces = [piece.to_ndarray()[0] for frame in frames for piece in resampler.resample(frame)]
        return np.concatenate(pieces), frames[0].sample_rate


def streamed(samples: NDArray[np.float32], audio_format: str, rate: int, step: int = 1_000) -> list[bytes]:
    sink = StreamSink()
    sent = []
    with AudioEncoder(audio_format, rate, sink) as encoder:
        for start in range(0, len(samples), step):
            encoder.write(samples[start : start + step])
            sent.append(sink.take())
    return [*sent, sink.take()]


@pytest.mark.parametrize("rate", RATES)
@pytest.mark.parametrize("audio_format", LOSSLESS)
def test_lossless_formats_keep_every_sample(audio_format: str, rate: int) -> None:
    samples = tone(rate)
    for data in (encode(Speech(samples, rate), audio_format), b"".join(streamed(samples, audio_format, rate))):
        decoded, decoded_rate = decode(data, audio_format, rate)
        assert decoded_rate == rate
        np.testing.assert_allclose(decoded, samples, atol=1.1 / 32_768)


@pytest.mark.parametrize("rate", [*RATES, 17_123])
@pytest.mark.parametrize("audio_format", ["mp3", "opus", "aac"])
def test_lossy_formats_keep_the_sound_and_the_length(audio_format: str, rate: int) -> None:
    samples = tone(rate)
    for data in (encode(Speech(samples, rate), audio_format), b"".join(streamed(samples, audio_format, rate))):
        decoded, decoded_rate = decode(data, audio_format, rate)
        assert len(decoded) / decoded_rate == pytest.approx(len(samples) / rate, abs=0.15)
        middle = decoded[int(0.3 * decoded_rate) : int(1.0 * decoded_rate)]
        spectrum = np.abs(np.fft.rfft(middle * np.hanning(len(middle))))
        assert np.argmax(spectrum) * decoded_rate / len(middle) == pytest.approx(440, abs=3)
        assert np.sqrt(np.square(middle).mean()) == pytest.approx(0.5 / np.sqrt(2), rel=0.1)


@pytest.mark.parametrize("audio_format", ["mp3", "opus"])
def test_whole_files_are_as_long_as_the_speech(audio_format: str) -> None:
    decoded, rate = decode(encode(Speech(tone(24_000), 24_000), audio_format), audio_format, 24_000)
    assert len(decoded) / rate == pytest.approx(1.37, abs=1e-3)


@pytest.mark.parametrize("audio_format", AUDIO_FORMATS)
def test_equal_samples_give_equal_bytes(audio_format: str) -> None:
    speech = Speech(tone(24_000), 24_000)
    assert encode(speech, audio_format) == encode(speech, audio_format)


@pytest.mark.parametrize("audio_format", AUDIO_FORMATS)
def test_a_stream_begins_before_all_samples_are_there(audio_format: str) -> None:
    sent = streamed(tone(24_000, 4.0), audio_format, 24_000, step=24_000)
    assert sum(map(len, sent[:2])) > 0.2 * sum(map(len, sent))


@pytest.mark.parametrize("audio_format", AUDIO_FORMATS)
def test_no_samples_make_an_empty_file(audio_format: str) -> None:
    data = encode(Speech(np.zeros(0, np.float32), 24_000), audio_format)
    if audio_format in ("wav", "flac"):
        with av.open(io.BytesIO(data)) as container:
            assert container.streams.audio[0].codec_context.sample_rate == 24_000
    assert len(data) < 10_000


def test_what_is_louder_than_full_scale_is_clipped_and_does_not_wrap() -> None:
    decoded, _ = decode(encode(Speech(np.asarray([2.0, -2.0, 0.0], np.float32), 8_000), "pcm"), "pcm", 8_000)
    np.testing.assert_allclose(decoded, [1.0, -1.0, 0.0])


@pytest.mark.parametrize("audio_format", ["", "WAV", "wma", "../x"])
def test_an_unknown_format_is_refused_with_the_known_ones(audio_format: str) -> None:
    with pytest.raises(InvalidParameters, match="wav, flac, mp3, opus, aac, pcm"):
        encode(Speech(tone(8_000), 8_000), audio_format)


def test_a_failure_within_the_context_is_passed_on() -> None:
    def fail() -> None:
        with AudioEncoder("mp3", 24_000, io.BytesIO()) as encoder:
            encoder.write(tone(24_000))
            raise ValueError("stop")

    with pytest.raises(ValueError, match="stop"):
        fail()
