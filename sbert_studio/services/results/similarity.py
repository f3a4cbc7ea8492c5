"""What comparing two texts, or a file of pairs, returns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...data.findings import count

if TYPE_CHECKING:
    from ...data.row_report import RowReport

_MEASURES = ("cosine", "dot", "euclidean", "manhattan")


@dataclass(frozen=True)
class Similarity:
    """Two texts compared. ``cosine`` lies in [-1, 1]; ``euclidean`` and ``manhattan`` are distances: 0 is equal.

    Attributes:
        notes: what should be known beside the numbers.
        doubtful: whether the model hardly reads the texts, so that the numbers say little.
        similarity_fn_name: by which of the four the model compares.
    """

    cosine: float
    dot: float
    euclidean: float
    manhattan: float
    notes: tuple[str, ...] = field(default=(), kw_only=True)
    doubtful: bool = field(default=False, kw_only=True)
    similarity_fn_name: str = field(default="cosine", kw_only=True)

    @property
    def score(self) -> float:
        """The number by which the model compares, as ``SentenceTransformer.similarity`` gives it: distances are negative."""
        value = float(getattr(self, self.similarity_fn_name))
        return -value if self.similarity_fn_name in ("euclidean", "manhattan") else value

    def to_json(self) -> dict[str, Any]:
        """The four numbers, ``similarity_fn_name`` and ``score`` of a model that does not go by the cosine, and ``notes`` if any."""
        notes: dict[str, Any] = {"notes": list(self.notes)} if self.notes else {}
        if self.similarity_fn_name != "cosine":
            notes = {"similarity_fn_name": self.similarity_fn_name, "score": self.score, **notes}
        return {"cosine": self.cosine, "dot": self.dot, "euclidean": self.euclidean, "manhattan": self.manhattan, **notes}


@dataclass(frozen=True)
class PairScore:
    """One row of a file of pairs; ``row`` is its number in a spreadsheet."""

    row: int
    a: str
    b: str
    similarity: Similarity

    def to_json(self) -> dict[str, Any]:
        """``{row, a, b, cosine, dot, euclidean, manhattan}``."""
        return {"row": self.row, "a": self.a, "b": self.b, **self.similarity.to_json()}


@dataclass(frozen=True)
class RankGap:
    """A pair whose cosine and whose score disagree.

    Attributes:
        place: of the pair in :attr:`PairScores.rows`. said: the score, or the label, as a number or a word.
        gap: by how much the pair stands higher by its cosine than by its score, as a share of all ranks, in [-1, 1].
    """

    place: int
    said: float | str
    gap: float

    def to_json(self) -> dict[str, Any]:
        """``{place, said, gap}``."""
        return {"place": self.place, "said": self.said, "gap": self.gap}


@dataclass(frozen=True)
class Agreement:
    """How cosines go with what people said of the same pairs.

    Attributes:
        column: where they said it.
        rows: how many of the compared rows hold a score or label.
        spearman, pearson: the correlation of the cosines with the scores; None for labels.
        mean_by_label: the mean cosine of each label; empty for scores.
        spearman_interval, pearson_interval: the 95% bootstrap intervals; empty for labels, and of too many rows.
        worst: the pairs that disagree most, the worst first. Labels stand in the order of their mean cosines.
        gaps: all pairs that hold a score or label, in their order.
        scale: the scores of what is least and of what is most alike, as the file has them; empty for labels.
    """

    column: str
    rows: int
    spearman: float | None = None
    pearson: float | None = None
    mean_by_label: Mapping[str, float] = field(default_factory=dict)
    spearman_interval: tuple[float, ...] = ()
    pearson_interval: tuple[float, ...] = ()
    worst: tuple[RankGap, ...] = ()
    gaps: tuple[RankGap, ...] = ()
    scale: tuple[float, ...] = ()

    def in_words(self) -> str:
        """One sentence."""
        if self.mean_by_label:
            means = ", ".join(f"{label} {mean:.3f}" for label, mean in self.mean_by_label.items())
            return f"Mean cosine by {self.column!r}, over {count(self.rows, 'row')}: {means}"
        told = (("Spearman", self.spearman, self.spearman_interval), ("Pearson", self.pearson, self.pearson_interval))
        correlation = ", ".join(f"{name} {value:.4f}{_between(bounds)}" for name, value, bounds in told)
        return f"The cosines and {self.column!r} agree over {count(self.rows, 'row')} by {correlation}"

    def to_json(self) -> dict[str, Any]:
        """``{column, rows, worst}``, and ``spearman, pearson`` with their intervals, or ``mean_by_label``."""
        found: dict[str, Any] = {"column": self.column, "rows": self.rows, "worst": [gap.to_json() for gap in self.worst]}
        if self.mean_by_label:
            return found | {"mean_by_label": dict(self.mean_by_label)}
        intervals = {"spearman_interval": list(self.spearman_interval), "pearson_interval": list(self.pearson_interval)}
        return found | {"spearman": self.spearman, "pearson": self.pearson, **intervals}


def _between(bounds: tuple[float, ...]) -> str:
    return f" (between {bounds[0]:.2f} and {bounds[1]:.2f})" if bounds else ""


@dataclass(frozen=True)
class PairScores:
    """A file of pairs compared, in its order.

    Attributes:
        columns: the names of the two text columns.
        account: what became of the file's rows.
        agreement: how the cosines go with the scores or labels that the file holds; None where it holds none.
        notes: what else to tell, in sentences.
    """

    rows: tuple[PairScore, ...]
    columns: tuple[str, str]
    account: RowReport
    agreement: Agreement | None = None
    notes: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """``{rows, columns, account, agreement, notes}``."""
        return {
            "rows": [row.to_json() for row in self.rows],
            "columns": list(self.columns),
            "account": self.account.to_json(),
            "agreement": self.agreement.to_json() if self.agreement else None,
            "notes": list(self.notes),
        }

    def to_csv(self, path: Path) -> None:
        """Write one line a pair, in which no cell is a live formula; a column that is called as another one gets a longer name.

        The file's own scores or labels stand there as it has them, and by which share of all ranks the pair stands higher by its cosine.
        """
        from ...data.loading.table import write_csv

        cells, names = [row.to_json() for row in self.rows], {key: key for key in ("row", *_MEASURES)}
        for key, own in zip("ab", self.columns, strict=True):
            taken = set(names.values())
            names[key] = next(name for tail in range(4) if (name := own + "_" * tail) not in taken)
        columns: dict[str, list[Any]] = {names[key]: [cell[key] for cell in cells] for key in ("row", "a", "b", *_MEASURES)}
        if self.agreement is not None:
            gaps = {gap.place: gap for gap in self.agreement.gaps}
            held = [gaps.get(place) for place in range(len(cells))]
            parts = {
                self.agreement.column: ["" if one is None else one.said for one in held],
                "ranks_apart": ["" if one is None else one.gap for one in held],
            }
            for name, column in parts.items():
                columns[next(own for tail in range(9) if (own := name + "_" * tail) not in columns)] = column
        write_csv(path, columns)
