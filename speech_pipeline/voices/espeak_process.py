"""A program that speaks one text with the eSpeak NG library.

It is run as a process of its own, because the library has state that lives as long as the process: what it spoke before
changes what it speaks next, one thread at a time may use it, and a text it cannot bear would take the caller down.
Only the standard library is imported, so that it starts in a few hundredths of a second.

Usage: ``espeak_process.py LIBRARY DATA VOICE WORDS_PER_MINUTE < text > samples``. DATA is the folder that holds
``espeak-ng-data``. The text is UTF-8. The output is the sampling rate in Hz as 4 bytes, then 16-bit samples, all
little-endian. The exit status is 0, or 1 with a message when the library refuses.
"""

import ctypes
import sys
from typing import Any

# Values of espeak-ng/speak_lib.h.
_OUTPUT_SYNCHRONOUS = 2
_INITIALIZE_DONT_EXIT = 0x8000
_CHARACTERS_UTF8 = 1
_POSITION_CHARACTER = 1
_RATE = 1
_CONTINUE = 0

_SynthesisCallback = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(ctypes.c_short), ctypes.c_int, ctypes.c_void_p)


def main(library_path: str, data: str, voice: str, words_per_minute: str) -> None:
    """Speak standard input to standard output."""
    library = ctypes.CDLL(library_path)
    sampling_rate = library.espeak_Initialize(_OUTPUT_SYNCHRONOUS, 0, data.encode(), _INITIALIZE_DONT_EXIT)
    _check(sampling_rate > 0, "the data was not found")
    output = sys.stdout.buffer
    output.write(sampling_rate.to_bytes(4, "little"))

    def receive(samples: Any, count: int, _events: Any) -> int:
        if samples and count > 0:
            output.write(ctypes.string_at(samples, count * ctypes.sizeof(ctypes.c_short)))
        return _CONTINUE

    callback = _SynthesisCallback(receive)
    library.espeak_SetSynthCallback(callback)
    _check(library.espeak_SetVoiceByName(voice.encode()) == 0, "the voice is unknown")
    _check(library.espeak_SetParameter(_RATE, int(words_per_minute), 0) == 0, "the rate was refused")
    text = sys.stdin.buffer.read().replace(b"\0", b" ") + b"\0"
    status = library.espeak_Synth(
        text, ctypes.c_size_t(len(text)), 0, _POSITION_CHARACTER, 0, _CHARACTERS_UTF8, None, None
    )
    _check(status == 0, "the text was refused")
    _check(library.espeak_Synchronize() == 0, "speaking failed")


def _check(succeeded: bool, message: str) -> None:
    if not succeeded:
        sys.exit(message)


if __name__ == "__main__":
    main(*sys.argv[1:])
