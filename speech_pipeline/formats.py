"""Transcript -> text formats: JSON, plain text, SubRip, WebVTT, RTTM and STM.

RTTM and STM are the formats of the NIST scoring tools: who speaks when, and who says what when. Their fields are parted
by spaces.
"""

import json
import re
from collections.abc import Iterable

import pysubs2

from speech_pipeline.errors import InvalidParameters
from speech_pipeline.subtitles import Cue, layout
from speech_pipeline.transcript import Segment, SpeakerTurn, Transcript

PARAGRAPH_PAUSE_S = 2.0
"""Silence after which plain text begins a new paragraph."""

FORMATS = ("json", "txt", "srt", "vtt", "rttm", "stm")

# A tag to a reader of SubRip, a label to one of STM; written as a single guillemet.
_TAG_START = re.compile(r"<(?=\s*/?\s*[a-zA-Z])")


def format_transcript(transcript: Transcript, format: str, recording: str = "recording") -> str | None:
    """The transcript in a text format; None for ``"json"``, which is the response itself.

    Args:
        transcript: what was said.
        format: one of ``FORMATS``.
        recording: name of the recording in RTTM and STM.

    Raises:
        InvalidParameters: there is no such format.
    """
    match format:
        case "json":
            return None
        case "txt":
            return to_txt(transcript)
        case "srt":
            return to_srt(transcript)
        case "vtt":
            return to_vtt(transcript)
        case "rttm":
            return to_rttm(transcript, recording)
        case "stm":
            return to_stm(transcript, recording)
        case _:
            raise InvalidParameters(f"format must be one of {', '.join(FORMATS)}.")


def to_json(transcript: Transcript) -> str:
    """The response to the caller as indented JSON text."""
    return json.dumps(transcript.to_response(), ensure_ascii=False, allow_nan=False, indent=2) + "\n"


def to_txt(transcript: Transcript) -> str:
    """Paragraphs parted by empty lines, each of one speaker, with the speaker before it where known."""
    paragraphs: list[list[Segment]] = []
    for segment in transcript.speaker_segments or transcript.segments:
        last = paragraphs[-1][-1] if paragraphs else None
        if last and last.speaker == segment.speaker and segment.start - last.end < PARAGRAPH_PAUSE_S:
            paragraphs[-1].append(segment)
        else:
            paragraphs.append([segment])
    lines = []
    for paragraph in paragraphs:
        text = _one_line("".join(segment.text for segment in paragraph))
        speaker = _one_line(paragraph[0].speaker or "")
        if text:
            lines.append(f"{speaker}: {text}" if speaker else text)
    return "\n\n".join(lines) + "\n" if lines else ""


def to_srt(transcript: Transcript) -> str:
    """SubRip subtitles; ``SPEAKER_00: `` stands before the text where the speaker is known.

    SubRip has no escapes: ``-->`` is written as an arrow, and ``<`` that would begin a tag as a single guillemet.
    """
    cues = layout(transcript, name_speakers=True)
    return _subtitles(cues, "srt", [_TAG_START.sub("\u2039", "\n".join(cue.lines).replace("-->", "→")) for cue in cues])


def to_vtt(transcript: Transcript) -> str:
    """WebVTT subtitles (https://www.w3.org/TR/webvtt1/) with a voice tag where the speaker is known."""
    cues = layout(transcript)
    return _subtitles(cues, "vtt", [_voice(cue) + _escape("\n".join(cue.lines)) for cue in cues])


def to_rttm(transcript: Transcript, recording: str = "recording") -> str:
    """Speaker turns as Rich Transcription Time Marked, one line a turn, empty where speakers are not known."""
    turns: Iterable[SpeakerTurn] = transcript.turns or (
        SpeakerTurn(segment.speaker, segment.start, segment.end)
        for segment in transcript.speaker_segments
        if segment.speaker is not None
    )
    name = _field(recording)
    return "".join(
        f"SPEAKER {name} 1 {turn.start:.3f} {turn.duration:.3f} <NA> <NA> {_field(turn.speaker)} <NA> <NA>\n"
        for turn in turns
        if round(turn.duration, 3) > 0
    )


def to_stm(transcript: Transcript, recording: str = "recording") -> str:
    """What is said as Segment Time Marks, one line a segment; the speaker is ``<NA>`` where not known."""
    name = _field(recording)
    lines = []
    for segment in transcript.speaker_segments or transcript.segments:
        text = _TAG_START.sub("\u2039", _one_line(segment.text))
        if text:
            channel = (segment.channel or 0) + 1
            speaker = _field(segment.speaker) if segment.speaker else "<NA>"
            end = max(segment.start, segment.end)
            lines.append(f"{name} {channel} {speaker} {segment.start:.3f} {end:.3f} {text}\n")
    return "".join(lines)


def _subtitles(cues: Iterable[Cue], format: str, texts: Iterable[str]) -> str:
    file = pysubs2.SSAFile()
    for cue, text in zip(cues, texts, strict=True):
        # pysubs2 reads a backslash as the start of markup: it becomes the operator that looks like one.
        lines = text.replace("\\", "\u29f5").replace("\n", "\\N")
        file.append(pysubs2.SSAEvent(start=round(cue.start * 1000), end=round(cue.end * 1000), text=lines))
    return file.to_string(format, keep_ssa_tags=True)


def _voice(cue: Cue) -> str:
    return f"<v {_escape(_one_line(cue.speaker))}>" if cue.speaker else ""


def _escape(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _field(text: str) -> str:
    """A field without white space that does not begin a comment (``;;``)."""
    return "_".join(text.split()).lstrip(";") or "recording"
