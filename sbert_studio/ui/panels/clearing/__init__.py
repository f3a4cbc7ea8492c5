"""Clearing a corpus of texts that say nearly the same."""
