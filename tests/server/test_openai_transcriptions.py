"""Every field and every format of OpenAI's transcription API, asked for with OpenAI's own client."""

import json
import math
from collections.abc import Iterator
from typing import Any

import openai
import pytest
import requests
from openai.types.audio import (
    Transcription,
    TranscriptionDiarized,
    TranscriptionTextDeltaEvent,
    TranscriptionTextDoneEvent,
    TranscriptionVerbose,
)

from speech_pipeline.errors import RecognitionFailed
from speech_pipeline.listener import Listener
from tests.server.running import TIMEOUT_S, running
from tests.server.scripted import Gate, ScriptedPipeline

TEXT = "Hello there. Good bye."
FILE = ("call.wav", b"RIFF recording")
WITHOUT_TURNS = {"segments": [], "duration": 2.5, "text": TEXT, "task": "transcribe"}


def work(recording: bytes, listener: Listener) -> None:
    if recording == b"fault":
        raise RecognitionFailed("Recognition failed for a reason that is not in the request.")


@pytest.fixture(scope="module")
def pipeline() -> ScriptedPipeline:
    return ScriptedPipeline(work)


@pytest.fixture(scope="module")
def url(pipeline: ScriptedPipeline) -> Iterator[str]:
    with running(lambda: pipeline) as url:
        yield url


@pytest.fixture(params=["/v1", "/api/v1"])
def client(url: str, request: pytest.FixtureRequest) -> openai.OpenAI:
    return client_of(url + request.param)


def client_of(base_url: str, **options: Any) -> openai.OpenAI:
    return openai.OpenAI(base_url=base_url, api_key="any", max_retries=0, timeout=TIMEOUT_S, **options)


def post(url: str, fields: list[tuple[str, str]], path: str = "/v1/audio/transcriptions") -> requests.Response:
    return requests.post(url + path, files={"file": FILE}, data=fields, timeout=TIMEOUT_S)


def test_json(client: openai.OpenAI) -> None:
    result = client.audio.transcriptions.create(file=FILE, model="whisper-1")
    assert isinstance(result, Transcription)
    assert result.text == TEXT
    assert result.usage is not None
    assert result.usage.type == "duration"
    assert result.usage.seconds == 3
    assert result._request_id is not None


def test_text(client: openai.OpenAI) -> None:
    assert client.audio.transcriptions.create(file=FILE, model="whisper-1", response_format="text") == f"{TEXT}\n"


def test_subtitles(client: openai.OpenAI) -> None:
    srt = client.audio.transcriptions.create(file=FILE, model="whisper-1", response_format="srt")
    assert srt.startswith("1\n00:00:00,000 --> ")
    vtt = client.audio.transcriptions.create(file=FILE, model="whisper-1", response_format="vtt")
    assert vtt.startswith("WEBVTT\n")
    assert "Hello there." in vtt


def test_verbose_json(client: openai.OpenAI) -> None:
    result = client.audio.transcriptions.create(file=FILE, model="whisper-1", response_format="verbose_json")
    assert isinstance(result, TranscriptionVerbose)
    assert (result.text, result.language, result.duration, result.words) == (TEXT, "english", 2.5, None)
    assert result.segments is not None
    [hello, bye] = result.segments
    assert hello.model_dump() == {
        "id": 0, "seek": 0, "start": 0.0, "end": 1.0, "text": " Hello there.", "tokens": [], "temperature": 0.0,
        "avg_logprob": -0.25, "compression_ratio": 1.2, "no_speech_prob": 0.01,
    }  # fmt: skip
    assert (bye.id, bye.seek, bye.start) == (1, 150, 1.5)


@pytest.mark.parametrize("granularities", [["word"], ["segment"], ["word", "segment"]])
def test_granularities(client: openai.OpenAI, pipeline: ScriptedPipeline, granularities: list[Any]) -> None:
    result = client.audio.transcriptions.create(
        file=FILE, model="whisper-1", response_format="verbose_json", timestamp_granularities=granularities
    )
    assert (result.words is not None) == ("word" in granularities)
    assert (result.segments is not None) == ("segment" in granularities)
    assert pipeline.configs[-1].word_timestamps == ("word" in granularities)
    if result.words is not None:
        assert [word.word for word in result.words] == ["Hello", "there.", "Good", "bye."]
        assert (result.words[1].start, result.words[1].end) == (0.5, 1.0)


