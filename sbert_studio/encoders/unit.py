"""Rows of length one."""

from __future__ import annotations

import numpy as np


def unit(vectors: np.ndarray) -> np.ndarray:
    """(n, d) float32 rows of length one, C order; a row of zeros stays zero."""
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.ascontiguousarray(np.divide(vectors, lengths, out=np.zeros(vectors.shape, np.float32), where=lengths > 0), np.float32)
