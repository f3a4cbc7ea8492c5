"""Similarity: two texts, several texts, or the pairs of the selected data.

Compare two sentences, several sentences, or the pairs of your data by cosine, dot product, Euclidean or Manhattan distance.
"""
