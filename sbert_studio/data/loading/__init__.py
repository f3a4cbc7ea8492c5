"""Readers: files of every supported format become tables of text columns."""
