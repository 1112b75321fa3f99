"""Decoded rows to recognitions: the kept text as segments, or the two parts in which a window is heard again."""

from dataclasses import replace

import torch

from speech_pipeline.recognition.guards import is_silence
from speech_pipeline.recognition.recognizer import Halves, Recognition
from speech_pipeline.recognition.rows import Row
from speech_pipeline.recognition.segments import split_segments
from speech_pipeline.recognition.vocabulary import Vocabulary
from speech_pipeline.recognition.windows import halve
from speech_pipeline.recognition.word_times import time_words
from speech_pipeline.stopwatch import Stopwatch
from speech_pipeline.transcript import Segment

MIN_HALF_S = 1.0
"""A window whose text was cut is not cut into shorter parts than this, in seconds."""

MIN_DOUBTFUL_HALF_S = 5.0
"""The same of a window whose text is doubtful at every temperature; the model needs some context."""


def finish(row: Row, vocabulary: Vocabulary, stopwatch: Stopwatch) -> Recognition | Halves:
    """What a decoded row says, or two parts of it that are to be decoded in its place.

    Parts are for a text that takes more tokens than the decoder has positions for, and for one in which the model lost
    its thread, as it does where voices differ in level or phrases come again; it finds it more easily in less.

    Args:
        row: its attempts are let go.
        vocabulary: of the model that decoded it.
        stopwatch: told how long ``alignment`` takes.
    """
    best, row.best = row.best, None
    assert best is not None
    if is_silence(row.no_speech_probability, best.average_log_probability, row.config):
        return Recognition((), row.language)
    if row.doubtful or not best.complete:
        shortest = MIN_DOUBTFUL_HALF_S if row.doubtful else MIN_HALF_S
        if row.window.duration >= 2 * shortest:
            first, second = (
                replace(row, window=half, elected=row.language, doubtful=True) for half in halve(row.window)
            )
            return first, second
    warnings = []
    if row.doubtful or not best.complete:
        warnings.append(
            f"The text from {row.window.start:.1f} s to {row.window.end:.1f} s is doubtful: the model repeats "
            "itself or is unsure."
        )
    written = "en" if row.config.task == "translate" else row.language
    with torch.inference_mode(), stopwatch.stage("alignment"):
        words = time_words(vocabulary, best.tokens, written, row.window, best.reading)
    segments = tuple(
        Segment(
            text="".join(word.text for word in group),
            start=group[0].start,
            end=group[-1].end,
            words=group,
            language=row.language,
            average_log_probability=best.average_log_probability,
            compression_ratio=best.compression_ratio,
            no_speech_probability=row.no_speech_probability,
            temperature=best.temperature,
            channel=row.window.channel,
        )
        for group in split_segments(words)
    )
    return Recognition(segments, row.language, tuple(warnings))
