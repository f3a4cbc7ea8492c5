"""Similarity functions of vectors, named as in sentence-transformers' ``similarity_fn_name``."""

from __future__ import annotations

import numpy as np

from ..i18n import _

SIMILARITIES = ("cosine", "dot", "euclidean", "manhattan")
TITLES = {"dot": "the dot product", "euclidean": "the Euclidean distance", "manhattan": "the Manhattan distance"}
_METRICS = {"euclidean": "euclidean", "manhattan": "cityblock"}


def unit(vectors: np.ndarray) -> np.ndarray:
    """Return the (n, d) rows scaled to length one, float32 in C order; zero rows stay zero."""
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.ascontiguousarray(np.divide(vectors, lengths, out=np.zeros(vectors.shape, np.float32), where=lengths > 0), np.float32)


def score_note(model: str, name: str) -> tuple[str, ...]:
    """Return a sentence about the model's similarity function, unless it is cosine."""
    if name == "cosine":
        return ()
    if name == "dot":
        return (_("{model} uses the dot product as the score.", model=model),)
    return (_("{model} uses {titles}; the score is the negated distance.", model=model, titles=TITLES[name]),)


def pair_similarity_note(model: str, name: str) -> tuple[str, ...]:
    """Return a sentence about which of a pair's four similarities the model uses, unless it is cosine."""
    return (
        ()
        if name == "cosine"
        else (_("{model} uses {titles}; of the four scores, that is the relevant one.", model=model, titles=TITLES[name]),)
    )


def evaluation_similarity_note(name: str) -> tuple[str, ...]:
    """Return a sentence about the similarity function used in evaluation, unless it is cosine."""
    if name == "cosine":
        return ()
    return (
        _(
            "the model uses {titles}, and so does the main score of pairs and retrieval; categories use cosine",
            titles=TITLES[name],
        ),
    )


def similarity(left: np.ndarray, right: np.ndarray, name: str = "cosine") -> np.ndarray:
    """Compare every row of (n, d) with every row of (m, d) by one of :data:`SIMILARITIES`, like ``SentenceTransformer.similarity``.

    Returns (n, m), float32 for cosine, float64 for the others; distances are negated.
    """
    if name == "cosine":
        return np.asarray(unit(left) @ unit(right).T)
    left, right = left.astype(np.float64), right.astype(np.float64)
    if name == "dot":
        # For a single row, not the matrix product, whose last digit depends on the place of a row: equal vectors have equal scores.
        return np.einsum("md,d->m", right, left[0])[None] if len(left) == 1 else np.asarray(left @ right.T)
    from scipy.spatial.distance import cdist

    return np.asarray(-cdist(left, right, _METRICS[name]))
