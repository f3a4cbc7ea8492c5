"""Tables of made-up words, whose similarity is the share of words that two texts have in common."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import numpy as np

from sbert_studio.data.loading.table import Table, table_from_columns

WORDS = [f"{first}{last}" for first in ("ri", "sto", "clo", "gree", "pla", "mu") for last in ("ver", "ne", "ud", "mos")]
TOPICS = {
    "cards": ["card", "chip", "bank", "limit", "cash", "pin"],
    "travel": ["train", "plane", "hotel", "trip", "beach", "map"],
    "food": ["soup", "bread", "cheese", "apple", "salt", "rice"],
    "sport": ["ball", "goal", "team", "race", "coach", "gym"],
}


@cache
def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


def overlap(first: Sequence[str], second: Sequence[str]) -> np.ndarray:
    """Return the share of words that two texts have in common."""
    pairs = [(_words(a), _words(b)) for a, b in zip(first, second, strict=True)]
    return np.array([len(a & b) / max(1, len(a | b)) for a, b in pairs])


def random_texts(rows: int, seed: int = 1) -> list[str]:
    """Return texts of eight words."""
    generator = np.random.default_rng(seed)
    return [" ".join(generator.choice(WORDS, 8, replace=False)) for _ in range(rows)]


def change(text: str, share: float, generator: np.random.Generator) -> str:
    """Keep a share of the words of a text."""
    return " ".join(word if generator.random() < share else str(generator.choice(WORDS)) for word in text.split())


def pairs(shares: Sequence[float] | None = None, rows: int = 300, seed: int = 3) -> tuple[dict[str, list[str]], np.ndarray]:
    """Return two text columns and the share of words that each pair keeps; at random unless ``shares`` are repeated in turn."""
    generator = np.random.default_rng(7)
    kept = generator.random(rows) if shares is None else np.resize(shares, rows)
    first = random_texts(rows, seed)
    return {"one": first, "two": [change(text, share, generator) for text, share in zip(first, kept, strict=True)]}, kept


def pair_table(name: str, cells: Sequence[object], shares: Sequence[float] | None = None, **more: Sequence[object]) -> Table:
    """Return pairs with further columns; see :func:`pairs`."""
    columns, _ = pairs(shares, len(cells))
    return make_table({**columns, name: cells, **more})


def graded(labels: Sequence[str], shares: Sequence[float], name: str = "zz", rows: int = 300) -> Table:
    """Return pairs that keep a share of their words for each label in turn."""
    return pair_table(name, np.resize(labels, rows).tolist(), shares)


def topic_texts(rows: int = 200, topics: dict[str, list[str]] = TOPICS) -> tuple[list[str], list[str]]:
    """Return texts of four words of one topic, and the names of the topics."""
    generator = np.random.default_rng(3)
    names = [str(name) for name in generator.choice(list(topics), rows)]
    return [" ".join(generator.choice(topics[name], 4, replace=False)) for name in names], names


def make_table(columns: dict[str, Sequence[object]]) -> Table:
    """Return a table of columns whose cells become text."""
    return table_from_columns("t.csv", {name: [str(cell) for cell in cells] for name, cells in columns.items()})
