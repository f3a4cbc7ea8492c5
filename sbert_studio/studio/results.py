"""What the verbs return: frozen data that a page can draw and ``to_json`` can send."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..data.accounts import RowAccount
from ..data.findings import count
from ..runs.record import Run
from ..training.pace import rate_in_words

if TYPE_CHECKING:
    from ..data.accounts import RowAccount
    from ..training.rehearsal import Estimate
    from ..training.spec import TrainSpec

_MEASURES = ("cosine", "dot", "euclidean", "manhattan")


@dataclass(frozen=True)
class Similarity:
    """Two texts compared. ``cosine`` lies in [-1, 1]; ``euclidean`` and ``manhattan`` are distances: 0 is equal."""

    cosine: float
    dot: float
    euclidean: float
    manhattan: float
    notes: tuple[str, ...] = field(default=(), kw_only=True)

    def to_json(self) -> dict[str, Any]:
        """The four numbers, and ``notes`` where there are any."""
        notes = {"notes": list(self.notes)} if self.notes else {}
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
class Agreement:
    """How cosines go with what people said of the same pairs.

    Attributes:
        column: where they said it.
        rows: how many of the compared rows hold a score or label.
        spearman, pearson: the correlation of the cosines with the scores; None for labels.
        mean_by_label: the mean cosine of each label; empty for scores.
    """

    column: str
    rows: int
    spearman: float | None = None
    pearson: float | None = None
    mean_by_label: Mapping[str, float] = field(default_factory=dict)

    def in_words(self) -> str:
        """One sentence."""
        if self.mean_by_label:
            means = ", ".join(f"{label} {mean:.3f}" for label, mean in self.mean_by_label.items())
            return f"Mean cosine by {self.column!r}, over {count(self.rows, 'row')}: {means}"
        correlation = f"Spearman {self.spearman:.4f}, Pearson {self.pearson:.4f}"
        return f"The cosines and {self.column!r} agree over {count(self.rows, 'row')} by {correlation}"

    def to_json(self) -> dict[str, Any]:
        """``{column, rows}``, and ``spearman, pearson`` or ``mean_by_label``."""
        found: dict[str, Any] = {"column": self.column, "rows": self.rows}
        if self.mean_by_label:
            return found | {"mean_by_label": dict(self.mean_by_label)}
        return found | {"spearman": self.spearman, "pearson": self.pearson}


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
    account: RowAccount
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
        """Write one line a pair, in which no cell is a live formula."""
        from ..data.tables import write_csv

        cells = [row.to_json() for row in self.rows]
        names = {"row": "row", "a": self.columns[0], "b": self.columns[1], **dict.fromkeys(_MEASURES)}
        write_csv(path, {names[key] or key: [cell[key] for cell in cells] for key in names})


@dataclass(frozen=True)
class Encoded:
    """Texts as vectors.

    Attributes:
        vectors: (rows, dim) float32, one for each row of the file: those below its header, in order, blank ones too; blank rows
            that end the file do not count. NaN where a row has no text. Of bare texts: one for each.
        account: what became of the rows.
        seconds: encoding alone, the model already loaded.
    """

    vectors: np.ndarray
    rows: int
    dim: int
    seconds: float
    sentences_per_second: float
    account: RowAccount
    notes: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Everything but the vectors; ``nan`` counts the rows without a vector from 0, as NumPy does, ``left_out`` as a spreadsheet."""
        return {
            "rows": self.rows,
            "encoded": self.account.used,
            "left_out": [reason.to_json() for reason in self.account.reasons],
            "nan": np.flatnonzero(np.isnan(self.vectors[:, 0])).tolist(),
            "dim": self.dim,
            "seconds": self.seconds,
            "sentences_per_second": self.sentences_per_second,
            "notes": list(self.notes),
        }


@dataclass(frozen=True)
class TextHit:
    """A text found. ``row`` counts the corpus from 0, ``line`` is its number in a spreadsheet; a higher ``score`` is better."""

    row: int
    line: int
    text: str
    score: float
    fields: Mapping[str, str] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """``{row, text, score, fields}``, ``row`` as a spreadsheet numbers it."""
        return {"row": self.line, "text": self.text, "score": self.score, "fields": dict(self.fields)}


@dataclass(frozen=True)
class SearchResult:
    """Hits, best first. ``milliseconds``: the search alone, with the corpus encoded and indexed."""

    hits: tuple[TextHit, ...]
    milliseconds: float
    account: RowAccount
    notes: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """``{hits, milliseconds, account, notes}``."""
        return {"hits": [hit.to_json() for hit in self.hits], "milliseconds": self.milliseconds, **_told(self)}


@dataclass(frozen=True)
class MinedPair:
    """Two texts of a corpus and their cosine; rows count from 0, lines as a spreadsheet does."""

    a: str
    b: str
    row_a: int
    row_b: int
    line_a: int
    line_b: int
    score: float

    def to_json(self) -> dict[str, Any]:
        """``{a, b, row_a, row_b, score}``, the rows as a spreadsheet numbers them."""
        return {"a": self.a, "b": self.b, "row_a": self.line_a, "row_b": self.line_b, "score": self.score}


