"""Word errors, speaker errors, word times and speed, of this package and its peers; recordings to measure them on."""
