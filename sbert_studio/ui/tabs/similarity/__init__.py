"""Similarity: two texts, several texts, or a file of pairs."""
