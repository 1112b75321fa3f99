"""Other projects' model files turned into the folders that transformers and pyannote.audio load."""
