"""Speech to words: windows, Whisper decoding, guards against hallucination, and the alignment of words to time."""
