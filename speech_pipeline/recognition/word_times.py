"""Words with their times in the recording."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from speech_pipeline.recognition.alignment import Reading, align
from speech_pipeline.recognition.vocabulary import Vocabulary
from speech_pipeline.recognition.windows import Window
from speech_pipeline.recognition.words import WITHOUT_SPACES, split_words
from speech_pipeline.transcript import Word


def time_words(
    vocabulary: Vocabulary, ids: Sequence[int], language: str, window: Window, reading: Reading
) -> list[Word]:
    """Split a text into words and place them in the recording.

    Args:
        vocabulary: of the model that wrote the text.
        ids: token ids of the text, without the end token.
        language: code of the language of the text.
        window: what was heard.
        reading: what the model says about the text.

    Returns:
        Words whose times are finite, in order, and inside the window's pieces of the recording.
    """
    if not ids:
        return []
    words = split_words(vocabulary, ids, language)
    spans = align(reading.attention, [word.spoken or word.tokens for word in words])
    timed: list[Word] = []
    for word, (begin, finish) in zip(words, spans, strict=True):
        start, end = window.place(begin, finish)
        start = max(start, timed[-1].start) if timed else start
        end = max(start, end)
        probability = np.exp(reading.log_probabilities[word.tokens.start : word.tokens.stop]).mean()
        timed.append(Word(word.text, start, end, float(probability)))
    if language not in WITHOUT_SPACES and not timed[0].text[:1].isspace():
        # Fine-tuned models may write no space first; the text of the window before this one must not run into it.
        timed[0] = replace(timed[0], text=f" {timed[0].text}")
    return timed