@pytest.mark.parametrize(
    "fields",
    [
        [("timestamp_granularities[]", "word"), ("timestamp_granularities[]", "segment")],
        [("timestamp_granularities", "word"), ("timestamp_granularities", "segment")],
        [("timestamp_granularities[0]", "word"), ("timestamp_granularities[1]", "segment")],
        [("timestamp_granularities", "word,segment")],
        [("timestamp_granularities", '["word", "segment"]')],
    ],
)
def test_spellings_of_lists(url: str, fields: list[tuple[str, str]]) -> None:
    response = post(url, [("response_format", "verbose_json"), *fields])
    assert {"words", "segments"} <= set(response.json())


def test_diarized_json(client: openai.OpenAI, pipeline: ScriptedPipeline) -> None:
    result = client.audio.transcriptions.create(file=FILE, model="whisper-1", response_format="diarized_json")
    assert isinstance(result, TranscriptionDiarized)
    assert result.model_dump(exclude={"usage"}) == WITHOUT_TURNS
    assert pipeline.configs[-1].diarize is True


def test_options_reach_the_pipeline(client: openai.OpenAI, pipeline: ScriptedPipeline) -> None:
    client.audio.transcriptions.create(
        file=FILE, model="whisper-1", language="de", prompt="Guten Tag.", temperature=0.4, keywords=["Ähre", "Äther"],
        extra_body={"num_beams": 3, "new_field_of_openai": {"deep": [1]}},
    )  # fmt: skip
    config = pipeline.configs[-1]
    assert (config.task, config.language, config.prompt) == ("transcribe", "de", "Guten Tag.")
    assert (config.temperature, config.hotwords, config.num_beams) == ((0.4, 0.6, 0.8, 1.0), "Ähre Äther", 3)
    assert config.diarize is False


@pytest.mark.parametrize(("languages", "told"), [(["de"], "de"), (["de", "fr"], None)])
def test_languages(client: openai.OpenAI, pipeline: ScriptedPipeline, languages: list[str], told: str | None) -> None:
    client.audio.transcriptions.create(file=FILE, model="whisper-1", languages=languages)
    assert pipeline.configs[-1].language == told


@pytest.mark.parametrize(
    ("strategy", "warned"),
    [("auto", False), ({"type": "server_vad"}, False), ({"type": "server_vad", "threshold": 0.7}, True)],
)
def test_chunking_strategy(client: openai.OpenAI, strategy: Any, warned: bool) -> None:
    result = client.audio.transcriptions.create(file=FILE, model="whisper-1", chunking_strategy=strategy)
    assert result.text == TEXT
    assert ("threshold" in str((result.model_extra or {}).get("warnings"))) == warned


def test_logprobs(client: openai.OpenAI) -> None:
    result = client.audio.transcriptions.create(file=FILE, model="whisper-1", include=["logprobs"])
    assert result.logprobs is not None
    assert [entry.token for entry in result.logprobs] == [" Hello", " there.", " Good", " bye."]
    assert bytes(int(byte) for byte in result.logprobs[0].bytes or ()) == b" Hello"
    assert result.logprobs[1].logprob == pytest.approx(math.log(0.5), abs=1e-3)


def test_translation(client: openai.OpenAI, pipeline: ScriptedPipeline) -> None:
    assert client.audio.translations.create(file=FILE, model="whisper-1").text == TEXT
    assert pipeline.configs[-1].task == "translate"
    verbose = client.audio.translations.create(file=FILE, model="whisper-1", response_format="verbose_json")
    assert verbose.language == "english"
    with pytest.raises(openai.UnprocessableEntityError, match="response_format must be one of"):
        client.audio.translations.create(file=FILE, model="whisper-1", response_format="diarized_json")  # type: ignore[call-overload]


def test_timings_are_in_a_header(url: str) -> None:
    timing = post(url, []).headers["server-timing"]
    assert timing.startswith("queue;dur=")
    assert timing.endswith("recognition;dur=400.0, total;dur=500.0")


