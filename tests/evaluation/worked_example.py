"""One recording of two speakers, what is known about it, and a transcript whose errors are counted by hand."""

from pathlib import Path

from speech_pipeline.evaluation.manifest import Recording, ReferenceWord
from speech_pipeline.transcript import Segment, SpeakerTurn, Transcript, Word

SAID = (
    ("So", 0.2, "Ann"),
    ("hello", 0.5, "Ann"),
    ("there,", 1.0, "Ann"),
    ("Mr.", 1.5, "Ann"),
    ("Smith.", 2.0, "Ann"),
    ("I", 4.5, "Bob"),
    ("have", 5.0, "Bob"),
    ("two", 5.5, "Bob"),
    ("dogs", 6.0, "Bob"),
    ("now.", 6.5, "Bob"),
)
HEARD = (
    (" Hello", 0.6, "SPEAKER_00"),
    (" their", 1.0, "SPEAKER_00"),
    (" mister", 1.5, "SPEAKER_00"),
    (" Smith.", 2.2, "SPEAKER_00"),
    (" I", 4.5, "SPEAKER_00"),
    (" have", 5.1, "SPEAKER_01"),
    (" 2", 5.5, "SPEAKER_01"),
    (" dogs", 6.4, "SPEAKER_01"),
    (" now,", 6.5, "SPEAKER_01"),
    (" okay.", 6.9, "SPEAKER_01"),
)


def recording(path: Path = Path("call.wav")) -> Recording:
    return Recording(
        name=path.name,
        path=path,
        languages=("en",),
        text=" ".join(word for word, _, _ in SAID),
        words=tuple(ReferenceWord(word=word, start=start, speaker=speaker) for word, start, speaker in SAID),
        turns=(SpeakerTurn("Ann", 0.0, 4.0), SpeakerTurn("Bob", 4.0, 9.0)),
        num_speakers=2,
    )


def transcript(*, diarized: bool = True) -> Transcript:
    segments = tuple(_segment(words, diarized=diarized) for words in (HEARD[:5], HEARD[5:]))
    return Transcript(
        segments=segments,
        speaker_segments=segments if diarized else (),
        turns=(SpeakerTurn("SPEAKER_00", 0.5, 5.0), SpeakerTurn("SPEAKER_01", 5.0, 9.5)) if diarized else (),
        language="en",
        duration=10.0,
        timings={"diarization": 0.1} if diarized else {},
    )


def _segment(words: tuple[tuple[str, float, str], ...], *, diarized: bool) -> Segment:
    return Segment(
        text="".join(text for text, _, _ in words),
        start=words[0][1],
        end=words[-1][1] + 0.2,
        words=tuple(
            Word(text, start, start + 0.2, speaker=speaker if diarized else None) for text, start, speaker in words
        ),
        speaker=words[0][2] if diarized else None,
        language="en",
    )
