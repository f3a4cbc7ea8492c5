"""Every row, by section and by name."""

from __future__ import annotations

from collections.abc import Sequence

from . import ablations, batching, comparison, cosent
from .rows import Row

SECTIONS = {
    comparison.SECTION: "STS Benchmark: the comparison's Table 1",
    ablations.POOLING: "Pooling: Sentence-BERT's Table 6",
    ablations.CONCATENATION: "Concatenation: Sentence-BERT's Table 6",
    ablations.OBJECTIVE: "Objectives: Sentence-BERT's sections 3 and 4",
    cosent.BINARY: "CoSENT's comparison: two labels",
    cosent.GRADED: "CoSENT's comparison: graded pairs",
    batching.SECTION: "Smart batching: Sentence-BERT's Table 7",
}
ROWS: dict[str, Row] = {row.name: row for room in (comparison, ablations, cosent, batching) for row in room.ROWS}


def chosen(names: Sequence[str] = (), sections: Sequence[str] = ()) -> list[Row]:
    """The rows of these names or sections, all where none is given, those that take least time first.

    Raises:
        KeyError: there is no such row or section.
    """
    if unknown := [name for name in names if name not in ROWS] + [name for name in sections if name not in SECTIONS]:
        raise KeyError(unknown[0])
    found = [row for row in ROWS.values() if not (names or sections) or row.name in names or row.section in sections]
    return sorted(found, key=lambda row: row.minutes)
