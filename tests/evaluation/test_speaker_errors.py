"""Words by speaker: what is counted, and which label stands for whom."""

from speech_pipeline.evaluation.speaker_errors import WordSpeakers, label_mapping, speaker_word_errors, word_speakers
from speech_pipeline.evaluation.tokens import Token
from speech_pipeline.evaluation.word_errors import ErrorCounts, align


def spoken(text: str) -> list[Token]:
    """``"A:hello ?:there"``; the speaker ? is nobody."""
    return [Token(word, None if who == "?" else who) for who, _, word in (part.partition(":") for part in text.split())]


def counted(reference: str, hypothesis: str) -> WordSpeakers:
    said, heard = spoken(reference), spoken(hypothesis)
    return word_speakers(said, heard, align([t.text for t in said], [t.text for t in heard]))


def test_labels_are_named_as_they_please() -> None:
    assert counted("A:a A:b B:c", "B:a B:b A:c") == WordSpeakers(3, 3, 3)


def test_a_label_stands_for_one_speaker_only() -> None:
    assert counted("A:a A:b B:c", "1:a 1:b 1:c") == WordSpeakers(3, 3, 2)


def test_a_speaker_has_one_label_only() -> None:
    assert counted("A:a A:b A:c", "1:a 1:b 2:c") == WordSpeakers(3, 3, 2)


def test_the_mapping_is_the_best_for_all_together() -> None:
    # A goes with 1 three times and with 2 twice, B with 1 twice: 2 + 2 is better than 3 + 0.
    reference, hypothesis = "A:a A:b A:c A:d A:e B:f B:g", "1:a 1:b 1:c 2:d 2:e 1:f 1:g"
    assert counted(reference, hypothesis).right == 4


def test_words_given_to_nobody_are_not_right() -> None:
    assert counted("A:a A:b", "1:a ?:b") == WordSpeakers(2, 2, 1)
    assert counted("A:a", "?:a") == WordSpeakers(1, 1, 0)


def test_words_of_nobody_known_are_not_counted() -> None:
    assert counted("?:a B:b", "1:a 1:b") == WordSpeakers(1, 1, 1)


def test_labels_without_a_word_in_common_stand_for_nobody() -> None:
    said, heard = spoken("A:a"), spoken("1:a 2:b")
    assert label_mapping(said, heard, [(0, 0), (None, 1)]) == {"1": "A"}


def test_speakers_left_over_count_as_deleted_or_inserted() -> None:
    assert speaker_word_errors({"A": "a b", "B": "c"}, {"1": "a b"}) == ErrorCounts(deletions=1, reference=3)
    assert speaker_word_errors({"A": "a b"}, {"1": "a b", "2": "c"}) == ErrorCounts(insertions=1, reference=2)
    assert speaker_word_errors({}, {}) == ErrorCounts()


def test_words_do_not_cross_speakers() -> None:
    assert speaker_word_errors({"A": "a b", "B": "c d"}, {"1": "a b c", "2": "d"}) == ErrorCounts(
        deletions=1, insertions=1, reference=4
    )


def test_more_speakers_than_can_be_scored() -> None:
    assert speaker_word_errors({"A": "a"}, {str(number): "a" for number in range(21)}) is None
