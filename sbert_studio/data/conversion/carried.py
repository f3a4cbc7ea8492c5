"""What becomes of every row when examples are made into others: which of them the new ones hold, and which are left behind."""

from __future__ import annotations

import numpy as np

from ...errors import describe_rows
from ..examples import Examples
from ..findings import Finding, count


def left_behind(examples: Examples, made: Examples) -> tuple[int, ...]:
    """The rows of ``examples`` of which nothing stands in ``made``, by their numbers.

    A row of pairs is carried over where its two texts stand in one row together, a text where it stands anywhere.
    """
    if len(examples.texts) == 1:
        texts = {text for column in made.texts for text in column}
        kept = np.array([text in texts for text in examples.texts[0]], dtype=bool)
    else:
        first, *others = made.texts
        together = {pair for other in others for pair in zip(first, other, strict=True)}
        pairs = zip(examples.texts[0], examples.texts[1], strict=True)
        kept = np.array([pair in together or pair[::-1] in together for pair in pairs], dtype=bool)
    return tuple(sorted(set(examples.lines[~kept].tolist()) - set(examples.lines[kept].tolist())))


def carried_note(examples: Examples, made: Examples) -> Finding:
    """What a person is told of it, with the numbers of the rows that are left behind in the file as it came."""
    left = left_behind(examples, made)
    rows = len(set(examples.lines.tolist()))
    told = f"made from {count(rows, 'usable row')}: {count(len(made), 'example')}"
    if not left:
        return Finding("info", f"{told}, with none left behind")
    return Finding("warning", f"{told}, with {count(len(left), 'row')} left behind ({describe_rows(left)} of the file as it came)")
