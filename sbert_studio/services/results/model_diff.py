"""Differences between two models on a corpus."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np

    from ...data.corpus import Corpus
    from ...explore.model_diff import ConfusionChange, NeighborChange, PairChange


@dataclass(frozen=True)
class QueryChange:
    """Nearest texts of a query, before and after.

    Attributes:
        row: row of the corpus used as the query, excluded from both lists; ``None`` for a typed query.
        before, after: (row, cosine), nearest first.
    """

    text: str
    row: int | None
    before: tuple[tuple[int, float], ...]
    after: tuple[tuple[int, float], ...]

    @property
    def lost(self) -> frozenset[int]:
        """Rows among the nearest before but not after."""
        return frozenset(row for row, _ in self.before) - {row for row, _ in self.after}

    @property
    def gained(self) -> frozenset[int]:
        """Rows among the nearest after but not before."""
        return frozenset(row for row, _ in self.after) - {row for row, _ in self.before}


@dataclass(frozen=True, eq=False)
class CategoryChange:
    """Nearest-neighbor accuracy for categories, before and after.

    Attributes:
        column: category column.
        texts: number of evaluated texts: those that neither model was trained on, or all if there are too few.
        before, after: accuracy, 0 to 1.
        interval: 95 % interval of the gain (paired bootstrap); ``None`` with too few texts.
        confused: confused categories, largest decrease first.
        learned: number of evaluated texts that a model was trained on.
    """

    column: str
    texts: int
    before: float
    after: float
    interval: tuple[float, float] | None
    confused: tuple[ConfusionChange, ...]
    learned: int = 0


@dataclass(frozen=True, eq=False)
class ModelDiff:
    """Differences between two models on the same texts.

    Attributes:
        before, after: names of the models.
        points_before, points_after: (n, 2) float32 maps; the second is initialized with and aligned to the first.
        movement: nearest texts of each text with both models, in the full space.
        closer, apart: pairs with the largest increase and decrease of the cosine.
        queries: nearest texts of a few queries.
        categories: confusion of categories, if a column was chosen.
        notes: notes, one sentence each.
    """

    corpus: Corpus
    before: str
    after: str
    points_before: np.ndarray
    points_after: np.ndarray
    movement: NeighborChange
    closer: tuple[PairChange, ...]
    apart: tuple[PairChange, ...]
    queries: tuple[QueryChange, ...]
    categories: CategoryChange | None = None
    notes: tuple[str, ...] = ()

    @property
    def moved(self) -> np.ndarray:
        """(n,) float32: share of each text's nearest texts that changed."""
        return self.movement.moved

    def to_json(self) -> dict[str, Any]:
        """Return ``{before, after, texts, moved, closer, apart, queries, categories, account, notes}``, with spreadsheet row numbers."""
        lines = self.corpus.lines

        def pair(one: PairChange) -> Mapping[str, Any]:
            return {"row_a": lines[one.a], "row_b": lines[one.b], "before": one.before, "after": one.after}

        def near(found: tuple[tuple[int, float], ...]) -> list[Mapping[str, Any]]:
            return [{"row": lines[row], "score": score} for row, score in found]

        groups = self.categories
        return {
            "before": self.before,
            "after": self.after,
            "texts": len(self.corpus),
            "moved": [round(float(share), 4) for share in self.moved],
            "closer": [pair(one) for one in self.closer],
            "apart": [pair(one) for one in self.apart],
            "queries": [{"text": one.text, "before": near(one.before), "after": near(one.after)} for one in self.queries],
            "categories": None
            if groups is None
            else {
                "column": groups.column,
                "texts": groups.texts,
                "learned": groups.learned,
                "before": groups.before,
                "after": groups.after,
                "interval": None if groups.interval is None else list(groups.interval),
                "confused": [{"categories": list(one.categories), "before": one.before, "after": one.after} for one in groups.confused],
            },
            "account": self.corpus.account.to_json(),
            "notes": list(self.notes),
        }
