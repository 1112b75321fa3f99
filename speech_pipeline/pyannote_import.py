"""The one way pyannote.audio is imported here: silent towards its makers."""

import warnings
from types import ModuleType

from config import disable_pyannote_telemetry


def import_pyannote() -> ModuleType:
    """Import pyannote.audio with its usage reports switched off, and without its warning about torchcodec."""
    disable_pyannote_telemetry()
    with warnings.catch_warnings():
        # Recordings are handed over as samples, so pyannote's own decoding is not used.
        warnings.filterwarnings("ignore", message=r"\s*torchcodec is not installed correctly")
        import pyannote.audio
    return pyannote.audio
