"""Judging models on the page."""
