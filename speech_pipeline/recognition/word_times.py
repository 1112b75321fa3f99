"""Words with their times in the recording."""

from collections.abc import Sequence

import numpy as np
from torch import Tensor

from speech_pipeline.recognition.alignment import FRAME_S, align
from speech_pipeline.recognition.vocabulary import Vocabulary
from speech_pipeline.recognition.windows import Window
from speech_pipeline.recognition.words import split_words
from speech_pipeline.transcript import Word


def time_words(
    vocabulary: Vocabulary,
    ids: Sequence[int],
    language: str,
    window: Window,
    attention: Tensor,
    log_probabilities: Tensor,
) -> list[Word]:
    """Split a text into words and place them in the recording.

    Args:
        vocabulary: of the model that wrote the text.
        ids: token ids of the text, without the end token.
        language: code of the language of the text.
        window: what was heard.
        attention: float32 [heads, tokens + 1, frames] at the positions that predict the tokens and the end token.
        log_probabilities: float32 [tokens + 1].

    Returns:
        Words whose times are finite, in order, and inside the window's pieces of the recording.
    """
    if not ids:
        return []
    words = split_words(vocabulary, ids, language)
    frames = int(np.ceil(window.duration / FRAME_S))
    spans = align(attention.float().cpu().numpy(), [word.spoken or word.tokens for word in words], frames)
    probabilities = log_probabilities.exp().cpu().numpy()
    timed = []
    previous = window.start
    for word, (begin, finish) in zip(words, spans, strict=True):
        start = max(previous, window.to_recording(begin))
        end = max(start, window.to_recording(finish, is_end=True))
        previous = start
        timed.append(Word(word.text, start, end, float(probabilities[word.tokens.start : word.tokens.stop].mean())))
    return timed
