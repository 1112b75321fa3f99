"""A question -> an answer in text and in voice: language model, speakable pieces, speech."""
