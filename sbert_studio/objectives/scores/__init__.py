"""Losses on scored or labelled pairs."""