def test_stream(client: openai.OpenAI) -> None:
    stream = client.audio.transcriptions.create(file=FILE, model="whisper-1", stream=True, include=["logprobs"])
    hello, bye, done = list(stream)
    assert isinstance(hello, TranscriptionTextDeltaEvent)
    assert isinstance(bye, TranscriptionTextDeltaEvent)
    assert isinstance(done, TranscriptionTextDoneEvent)
    assert (hello.delta, bye.delta, done.text) == ("Hello there.", " Good bye.", TEXT)
    assert [entry.token for entry in bye.logprobs or ()] == [" Good", " bye."]
    assert len(done.logprobs or ()) == 4


def test_stream_is_of_data_only(url: str) -> None:
    response = post(url, [("stream", "true")])
    assert response.headers["content-type"] == "text/event-stream; charset=utf-8"
    *events, end = response.text.split("\n\n")
    assert end == ""
    assert [json.loads(event.removeprefix("data: "))["type"] for event in events] == [
        "transcript.text.delta", "transcript.text.delta", "transcript.text.done",
    ]  # fmt: skip


def test_stream_comes_while_the_work_goes_on() -> None:
    gate = Gate()

    class Early(ScriptedPipeline):
        def transcribe(self, inputs: object, config: Any, progress: Any = None, listener: Any = None) -> Any:
            if listener is not None and isinstance(inputs, bytes):
                listener.on_segments(super().transcribe(inputs, config).segments[:1])
                gate(inputs, listener)
                raise RecognitionFailed("Recognition failed for a reason that is not in the request.")
            return super().transcribe(inputs, config)

    with running(Early) as url:
        stream = client_of(f"{url}/v1").audio.transcriptions.create(file=FILE, model="whisper-1", stream=True)
        events = iter(stream)
        first = next(events)
        assert isinstance(first, TranscriptionTextDeltaEvent)
        assert first.delta == "Hello there."
        gate.open.set()
        with pytest.raises(openai.APIError, match="Recognition failed"):
            next(events)


def test_error_before_a_stream_has_its_status(client: openai.OpenAI) -> None:
    with pytest.raises(openai.UnprocessableEntityError) as caught:
        client.audio.transcriptions.create(file=("a.wav", b"no audio"), model="whisper-1", stream=True)
    assert caught.value.code == "invalid_audio"


@pytest.mark.parametrize(
    ("fields", "status", "told"),
    [
        (
            {"response_format": "xml"},
            422,
            "response_format must be one of json, text, srt, verbose_json, vtt",
        ),
        ({"timestamp_granularities[]": "letter"}, 422, "timestamp_granularities must be word or segment, got 'letter'"),
        ({"stream": "perhaps"}, 422, "stream must be true or false"),
        ({"temperature": "2"}, 422, "temperature: must be from 0 to 1"),
        ({"language": "klingon"}, 422, "language"),
        ({"chunking_strategy": "words"}, 422, 'chunking_strategy must be "auto"'),
        ({"chunking_strategy[type]": "none"}, 422, 'chunking_strategy must be "auto"'),
    ],
)
def test_wrong_fields(url: str, fields: dict[str, str], status: int, told: str) -> None:
    response = post(url, list(fields.items()))
    assert response.status_code == status, response.text
    error = response.json()["error"]
    assert told in error["message"]
    assert (error["type"], error["code"], error["param"]) == ("invalid_request_error", "invalid_parameters", None)


def test_file_is_missing(url: str) -> None:
    for options in ({"files": {"other": FILE}}, {"files": {"file": (None, "/etc/passwd")}}, {"json": {"file": "x"}}):
        response = requests.post(f"{url}/v1/audio/transcriptions", timeout=TIMEOUT_S, **options)  # type: ignore[arg-type]
        assert response.status_code == 400
        assert response.json()["error"]["code"] == "invalid_payload"


def test_failure_of_the_server(client: openai.OpenAI) -> None:
    with pytest.raises(openai.InternalServerError, match="Recognition failed") as caught:
        client.audio.transcriptions.create(file=("a.wav", b"fault"), model="whisper-1")
    assert (caught.value.code, caught.value.type) == ("recognition_failed", "server_error")


def test_models(client: openai.OpenAI) -> None:
    assert [model.id for model in client.models.list()] == ["whisper-1"]
    assert client.models.retrieve("whisper-1").object == "model"
    with pytest.raises(openai.NotFoundError):
        client.models.retrieve("nobody/nothing")
