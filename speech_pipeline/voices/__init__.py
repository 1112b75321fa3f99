"""Text -> spoken audio: voices of several engines behind one protocol."""
