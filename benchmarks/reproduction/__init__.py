"""The systems of the literature, each trained and evaluated by the commands that a user would type; see ``benchmarks/reproduce.py``."""

from __future__ import annotations

from collections.abc import Sequence

from . import architectures, comparison, losses, sentence_bert
from .rows import Row

SECTIONS = {
    comparison.SECTION: "STS Benchmark: the comparison's Table 1",
    sentence_bert.POOLING: "Pooling: Sentence-BERT's Table 6",
    sentence_bert.CONCATENATION: "Concatenation: Sentence-BERT's Table 6",
    sentence_bert.OBJECTIVE: "Losses: Sentence-BERT's sections 3 and 4",
    losses.BINARY: "CoSENT's comparison: two labels",
    losses.GRADED: "CoSENT's comparison: graded pairs",
    losses.CONTRASTIVE: "AnglE (Li & Li 2024) and the contrastive losses",
    losses.SIMCSE: "SimCSE (Gao et al. 2021)",
    sentence_bert.TRIPLETS: "Triplets: Sentence-BERT's section 4.4",
    sentence_bert.FOLDS_SECTION: "Ten folds and across topics: Sentence-BERT's section 4.3",
    architectures.SCORED: "Poly-encoder (Humeau et al. 2020), bi-encoder and cross-encoder: scored pairs",
    architectures.CANDIDATES: "Poly-encoder, bi-encoder and cross-encoder: the right one of 20 candidates",
    architectures.TIMES: "Poly-encoder, bi-encoder and cross-encoder: time of a query",
    sentence_bert.BATCHING: "Smart batching: Sentence-BERT's Table 7",
}
_MODULES = (comparison, sentence_bert, losses, architectures)
ROWS: dict[str, Row] = {row.name: row for module in _MODULES for row in module.ROWS}


def select_rows(names: Sequence[str] = (), sections: Sequence[str] = ()) -> list[Row]:
    """Return the rows with these names or in these sections, all rows by default, those that take least time first.

    Raises:
        KeyError: no such row or section.
    """
    if unknown := [name for name in names if name not in ROWS] + [name for name in sections if name not in SECTIONS]:
        raise KeyError(unknown[0])
    found = [row for row in ROWS.values() if not (names or sections) or row.name in names or row.section in sections]
    return sorted(found, key=lambda row: row.minutes)
