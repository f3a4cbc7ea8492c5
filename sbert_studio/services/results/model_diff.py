"""What changed from one model to another on a corpus."""

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
    """The nearest texts of a query, before and after.

    Attributes:
        text: the query; row: the text of the corpus that it is, itself left out of both lists; ``None`` of words that were typed.
        before, after: (row, cosine), the nearest first.
    """

    text: str
    row: int | None
    before: tuple[tuple[int, float], ...]
    after: tuple[tuple[int, float], ...]

    @property
    def lost(self) -> frozenset[int]:
        """The rows that were among the nearest, and are no longer."""
        return frozenset(row for row, _ in self.before) - {row for row, _ in self.after}

    @property
    def gained(self) -> frozenset[int]:
        """The rows that are, and were not."""
        return frozenset(row for row, _ in self.after) - {row for row, _ in self.before}


@dataclass(frozen=True, eq=False)
class CategoryChange:
    """How often a text's nearest text is of its own category, before and after.

    Attributes:
        column: that holds the categories.
        texts: how many are judged: those that no model was tuned on, or all where there are hardly any such.
        before, after: the shares, from 0 to 1.
        interval: the 95% interval of by how much the second is larger (paired bootstrap); ``None``: too few texts to tell.
        confused: the categories that were or are taken for each other, those that most went away first.
        learned: how many of the judged texts a model was tuned on, which flatters it.
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
    """What two models make of the same texts.

    Attributes:
        before, after: the models' names.
        points_before, points_after: (n, 2) float32, the maps; the second grew out of the first and is laid on it.
        movement: each text's nearest in both, measured in the full spaces.
        closer, apart: the pairs whose cosine rose and fell most.
        queries: the nearest texts of a few queries.
        categories: of a column of categories; ``None`` where there is none.
        notes: what else to tell, in sentences.
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
        """(n,) float32: the share of each text's nearest texts that are others now."""
        return self.movement.moved

    def to_json(self) -> dict[str, Any]:
        """``{before, after, texts, moved, pairs, queries, categories, account, notes}``, rows as a spreadsheet numbers them."""
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
