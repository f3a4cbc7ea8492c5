"""What the verbs return: frozen data that a page can draw and ``to_json`` can send."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..runs.record import Run

if TYPE_CHECKING:
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

    def to_json(self) -> dict[str, float]:
        """The four numbers."""
        return {"cosine": self.cosine, "dot": self.dot, "euclidean": self.euclidean, "manhattan": self.manhattan}


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
class PairScores:
    """A file of pairs compared, in its order; ``columns`` are the names of the two text columns."""

    rows: tuple[PairScore, ...]
    columns: tuple[str, str]

    def to_json(self) -> dict[str, Any]:
        """``{rows, columns}``."""
        return {"rows": [row.to_json() for row in self.rows], "columns": list(self.columns)}

    def to_csv(self, path: Path) -> None:
        """Write one line a pair, in which no cell is a live formula."""
        from ..data.tables import write_csv

        cells = [row.to_json() for row in self.rows]
        names = {"row": "row", "a": self.columns[0], "b": self.columns[1], **dict.fromkeys(_MEASURES)}
        write_csv(path, {names[key] or key: [cell[key] for cell in cells] for key in names})


@dataclass(frozen=True)
class Encoded:
    """Texts as vectors. ``vectors``: (rows, dim) float32. ``seconds``: encoding alone, the model already loaded."""

    vectors: np.ndarray
    rows: int
    dim: int
    seconds: float
    sentences_per_second: float

    def to_json(self) -> dict[str, Any]:
        """Everything but the vectors."""
        return {"rows": self.rows, "dim": self.dim, "seconds": self.seconds, "sentences_per_second": self.sentences_per_second}


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

    def to_json(self) -> dict[str, Any]:
        """``{hits, milliseconds}``."""
        return {"hits": [hit.to_json() for hit in self.hits], "milliseconds": self.milliseconds}


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

    def to_json(self) -> dict[str, Any]:
        """``{pairs, seconds}``."""
        return {"pairs": [pair.to_json() for pair in self.pairs], "seconds": self.seconds}


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

    def to_json(self) -> dict[str, Any]:
        """``{points: how many, clusters, dimensions}``; the coordinates go with :meth:`coordinates`."""
        clusters = [cluster.to_json() for cluster in self.clusters]
        return {"points": len(self.points), "dimensions": int(self.points.shape[1]), "clusters": clusters}

    def coordinates(self) -> list[list[float]]:
        """The points as plain lists."""
        return [[float(value) for value in point] for point in self.points]


@dataclass(frozen=True)
class Forecast:
    """A run that was not begun: its spec, why it is so, and what it would take."""

    spec: TrainSpec
    reasons: tuple[str, ...]
    estimate: Estimate

    def to_json(self) -> dict[str, Any]:
        """``{spec, reasons, estimate{seconds, peak_bytes, pairs_per_second, steps}}``."""
        return {"spec": self.spec.to_json(), "reasons": list(self.reasons), "estimate": self.estimate.to_json()}

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
        return (
            f"about {span}, {found.peak_bytes / 1e9:.1f} GB of memory; {found.steps:,} steps at {found.pairs_per_second:,.0f} rows a second"
        )


@dataclass(frozen=True)
class RunView:
    """A run and those of its events that the caller has not seen: (number, event) in order; ``waiting`` runs go before it."""

    run: Run
    events: tuple[tuple[int, dict[str, Any]], ...]
    waiting: int = 0

    @property
    def cursor(self) -> int:
        """The number of the last event here; 0 if there is none."""
        return self.events[-1][0] if self.events else 0

    def to_json(self) -> dict[str, Any]:
        """``{run, events, cursor, waiting}``."""
        events = [{"seq": seq, **event} for seq, event in self.events]
        return {"run": self.run.to_json(), "events": events, "cursor": self.cursor, "waiting": self.waiting}


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
