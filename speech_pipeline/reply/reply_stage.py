"""A question in, an answer in text and voice out."""

from collections.abc import Callable

from speech_pipeline.errors import InvalidText, ReplyFailed, ReplyUnavailable, UnknownVoice
from speech_pipeline.listener import Listener, end_if_cancelled
from speech_pipeline.reply.language_model import LanguageModel, Written
from speech_pipeline.reply.options import ReplyOptions
from speech_pipeline.reply.prompts import conversation
from speech_pipeline.reply.reply_stream import ReplyStream, Source
from speech_pipeline.reply.sentences import split_sentences
from speech_pipeline.reply.spoken_text import SpokenText
from speech_pipeline.reply.text_language import TextLanguageDetector
from speech_pipeline.transcript import Reply, ReplyAudio
from speech_pipeline.voices.encoding import AUDIO_FORMATS, encode
from speech_pipeline.voices.voice import Voice, join

_NAMES_SHOWN = 20


class ReplyStage:
    """Answers questions and speaks texts. Safe to call from several threads at once."""

    def __init__(
        self,
        language_model: LanguageModel | None,
        voice: Voice | None,
        text_language: TextLanguageDetector | None = None,
    ) -> None:
        """Put a language model and a voice together.

        Args:
            language_model: writes answers; without one texts can only be spoken.
            voice: speaks; without one everything is refused.
            text_language: tells the language of texts that come without; None: chosen among those of the voice.
        """
        self._language_model = language_model
        self._voice = voice
        if text_language is None and voice is not None:
            text_language = TextLanguageDetector(tuple(voice.voices))
        self._text_language = text_language

    def check(self, options: ReplyOptions, language: str | None, *, answers: bool = True) -> None:
        """Refuse what cannot be done, before any work.

        Args:
            options: what is asked for.
            language: code of the language that is heard or read, where it is known already.
            answers: whether a language model is needed, and not a voice alone.

        Raises:
            ReplyUnavailable: the language model or the voice is not loaded.
            UnsupportedByModel: the voice does not speak the language of the reply.
            UnknownVoice: there is no voice of the name that was asked for, in this language or in any.
        """
        if answers and self._language_model is None:
            raise ReplyUnavailable("Answers need a language model and none is loaded; set LM_MODEL at deployment.")
        if self._voice is None:
            raise ReplyUnavailable("Speaking needs a voice and none is loaded; set TTS_MODEL at deployment.")
        language = options.reply_language or language
        if language is not None:
            self._voice.stream("", language, options.voice, options.speed)  # refuses wrong arguments at once
            return
        names = {name for known in self._voice.voices.values() for name in known}
        if options.voice is not None and options.voice not in names:
            shown = ", ".join(sorted(names)[:_NAMES_SHOWN]) + (", ..." if len(names) > _NAMES_SHOWN else "")
            raise UnknownVoice(f"The voice that was asked for does not exist; there are {shown}.")

    def answer(
        self, question: str, language: str | None, options: ReplyOptions, listener: Listener | None = None
    ) -> Reply:
        """Answer a question in text and voice.

        Args:
            question: what was said or written.
            language: code of the language it is in; None: told from the text.
            options: what is asked for.
            listener: may cancel the answer, which ends after the current token and the current piece of speech.

        Returns:
            The answer; where something failed half way, what there is of it, with a warning that begins with the code.

        Raises:
            RequestCancelled: the listener has left.
            SpeechError: the request cannot be honoured, or nothing at all was written.
        """
        return _collected(self.stream(question, language, options, listener), options.audio_format, listener)

    def speak(self, text: str, language: str | None, options: ReplyOptions, listener: Listener | None = None) -> Reply:
        """Speak a text as it stands; arguments and result as those of :meth:`answer`.

        Raises:
            InvalidText: there is nothing in the text that can be spoken.
            RequestCancelled: the listener has left.
            SpeechError: the request cannot be honoured.
        """
        language = self._language(text, language, options, answers=False)
        spoken = SpokenText(language)
        if not any(spoken.say(piece) for piece in split_sentences(text, language)):
            raise InvalidText("There is nothing in the text that can be spoken; send words.")

        def read_out(emit: Callable[[str], None]) -> Written:
            emit(text)
            return Written(complete=True)

        return _collected(self._stream(read_out, language, options), options.audio_format, listener)

    def stream(
        self, question: str, language: str | None, options: ReplyOptions, listener: Listener | None = None
    ) -> ReplyStream:
        """The same as :meth:`answer`, piece by piece while it is written.

        A listener that leaves ends the writing; who iterates leaves by itself.

        Raises:
            SpeechError: the request cannot be honoured; nothing was started.
        """
        language = self._language(question, language, options, answers=True)
        model = self._language_model
        assert model is not None
        messages = conversation(question, language, history=options.messages, system_prompt=options.system_prompt)

        def write(emit: Callable[[str], None]) -> Written:
            def emit_to_listener(text: str) -> None:
                end_if_cancelled(listener)
                emit(text)

            return model.write(
                messages,
                emit_to_listener,
                max_tokens=options.max_reply_tokens,
                temperature=options.reply_temperature,
                seed=options.seed,
            )

        return self._stream(write, language, options)

    def _language(self, text: str, language: str | None, options: ReplyOptions, *, answers: bool) -> str:
        """The language of the reply, once it is clear that the request can be honoured."""
        self.check(options, language, answers=answers)
        if language := options.reply_language or language:
            return language
        assert self._text_language is not None
        language = self._text_language.detect(text)
        self.check(options, language, answers=answers)
        return language

    def _stream(self, source: Source, language: str, options: ReplyOptions) -> ReplyStream:
        assert self._voice is not None
        return ReplyStream(source, self._voice, language=language, voice_name=options.voice, speed=options.speed)


def _collected(stream: ReplyStream, audio_format: str, listener: Listener | None) -> Reply:
    """The whole reply."""
    speeches = []
    try:
        for piece in stream:
            end_if_cancelled(listener)
            if piece.speech is not None:
                speeches.append(piece.speech)
    finally:
        stream.cancel()
    end_if_cancelled(listener)
    if not stream.text:
        raise stream.failure or ReplyFailed("The language model wrote no answer.")
    warnings = list(stream.warnings)
    audio = None
    if speeches:
        speech = join(speeches, speeches[0].sampling_rate)
        audio = ReplyAudio(
            data=encode(speech, audio_format),
            format=audio_format,
            sampling_rate=AUDIO_FORMATS[audio_format].sampling_rate(speech.sampling_rate),
            duration=speech.duration,
        )
    elif stream.failure is None:
        warnings.append("There is nothing in the reply that can be spoken.")
    return Reply(
        text=stream.text,
        language=stream.language,
        audio=audio,
        complete=stream.complete,
        warnings=tuple(dict.fromkeys(warnings)),
        timings=stream.timings,
    )
