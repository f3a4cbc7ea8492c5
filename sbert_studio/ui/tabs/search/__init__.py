"""Search: semantic, lexical and hybrid search, and near-duplicates of a corpus.

Semantic, lexical (BM25) or hybrid search, with optional re-ranking. Find and remove near-duplicates.
"""
