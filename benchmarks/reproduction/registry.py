"""Every row, by section and by name."""

from __future__ import annotations

from collections.abc import Sequence

from . import ablations, architectures, batching, comparison, cosent, losses, protocols, triplets
from .rows import Row

SECTIONS = {
    comparison.SECTION: "STS Benchmark: the comparison's Table 1",
    ablations.POOLING: "Pooling: Sentence-BERT's Table 6",
    ablations.CONCATENATION: "Concatenation: Sentence-BERT's Table 6",
    ablations.OBJECTIVE: "Objectives: Sentence-BERT's sections 3 and 4",
    cosent.BINARY: "CoSENT's comparison: two labels",
    cosent.GRADED: "CoSENT's comparison: graded pairs",
    losses.CONTRASTIVE: "AnglE (Li & Li 2024) and the contrastive losses",
    losses.SIMCSE: "SimCSE (Gao et al. 2021)",
    triplets.SECTION: "Triplets: Sentence-BERT's section 4.4",
    protocols.SECTION: "Ten folds and across topics: Sentence-BERT's section 4.3",
    architectures.SCORED: "Poly-encoder (Humeau et al. 2020), bi-encoder and cross-encoder: scored pairs",
    architectures.CANDIDATES: "Poly-encoder, bi-encoder and cross-encoder: the right one of 20 candidates",
    architectures.TIMES: "Poly-encoder, bi-encoder and cross-encoder: time of a query",
    batching.SECTION: "Smart batching: Sentence-BERT's Table 7",
}
_MODULES = (comparison, ablations, cosent, losses, triplets, protocols, architectures, batching)
ROWS: dict[str, Row] = {row.name: row for module in _MODULES for row in module.ROWS}


def chosen(names: Sequence[str] = (), sections: Sequence[str] = ()) -> list[Row]:
    """The rows of these names or sections, all where none is given, those that take least time first.

    Raises:
        KeyError: there is no such row or section.
    """
    if unknown := [name for name in names if name not in ROWS] + [name for name in sections if name not in SECTIONS]:
        raise KeyError(unknown[0])
    found = [row for row in ROWS.values() if not (names or sections) or row.name in names or row.section in sections]
    return sorted(found, key=lambda row: row.minutes)
