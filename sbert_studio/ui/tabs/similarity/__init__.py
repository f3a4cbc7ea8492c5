"""Similarity: two texts, several texts, or a file of pairs.

Compare two sentences, several sentences, or a file of pairs: cosine, dot product, Euclidean and Manhattan distance.
"""
