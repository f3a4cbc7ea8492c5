"""Small texts in which two kinds of words never meet."""

from __future__ import annotations

import numpy as np

from sbert_studio.models.similarity import unit
from sbert_studio.models.static.vectors import WordVectors

FOOD = ["bread", "cheese", "soup", "butter", "plate", "kitchen"]
SEA = ["ship", "harbour", "wave", "sailor", "anchor", "storm"]


def two_worlds(count: int = 400, seed: int = 3) -> list[str]:
    """Sentences of eight words, of the one world or the other."""
    rng = np.random.default_rng(seed)
    return [" ".join(rng.choice(world, 8)).capitalize() + "." for world in (FOOD, SEA) for _ in range(count // 2)]


def nearest_words(vectors: WordVectors, word: str, k: int) -> dict[str, float]:
    """The ``k`` words of largest cosine with ``word``, with it."""
    place = vectors.tokens.index(word)
    cosines = unit(vectors.matrix) @ unit(vectors.matrix[[place]])[0]
    return {vectors.words[found]: float(cosines[found]) for found in np.argsort(-cosines)[: k + 1] if found != place}
