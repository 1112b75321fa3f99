"""Speech pipeline: Whisper transcription, speculative decoding and speaker diarization around one core."""
