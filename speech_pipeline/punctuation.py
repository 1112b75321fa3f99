"""Where sentences and clauses end, by the punctuation of the scripts Whisper writes."""

SENTENCE_ENDS = frozenset(".?!…‥。．｡？！।॥؟۔።፧၊။។៕")
CLAUSE_ENDS = frozenset(",;:，、；：､،؛—–")
CLOSING = "\"'”’»)]}」』）】》〉"
"""Quotation marks and brackets that may follow the punctuation."""


def ends_sentence(text: str) -> bool:
    """Whether the text ends with the punctuation of a sentence's end."""
    return _last_mark(text) in SENTENCE_ENDS


def ends_clause(text: str) -> bool:
    """Whether the text ends with a comma, semicolon, colon or dash."""
    return _last_mark(text) in CLAUSE_ENDS


def _last_mark(text: str) -> str:
    return text.rstrip().rstrip(CLOSING)[-1:]
