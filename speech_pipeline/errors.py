"""Errors a caller can act on: each has a stable code, an HTTP status and one sentence that says what would be right."""


class SpeechError(Exception):
    """Base of all errors that are meant for the person who gets them.

    ``str(error)`` is ``"[code] sentence"``, because the inference toolkit passes on nothing but the text of an
    exception. The sentence never holds a path, a token, a traceback or the caller's audio or text.

    Attributes:
        code: stable identifier a program can compare.
        http_status: status for front ends that can send one.
        message: the sentence.
    """

    code: str = "internal_error"
    http_status: int = 500

    def __init__(self, message: str, *, code: str | None = None) -> None:
        self.message = message
        if code is not None:
            self.code = code
        super().__init__(message)

    def __str__(self) -> str:
        return f"[{self.code}] {self.message}"


class InvalidPayload(SpeechError):
    """The request is not of a shape this pipeline takes: no ``inputs``, wrong type, not base64."""

    code = "invalid_payload"
    http_status = 400


class InvalidAudio(SpeechError):
    """The bytes are not audio that can be decoded, or hold no samples."""

    code = "invalid_audio"
    http_status = 422


class AudioTooLarge(SpeechError):
    """The encoded audio has more bytes than ``MAX_AUDIO_BYTES``."""

    code = "audio_too_large"
    http_status = 413


class AudioTooLong(SpeechError):
    """The recording is longer than ``MAX_AUDIO_DURATION_S``."""

    code = "audio_too_long"
    http_status = 413


class InvalidParameters(SpeechError):
    """A parameter has a wrong type, is out of range, or names something unknown."""

    code = "invalid_parameters"
    http_status = 422


class ConflictingParameters(InvalidParameters):
    """Two parameters exclude each other."""

    code = "conflicting_parameters"


class UnsupportedByModel(InvalidParameters):
    """The loaded model cannot do what the request asks: another language, translation."""

    code = "unsupported_by_model"


class UnknownVoice(InvalidParameters):
    """The loaded voice has no voice of that name in that language."""

    code = "unknown_voice"


class TextTooLong(SpeechError):
    """A text has more characters than are taken at once."""

    code = "text_too_long"
    http_status = 413


class InvalidText(SpeechError):
    """A text to answer or to speak is missing, of a wrong type, or holds nothing that can be read or spoken."""

    code = "invalid_text"
    http_status = 422


class RecognitionUnavailable(InvalidParameters):
    """A recording was sent to a deployment that only answers or speaks texts."""

    code = "recognition_unavailable"


class ReplyUnavailable(InvalidParameters):
    """An answer or a voice was asked for and no language model or no voice is loaded."""

    code = "reply_unavailable"


class AssistantUnavailable(InvalidParameters):
    """Assisted decoding was asked for and no assistant is loaded."""

    code = "assistant_unavailable"


class DiarizationUnavailable(InvalidParameters):
    """Diarization was asked for and no diarization model is loaded."""

    code = "diarization_unavailable"


class InvalidSettings(SpeechError):
    """The deployment's settings are wrong; raised while loading."""

    code = "invalid_settings"


class InvalidManifest(SpeechError):
    """The manifest of a folder of recordings is missing or wrong; raised by ``evaluate``, ``bench`` and
    ``conversations`` only."""

    code = "invalid_manifest"


class EndpointFailed(SpeechError):
    """An endpoint cannot be reached, or answers with something else than a transcript."""

    code = "endpoint_failed"
    http_status = 502


class RequestCancelled(SpeechError):
    """The caller left before the request was done. The status is one that web servers log; nobody receives it."""

    code = "request_cancelled"
    http_status = 499


class Overloaded(SpeechError):
    """More audio waits than will be heard in reasonable time; a later attempt may be taken."""

    code = "overloaded"
    http_status = 503


class ShuttingDown(SpeechError):
    """No more requests are taken: those that were are being finished; another instance may take it."""

    code = "shutting_down"
    http_status = 503


class ModelUnavailable(SpeechError):
    """A model could not be loaded: missing, gated, or without network."""

    code = "model_unavailable"
    http_status = 503


class ModelMismatch(SpeechError):
    """Two loaded models do not fit together, such as an assistant with another vocabulary."""

    code = "model_mismatch"


class OutOfMemory(SpeechError):
    """A single window does not fit in memory."""

    code = "out_of_memory"
    http_status = 503


class RecognitionFailed(SpeechError):
    """Recognition failed for a reason that is not the caller's."""

    code = "recognition_failed"


class DiarizationFailed(SpeechError):
    """Diarization failed for a reason that is not the caller's; recognition alone would have worked."""

    code = "diarization_failed"


class ReplyFailed(SpeechError):
    """The language model failed or cannot be reached; the transcript is there all the same."""

    code = "reply_failed"


class SynthesisFailed(SpeechError):
    """A voice failed for a reason that is not the caller's; the text is there all the same."""

    code = "synthesis_failed"
