"""Bounds of what a voice is asked, for those who check requests and need no library of arrays."""

MIN_SPEED, MAX_SPEED = 0.5, 2.0
"""Bounds of ``speed``; within them every engine stays intelligible."""

MAX_TEXT_CHARACTERS = 20_000
"""The longest text of one call, about 25 minutes of speech."""
