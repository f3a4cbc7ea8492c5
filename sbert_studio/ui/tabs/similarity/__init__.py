"""Similarity: two texts, several texts, or a file of pairs.

Compare two sentences, several sentences, or a file of pairs by cosine, dot product, Euclidean or Manhattan distance.
"""
