"""Request input -> encoded bytes -> mono float32 at 16 kHz."""
