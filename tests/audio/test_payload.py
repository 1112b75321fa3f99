"""What ``inputs`` may hold."""

import base64
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from speech_pipeline.audio.arrays import to_float
from speech_pipeline.audio.payload import EncodedAudio, SampledAudio, read_payload
from speech_pipeline.errors import AudioTooLarge, InvalidPayload

LIMIT = 10_000


def read_bytes(inputs: object, max_bytes: int = LIMIT) -> bytes:
    payload = read_payload(inputs, max_bytes=max_bytes)
    assert isinstance(payload, EncodedAudio)
    return payload.data


def read_samples(inputs: object) -> SampledAudio:
    payload = read_payload(inputs, max_bytes=LIMIT)
    assert isinstance(payload, SampledAudio)
    return payload


@given(data=st.binary(min_size=1), url_safe=st.booleans(), padded=st.booleans(), spaces=st.data())
def test_base64_in_every_dress_gives_the_bytes(
    data: bytes, url_safe: bool, padded: bool, spaces: st.DataObject
) -> None:
    text = (base64.urlsafe_b64encode if url_safe else base64.b64encode)(data).decode()
    text = text if padded else text.rstrip("=")
    gaps = spaces.draw(
        st.lists(st.text(" \t\r\n", max_size=2), min_size=len(text) + 1, max_size=len(text) + 1), label="white space"
    )
    assert read_bytes(gaps[0] + "".join(map("".join, zip(text, gaps[1:], strict=True)))) == data


@pytest.mark.parametrize(
    "header",
    [
        "data:audio/wav;base64,",
        "data:audio/webm;codecs=opus;base64,",
        'data:audio/ogg;codecs="opus";base64,',
        "DATA:;BASE64,",
        " data:;base64,",
    ],
)
def test_data_uri_gives_the_bytes(header: str) -> None:
    assert read_bytes(header + "AAEC/w==") == b"\x00\x01\x02\xff"


def test_data_uri_may_be_percent_encoded() -> None:
    assert read_bytes("data:audio/wav;base64,AAEC%2Fw%3D%3D") == b"\x00\x01\x02\xff"


@pytest.mark.parametrize(
    "inputs", [b"abc", bytearray(b"abc"), memoryview(b"abc"), "YWJj", {"audio": b"abc"}, {"audio": "YWJj"}]
)
def test_bytes_and_text_give_the_bytes(inputs: object) -> None:
    assert read_bytes(inputs) == b"abc"


def test_rate_beside_the_bytes_is_kept() -> None:
    assert read_payload({"audio": "YWJj", "sampling_rate": 8_000}, max_bytes=LIMIT).sampling_rate == 8_000


@pytest.mark.parametrize(
    "text",
    [
        "YWJj*",
        "YWJjY",
        "YW=Jj",
        "YWJj=",
        "YWI==",
        "YWJj====",
        "=",
        "ab+/ab-_",
        "Grüße",
        "data:audio/wav,abc",
        "data:audio/wav;base64",
    ],
)
def test_what_is_not_base64_is_refused(text: str) -> None:
    with pytest.raises(InvalidPayload):
        read_bytes(text)


@pytest.mark.parametrize("url", ["https://example.com/a", "http://[::1]", "s3://bucket/a.wav", "file:///etc/passwd"])
def test_urls_are_named_and_not_repeated(url: str) -> None:
    with pytest.raises(InvalidPayload, match="URL") as caught:
        read_bytes(url)
    assert "base64" in str(caught.value)
    assert url not in str(caught.value)


@pytest.mark.parametrize("path", ["/data/a.wav", "./a", "../a", "~/a", "C:\\a\\b", "meeting.mp3"])
def test_paths_are_named_and_not_opened(path: str) -> None:
    with pytest.raises(InvalidPayload, match="path"):
        read_bytes(path)


def test_an_existing_file_is_not_opened(tmp_path: Any) -> None:
    file = tmp_path / "recording.wav"
    file.write_bytes(b"secret")
    with pytest.raises(InvalidPayload):
        read_bytes(str(file))


@pytest.mark.parametrize("inputs", [b"x" * 101, "QUFB" * 34, {"audio": b"x" * 101}])
def test_more_bytes_than_allowed_are_refused(inputs: object) -> None:
    with pytest.raises(AudioTooLarge) as caught:
        read_bytes(inputs, max_bytes=100)
    assert caught.value.http_status == 413


def test_size_is_checked_before_base64_is_decoded() -> None:
    with pytest.raises(AudioTooLarge):
        read_bytes("*" * 1_000, max_bytes=100)


def test_white_space_does_not_count_as_size() -> None:
    assert len(read_bytes("\n".join("QUFB" * 33) + "\n" * 500, max_bytes=99)) == 99


