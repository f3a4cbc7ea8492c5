"""Similarity functions of vectors, as ``similarity_fn_name`` of sentence-transformers names them."""

from __future__ import annotations

import numpy as np


def unit(vectors: np.ndarray) -> np.ndarray:
    """(n, d) float32 rows of length one, C order; a row of zeros stays zero."""
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.ascontiguousarray(np.divide(vectors, lengths, out=np.zeros(vectors.shape, np.float32), where=lengths > 0), np.float32)


SIMILARITIES = ("cosine", "dot", "euclidean", "manhattan")
NAMES = {"dot": "the dot product", "euclidean": "the Euclidean distance", "manhattan": "the Manhattan distance"}
"""Of those that are not the cosine, in words."""
_METRICS = {"euclidean": "euclidean", "manhattan": "cityblock"}


def score_note(model: str, name: str) -> tuple[str, ...]:
    """Say by what a model compares, in a sentence, where that is not the cosine."""
    if name == "cosine":
        return ()
    if name == "dot":
        return (f"{model} compares by the dot product: that is the score.",)
    return (f"{model} compares by {NAMES[name]}: that is the score, as a negative number.",)


def which_note(model: str, name: str) -> tuple[str, ...]:
    """Say which of the four numbers of a pair a model compares by, in a sentence, where that is not the cosine."""
    return () if name == "cosine" else (f"{model} compares by {NAMES[name]}: of the four numbers it is the one to go by.",)


def similarity_note(name: str) -> tuple[str, ...]:
    """Say by what a model that does not compare by the cosine is judged, in a sentence."""
    if name == "cosine":
        return ()
    return (f"the model compares by {NAMES[name]}, and so does the main score of pairs and retrieval; categories go by the cosine",)


def similarity(left: np.ndarray, right: np.ndarray, name: str = "cosine") -> np.ndarray:
    """Compare every row of (n, d) with every row of (m, d), as ``SentenceTransformer.similarity`` does.

    Args:
        name: one of :data:`SIMILARITIES`; distances are negative.

    Returns:
        (n, m): float32 for the cosine, float64 for the others.
    """
    if name == "cosine":
        return np.asarray(unit(left) @ unit(right).T)
    left, right = left.astype(np.float64), right.astype(np.float64)
    if name == "dot":
        return np.asarray(left @ right.T)
    from scipy.spatial.distance import cdist

    return np.asarray(-cdist(left, right, _METRICS[name]))
