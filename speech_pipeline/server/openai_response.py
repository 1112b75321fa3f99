"""A transcript in the formats of OpenAI's API."""

import json
import math
from collections.abc import Iterable
from typing import Any

from speech_pipeline.languages import language_name
from speech_pipeline.server.openai_request import TranscriptionRequest
from speech_pipeline.transcript import Segment, Transcript, Word

FRAMES_PER_SECOND = 100
"""Steps of ``seek``, which counts Whisper's spectrogram frames."""

UNKNOWN_SPEAKER = "unknown"
"""Label of speech that no speaker was found for."""

_LEAST_PROBABILITY = 1e-9


def response_of(transcript: Transcript, asked: TranscriptionRequest) -> tuple[bytes, str]:
    """The body and its media type."""
    if asked.response_format in ("srt", "vtt"):
        media_type = "text/vtt" if asked.response_format == "vtt" else "application/x-subrip"
        return (transcript.formatted or "").encode(), f"{media_type}; charset=utf-8"
    if asked.response_format == "text":
        return f"{transcript.text}\n".encode(), "text/plain; charset=utf-8"
    content: dict[str, Any] = {"text": transcript.text}
    if asked.response_format != "json":
        content |= {"task": asked.task, "duration": _seconds(transcript.duration)}
    if asked.response_format == "verbose_json":
        content |= _verbose(transcript, asked)
    if asked.response_format == "diarized_json":
        content["segments"] = diarized_segments(transcript)
    if asked.logprobs:
        content["logprobs"] = logprobs(transcript.words)
    content["usage"] = {"type": "duration", "seconds": math.ceil(transcript.duration)}
    if warnings := (*asked.warnings, *transcript.warnings):
        content["warnings"] = list(warnings)
    return json.dumps(content, ensure_ascii=False, allow_nan=False).encode(), "application/json"


def server_timing(transcript: Transcript, queue_s: float) -> str:
    """The time of each stage, in the form of the header ``Server-Timing``."""
    stages = {"queue": queue_s, **transcript.timings}
    return ", ".join(f"{stage};dur={seconds * 1000:.1f}" for stage, seconds in stages.items())


def diarized_segments(transcript: Transcript) -> list[dict[str, Any]]:
    """Segments with their speakers, who are called A, B, ... in the order in which they are first heard."""
    labels: dict[str, str] = {}
    for segment in transcript.speaker_segments:
        if segment.speaker is not None:
            labels.setdefault(segment.speaker, _letters(len(labels)))
    return [
        {
            "type": "transcript.text.segment",
            "id": f"seg_{index:03d}",
            "start": _seconds(segment.start),
            "end": _seconds(segment.end),
            "text": segment.text.strip(),
            "speaker": labels[segment.speaker] if segment.speaker is not None else UNKNOWN_SPEAKER,
        }
        for index, segment in enumerate(transcript.speaker_segments)
    ]


def logprobs(words: Iterable[Word]) -> list[dict[str, Any]]:
    """The natural logarithm of each word's probability; words stand in for tokens."""
    return [
        {
            "token": word.text,
            "bytes": list(word.text.encode()),
            "logprob": round(math.log(max(float(word.probability), _LEAST_PROBABILITY)), 4),
        }
        for word in words
    ]


def _verbose(transcript: Transcript, asked: TranscriptionRequest) -> dict[str, Any]:
    language = "english" if asked.task == "translate" else _language(transcript.language)
    content: dict[str, Any] = {"language": language}
    if "segment" in asked.granularities:
        segments = transcript.speaker_segments or transcript.segments
        content["segments"] = [_segment(index, segment) for index, segment in enumerate(segments)]
    if "word" in asked.granularities:
        content["words"] = [
            {"word": word.text.strip(), "start": _seconds(word.start), "end": _seconds(word.end)}
            | ({"speaker": word.speaker} if word.speaker else {})
            for word in transcript.words
        ]
    return content


def _segment(index: int, segment: Segment) -> dict[str, Any]:
    return {
        "id": index,
        "seek": round(segment.start * FRAMES_PER_SECOND),
        "start": _seconds(segment.start),
        "end": _seconds(segment.end),
        "text": segment.text,
        "tokens": [],
        "temperature": float(segment.temperature),
        "avg_logprob": round(float(segment.average_log_probability), 4),
        "compression_ratio": round(float(segment.compression_ratio), 4),
        "no_speech_prob": round(float(segment.no_speech_probability), 6),
    } | ({"speaker": segment.speaker} if segment.speaker else {})


def _language(code: str | None) -> str:
    return language_name(code) if code else "unknown"


def _letters(index: int) -> str:
    """A, B, ..., Z, AA, AB, ..."""
    letters = ""
    index += 1
    while index:
        index, digit = divmod(index - 1, 26)
        letters = chr(ord("A") + digit) + letters
    return letters


def _seconds(value: float) -> float:
    return round(float(value), 3)
