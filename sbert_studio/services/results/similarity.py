"""Results of comparing two texts, or a file of pairs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import computed_field

from ...data.findings import count
from ...data.schema.names import unique_name
from ...evaluation.changes import format_score
from ...i18n import _, join
from ...serialization import OMIT_EMPTY, Internal, JsonResult, doc

if TYPE_CHECKING:
    from ...data.row_report import RowReport

_MEASURES = ("cosine", "dot", "euclidean", "manhattan")


@dataclass(frozen=True)
class Similarity(JsonResult):
    """Similarity of two texts.

    Attributes:
        doubtful: whether the model barely knows the texts' language, so that the scores mean little.
    """

    cosine: Annotated[float, doc("-1 to 1, larger is closer")]
    dot: Annotated[float, doc("larger is closer")]
    euclidean: Annotated[float, doc("smaller is closer")]
    manhattan: Annotated[float, doc("smaller is closer")]
    notes: Annotated[tuple[str, ...], doc("whether the model reads the texts' language"), OMIT_EMPTY] = field(default=(), kw_only=True)
    doubtful: Internal[bool] = field(default=False, kw_only=True)
    similarity_fn_name: Annotated[str, doc("the model's similarity function: cosine, dot, euclidean or manhattan")] = field(
        default="cosine", kw_only=True
    )
    model: Annotated[str, doc("the one that was used: as requested, or the default for the language of the texts"), OMIT_EMPTY] = field(
        default="", kw_only=True
    )

    @computed_field(description="the value of this function, larger is closer: distances are negative")  # type: ignore[prop-decorator]
    @property
    def score(self) -> float:
        value = float(getattr(self, self.similarity_fn_name))
        return -value if self.similarity_fn_name in ("euclidean", "manhattan") else value


@dataclass(frozen=True)
class PairScore:
    """A row of a file of pairs; ``row`` is its spreadsheet number."""

    row: int
    a: str
    b: str
    similarity: Similarity

    def to_json(self) -> dict[str, Any]:
        """Return ``{row, a, b}`` and the fields of the similarity."""
        return {"row": self.row, "a": self.a, "b": self.b, **self.similarity.to_json()}


@dataclass(frozen=True)
class RankGap(JsonResult):
    """Difference between a pair's ranks by similarity and by gold score or label.

    Attributes:
        place: index of the pair in :attr:`PairScores.rows`.
        gold: gold score or label.
        gap: rank by similarity minus rank by gold score, as a share of all ranks, in [-1, 1].
    """

    place: int
    gold: float | str
    gap: float


@dataclass(frozen=True)
class Agreement:
    """Agreement of similarities with the gold scores or labels of the same pairs.

    Attributes:
        column: column of gold scores or labels.
        rows: number of compared rows with a score or label.
        spearman, pearson: correlation with the scores; ``None`` for labels.
        mean_by_label: mean similarity of each label; empty for scores.
        spearman_interval, pearson_interval: 95 % bootstrap intervals; empty for labels, or with too many rows.
        worst: the largest disagreements, worst first. Labels are ranked by their mean similarity.
        gaps: all pairs with a score or label, in order.
        scale: lowest and highest score of the file; empty for labels.
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

    def describe(self) -> str:
        """Return one sentence."""
        if self.mean_by_label:
            means = ", ".join(f"{label} {mean:.3f}" for label, mean in self.mean_by_label.items())
            return _("Mean cosine by {column}, over {rows}: {means}", column=repr(self.column), rows=count(self.rows, "row"), means=means)
        measures = (("Spearman", self.spearman, self.spearman_interval), ("Pearson", self.pearson, self.pearson_interval))
        correlation = join(", ", (_describe_correlation(*measure) for measure in measures))
        return _(
            "Agreement of the cosines and {column} over {rows}: {correlation}",
            column=repr(self.column),
            rows=count(self.rows, "row"),
            correlation=correlation,
        )

    def to_json(self) -> dict[str, Any]:
        """Return ``{column, rows, worst}``, and ``spearman, pearson`` with their intervals, or ``mean_by_label``."""
        found: dict[str, Any] = {"column": self.column, "rows": self.rows, "worst": [gap.to_json() for gap in self.worst]}
        if self.mean_by_label:
            return found | {"mean_by_label": dict(self.mean_by_label)}
        intervals = {"spearman_interval": list(self.spearman_interval), "pearson_interval": list(self.pearson_interval)}
        return found | {"spearman": self.spearman, "pearson": self.pearson, **intervals}


def _describe_correlation(name: str, value: float | None, bounds: tuple[float, ...]) -> str:
    shown = "–" if value is None else format_score(value)
    if not bounds:
        return f"{name} {shown}"
    low, high = (format_score(bound) for bound in bounds)
    return _("{name} {value} (between {low} and {high})", name=name, value=shown, low=low, high=high)


@dataclass(frozen=True)
class PairScores:
    """Comparison of a file of pairs, in file order.

    Attributes:
        columns: names of the two text columns.
        account: use of the file's rows.
        agreement: agreement with the file's own scores or labels, if any.
        notes: notes, one sentence each.
    """

    rows: tuple[PairScore, ...]
    columns: tuple[str, str]
    account: RowReport
    agreement: Agreement | None = None
    notes: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Return ``{rows, columns, account, agreement, notes}``."""
        return {
            "rows": [row.to_json() for row in self.rows],
            "columns": list(self.columns),
            "account": self.account.to_json(),
            "agreement": self.agreement.to_json() if self.agreement else None,
            "notes": list(self.notes),
        }

    def write(self, path: Path) -> None:
        """Write one line per pair as .csv or .xlsx without live formulas, with the file's own scores or labels and the rank gap.

        Text columns whose names collide with those of the output get a trailing underscore.
        """
        from ...data.cells import write_spreadsheet

        data = [row.to_json() for row in self.rows]
        taken = {"row", *_MEASURES}
        left = unique_name(self.columns[0], taken)
        right = unique_name(self.columns[1], taken | {left})
        names = {"row": "row", "a": left, "b": right} | {measure: measure for measure in _MEASURES}
        columns: dict[str, list[Any]] = {name: [row[key] for row in data] for key, name in names.items()}
        if self.agreement is not None:
            gaps = {gap.place: gap for gap in self.agreement.gaps}
            pairs = [gaps.get(place) for place in range(len(data))]
            columns[unique_name(self.agreement.column, columns)] = ["" if one is None else one.gold for one in pairs]
            columns[unique_name("ranks_apart", columns)] = ["" if one is None else one.gap for one in pairs]
        write_spreadsheet(path, columns)
