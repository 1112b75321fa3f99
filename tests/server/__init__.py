"""Tests of the HTTP server: what clients get from real models, and what becomes of limits, faults and aborts."""
