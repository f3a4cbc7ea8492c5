"""Pairs that were made of texts with a category: all texts of a category belong together, not only those that stand in one row."""

from __future__ import annotations

import numpy as np

from ..examples import Examples
from .splitting import components


def siblings(examples: Examples) -> np.ndarray | None:
    """The (n,) int64 class of each row of pairs whose groups are classes; ``None`` where they are not, or there are none.

    A group is a class where its rows all hang together by shared texts and share none with other groups, as the rings do that
    ``classes_to_pairs`` makes. The topics of questions and answers do not: most of their rows share no text with another.
    """
    if examples.kind not in ("positive_pairs", "triplets") or not examples.groups:
        return None
    pairs = Examples("positive_pairs", examples.texts[:2], None, examples.lines, (), examples.groups)
    names = {name: place for place, name in enumerate(dict.fromkeys(examples.groups))}
    groups = np.fromiter((names[name] for name in examples.groups), np.int64, len(examples))
    component = components(pairs)
    meetings = len(np.unique(component * len(names) + groups))
    one_to_one = meetings == len(names) == int(component.max(initial=-1)) + 1
    return groups if one_to_one and len(names) < len(examples) else None
