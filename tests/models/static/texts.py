"""Small texts in which two kinds of words never meet."""

from __future__ import annotations

import numpy as np

FOOD = ["bread", "cheese", "soup", "butter", "plate", "kitchen"]
SEA = ["ship", "harbour", "wave", "sailor", "anchor", "storm"]


def two_worlds(count: int = 400, seed: int = 3) -> list[str]:
    """Sentences of eight words, of the one world or the other."""
    rng = np.random.default_rng(seed)
    return [" ".join(rng.choice(world, 8)).capitalize() + "." for world in (FOOD, SEA) for _ in range(count // 2)]
