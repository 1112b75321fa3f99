"""Tests of the contract with the host that runs ``handler.py`` and with the clients that call it."""