@pytest.mark.parametrize(
    ("samples", "expected"),
    [
        ([0.5, -0.25, 0.0], [0.5, -0.25, 0.0]),
        ([0, 1, -1], [0.0, 1.0, -1.0]),
        ([0, 16_384, -32_768], [0.0, 0.5, -1.0]),
        ([0, 0.5, 1], [0.0, 0.5, 1.0]),
        (np.array([0, 16_384, -32_768], np.int16), [0.0, 0.5, -1.0]),
        (np.array([0, 1, -1], np.int16), [0.0, 1 / 32_768, -1 / 32_768]),
        (np.array([0, 2**30, -(2**31)], np.int32), [0.0, 0.5, -1.0]),
        (np.array([128, 192, 0], np.uint8), [0.0, 0.5, -1.0]),
        (np.array([0, 64, -128], np.int8), [0.0, 0.5, -1.0]),
        (np.array([0, 16_384, -32_768], np.int64), [0.0, 0.5, -1.0]),
        (np.array([0, 0.5, -1], np.float16), [0.0, 0.5, -1.0]),
    ],
)
def test_samples_are_scaled_by_their_type(samples: Any, expected: list[float]) -> None:
    payload = read_samples({"array": samples, "sampling_rate": 16_000})
    assert payload.sampling_rate == 16_000
    np.testing.assert_array_equal(to_float(payload.frames), np.array(expected, np.float32)[:, np.newaxis])


@pytest.mark.parametrize("key", ["array", "raw", "audio"])
@pytest.mark.parametrize("transposed", [False, True])
def test_the_longer_axis_is_time(key: str, transposed: bool) -> None:
    samples = np.array([[0.1, 0.2, 0.3], [0.4, 0.5, 0.6]])
    given_samples = samples.T if transposed else samples
    for value in (given_samples, given_samples.tolist()):
        np.testing.assert_array_equal(read_samples({key: value}).frames, samples.T)


@pytest.mark.parametrize(
    "samples",
    [
        ["a", "b"],
        ["0.1", "0.2"],
        [True, False],
        [None, 0.1],
        [[0.1, 0.2], [0.1]],
        [[[0.1]]],
        [0.1, [0.2]],
        [0, 32_768],
        [0, -32_769],
        [10**30, 0],
        [10**400, 0.5],
        [{}],
        [b"a"],
        np.zeros((2, 2, 2)),
        np.array(0.5),
        np.array(["0.1"]),
        np.array([1j]),
        np.array([True]),
        np.array([2**63], np.uint64),
    ],
)
def test_what_is_no_list_of_samples_is_refused(samples: Any) -> None:
    with pytest.raises(InvalidPayload):
        read_payload({"array": samples, "sampling_rate": 16_000}, max_bytes=LIMIT)


def test_arrays_are_neither_copied_nor_changed() -> None:
    samples = np.zeros(1_000, np.int16)
    assert np.shares_memory(read_samples(samples).frames, samples)


@pytest.mark.parametrize("rate", [0, -1, 999, 384_001, 10**12, float("nan"), float("inf"), "16000", True, [16_000]])
def test_absurd_rates_are_refused(rate: object) -> None:
    with pytest.raises(InvalidPayload, match="sampling_rate"):
        read_payload({"array": [0.1], "sampling_rate": rate}, max_bytes=LIMIT)


@pytest.mark.parametrize("rate", [22_050, 22_050.0, 22_049.7, np.int32(22_050), np.float64(22_050)])
def test_rates_are_rounded_to_whole_hertz(rate: float) -> None:
    assert read_samples({"array": [0.1], "sampling_rate": rate}).sampling_rate == 22_050


@pytest.mark.parametrize(
    "inputs",
    [
        None,
        1,
        0.5,
        True,
        "",
        " ",
        b"",
        {},
        {"file": "a"},
        {"audio": {}},
        {"audio": "QUFB", "raw": [0.1]},
        {1: 2},
        object(),
    ],
)
def test_other_shapes_are_refused(inputs: object) -> None:
    with pytest.raises(InvalidPayload):
        read_payload(inputs, max_bytes=LIMIT)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: (
        st.lists(inner)
        | st.dictionaries(st.text() | st.sampled_from(["array", "raw", "audio", "sampling_rate"]), inner)
    ),
)


@given(inputs=JSON)
def test_any_json_gives_a_payload_or_a_coded_error(inputs: object) -> None:
    try:
        payload = read_payload(inputs, max_bytes=LIMIT)
    except (InvalidPayload, AudioTooLarge):
        return
    assert isinstance(payload, (EncodedAudio, SampledAudio))
