"""Words with their times in the recording."""

from collections.abc import Sequence

import numpy as np

from speech_pipeline.recognition.alignment import Reading, align
from speech_pipeline.recognition.vocabulary import Vocabulary
from speech_pipeline.recognition.windows import Window
from speech_pipeline.recognition.words import split_words
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
        start = max(timed[-1].start if timed else window.start, window.to_recording(begin))
        end = max(start, window.to_recording(finish, is_end=True))
        probability = np.exp(reading.log_probabilities[word.tokens.start : word.tokens.stop]).mean()
        timed.append(Word(word.text, start, end, float(probability)))
    return timed
