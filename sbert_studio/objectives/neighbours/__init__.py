"""Losses on who is nearer to whom: positives, negatives, classes."""
