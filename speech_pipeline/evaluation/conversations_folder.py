"""Made conversations -> a folder that can be evaluated: recordings, turns, and a manifest."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from speech_pipeline.audio.waveform import SAMPLING_RATE
from speech_pipeline.evaluation.conversations import Conversation
from speech_pipeline.formats import to_rttm, to_stm
from speech_pipeline.transcript import Segment, Transcript


def write_conversations(folder: Path, conversations: Iterable[tuple[str, Conversation]]) -> Path:
    """Write each conversation as ``NAME.wav``, ``NAME.rttm`` and ``NAME.stm``, and all of them in a manifest.

    Args:
        folder: made if it is not there.
        conversations: names and conversations; they are written one by one, so a generator saves memory.

    Returns:
        The manifest, ``manifest.json``. Words whose times are not from a reference have none there; ``text`` is in
        the order in which the utterances start, which says little where people speak at once.

    Raises:
        OSError: a file cannot be written.
    """
    import soundfile

    folder.mkdir(parents=True, exist_ok=True)
    entries = []
    for name, conversation in conversations:
        soundfile.write(folder / f"{name}.wav", conversation.samples, SAMPLING_RATE, subtype="PCM_16")
        turns = Transcript(turns=conversation.turns, segments=tuple(_segments(conversation)))
        (folder / f"{name}.rttm").write_text(to_rttm(turns, name), encoding="utf-8")
        (folder / f"{name}.stm").write_text(to_stm(turns, name), encoding="utf-8")
        entries.append(_entry(name, conversation))
    manifest = folder / "manifest.json"
    manifest.write_text(json.dumps(entries, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
    return manifest


def _segments(conversation: Conversation) -> Iterable[Segment]:
    for utterance in conversation.utterances:
        start, end = utterance.start / SAMPLING_RATE, utterance.end / SAMPLING_RATE
        yield Segment(utterance.clip.text, start, end, speaker=utterance.clip.speaker)


def _entry(name: str, conversation: Conversation) -> dict[str, Any]:
    languages = sorted({utterance.clip.language for utterance in conversation.utterances if utterance.clip.language})
    words = [
        {"word": word.text, "speaker": word.speaker, **({"start": word.start, "end": word.end} if timed else {})}
        for utterance in conversation.utterances
        for timed in [utterance.clip.timed]
        for word in utterance.words
    ]
    return {
        "file": f"{name}.wav",
        "language": ",".join(languages) or None,
        "text": " ".join(utterance.clip.text for utterance in conversation.utterances),
        "words": words,
        "rttm": f"{name}.rttm",
        "stm": f"{name}.stm",
        "num_speakers": len(conversation.speakers),
        "source": "made from single-speaker clips",
    }