@dataclass(frozen=True)
class Mined:
    """The most similar pairs, best first. ``seconds``: the comparison alone."""

    pairs: tuple[MinedPair, ...]
    seconds: float
    account: RowAccount
    notes: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """``{pairs, seconds, account, notes}``."""
        return {"pairs": [pair.to_json() for pair in self.pairs], "seconds": self.seconds, **_told(self)}


@dataclass(frozen=True)
class ClusterInfo:
    """A cluster of the map; id -1 holds what belongs to none."""

    id: int
    label: str
    size: int

    def to_json(self) -> dict[str, Any]:
        """``{id, label, size}``."""
        return {"id": self.id, "label": self.label, "size": self.size}


@dataclass(frozen=True)
class MapView:
    """A corpus drawn.

    Attributes:
        points: (n, 2) or (n, 3) float32, in the corpus' order.
        ids: (n,) int64, the cluster of each text, -1 for none.
        clusters: largest first, the rest (-1) last.
        projection_key: names the projection, so that a page knows whether the points moved.
    """

    points: np.ndarray
    ids: np.ndarray
    clusters: tuple[ClusterInfo, ...]
    projection_key: str
    account: RowAccount = field(default=RowAccount(0, 0))
    notes: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """``{points: how many, clusters, dimensions, account, notes}``; the coordinates go with :meth:`coordinates`."""
        clusters = [cluster.to_json() for cluster in self.clusters]
        return {"points": len(self.points), "dimensions": int(self.points.shape[1]), "clusters": clusters, **_told(self)}

    def coordinates(self) -> list[list[float]]:
        """The points as plain lists."""
        return [[float(value) for value in point] for point in self.points]


@dataclass(frozen=True)
class Forecast:
    """A run that was not begun: its spec, why it is so, what it would take, and what becomes of the rows of each of its files."""

    spec: TrainSpec
    reasons: tuple[str, ...]
    estimate: Estimate
    accounts: Mapping[str, RowAccount] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """``{spec, reasons, estimate{seconds, peak_bytes, pairs_per_second, steps}, accounts}``."""
        accounts = {name: account.to_json() for name, account in self.accounts.items()}
        return {"spec": self.spec.to_json(), "reasons": list(self.reasons), "estimate": self.estimate.to_json(), "accounts": accounts}

    def in_words(self) -> str:
        """Such as ``about 4 min, 2.1 GB of memory; 1,250 steps at 84 rows a second``."""
        found = self.estimate
        seconds = found.seconds
        span = (
            f"{max(1, seconds):.0f} s"
            if seconds < 90
            else f"{seconds / 60:.0f} min"
            if seconds < 5400
            else f"{seconds / 3600:.1f} h"
            if seconds < 172_800
            else f"{seconds / 86400:.1f} days"
        )
        rate = rate_in_words(found.pairs_per_second)
        return f"about {span}, {found.peak_bytes / 1e9:.1f} GB of memory; {found.steps:,} steps at {rate} rows a second"


@dataclass(frozen=True)
class RunView:
    """A run and those of its events that the caller has not seen: (number, event) in order.

    Attributes:
        waiting: how many runs go before it.
        stopping: whether it was asked to stop and has not ended yet.
        kept_until: when it will be removed, UTC, ISO 8601; empty where it stays.
    """

    run: Run
    events: tuple[tuple[int, dict[str, Any]], ...]
    waiting: int = 0
    stopping: bool = False
    kept_until: str = ""

    @property
    def cursor(self) -> int:
        """The number of the last event here; 0 if there is none."""
        return self.events[-1][0] if self.events else 0

    def to_json(self) -> dict[str, Any]:
        """``{run, events, cursor, waiting, stopping, kept_until}``."""
        events = [{"seq": seq, **event} for seq, event in self.events]
        how = {"waiting": self.waiting, "stopping": self.stopping, "kept_until": self.kept_until}
        return {"run": self.run.to_json(), "events": events, "cursor": self.cursor, **how}


@dataclass(frozen=True)
class Exported:
    """A file made for download."""

    path: Path
    bytes: int

    def to_json(self) -> dict[str, Any]:
        """``{path, bytes}``."""
        return {"path": str(self.path), "bytes": self.bytes}


@dataclass(frozen=True)
class ModelCard:
    """A model that can be chosen by ``name``.

    Attributes:
        kind: bundled or run.
        reads: ``texts``, one at a time, or ``pairs``: a cross-encoder, which has no vectors.
        scores: of a run, before and after.
        damaged: why it cannot be used; empty where it can.
    """

    name: str
    kind: str
    title: str
    dim: int
    parameters: int
    max_length: int
    pooling: str
    note: str = ""
    reads: str = "texts"
    scores: Mapping[str, Any] = field(default_factory=dict)
    damaged: str = ""

    def to_json(self) -> dict[str, Any]:
        """Every field."""
        return {
            "name": self.name,
            "kind": self.kind,
            "title": self.title,
            "dim": self.dim,
            "parameters": self.parameters,
            "max_length": self.max_length,
            "pooling": self.pooling,
            "note": self.note,
            "reads": self.reads,
            "scores": dict(self.scores),
            "damaged": self.damaged,
        }


def _told(found: SearchResult | Mined | MapView) -> dict[str, Any]:
    return {"account": found.account.to_json(), "notes": list(found.notes)}
