"""What encoding, searching, mining and drawing a corpus return.

What the verbs over shards return.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ...data.row_report import RowReport


@dataclass(frozen=True)
class EncodedTexts:
    """Texts as vectors.

    Attributes:
        vectors: (rows, dim) float32, one for each row of the file: those below its header, in order, blank ones too; blank rows
            that end the file do not count. NaN where a row has no text. Of bare texts: one for each.
        account: what became of the rows.
        seconds: encoding alone, the model already loaded.
        precision: of the model's weights. why: of one chosen by ``auto``, a sentence.
    """

    vectors: np.ndarray
    rows: int
    dim: int
    seconds: float
    sentences_per_second: float
    account: RowReport
    notes: tuple[str, ...] = ()
    precision: str = "float32"
    why: str = ""


@dataclass(frozen=True)
class EncodedFile:
    """A file's texts as vectors in another file.

    Attributes:
        rows, dim: the shape of what was written: see :class:`Encoded`.
        nan: the rows without a vector, from 0, as NumPy counts.
        resumed: how many rows an earlier call had done.
        seconds: encoding and writing the others. sentences_per_second: of the texts in them.
        account, notes, precision, why: see :class:`Encoded`.
    """

    rows: int
    dim: int
    nan: tuple[int, ...]
    resumed: int
    seconds: float
    sentences_per_second: float
    account: RowReport
    notes: tuple[str, ...] = ()
    precision: str = "float32"
    why: str = ""

    def to_json(self) -> dict[str, Any]:
        """Everything but the vectors; ``nan`` counts the rows without a vector from 0, as NumPy does, ``left_out`` as a spreadsheet."""
        return {
            "rows": self.rows,
            "encoded": self.account.used,
            "left_out": [reason.to_json() for reason in self.account.reasons],
            "nan": list(self.nan),
            "resumed": self.resumed,
            "dim": self.dim,
            "seconds": self.seconds,
            "sentences_per_second": self.sentences_per_second,
            "precision": self.precision,
            "why": self.why,
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
    """Hits, best first.

    Attributes:
        milliseconds: the search alone, with the corpus encoded and indexed.
        recall: the share of the nearest texts that such a search by meaning finds, measured on the corpus; None: all, it was exact.
        similarity_fn_name: how the model compares; the scores of a search by meaning are of it.
    """

    hits: tuple[TextHit, ...]
    milliseconds: float
    account: RowReport
    notes: tuple[str, ...] = ()
    recall: float | None = None
    similarity_fn_name: str = "cosine"

    def to_json(self) -> dict[str, Any]:
        """``{hits, milliseconds, exact, recall, account, notes}``; the recall of an exact search is 1."""
        said = {"exact": self.recall is None, "recall": 1.0 if self.recall is None else self.recall}
        return {"hits": [hit.to_json() for hit in self.hits], "milliseconds": self.milliseconds, **said, **_told(self)}


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
class MinedPairs:
    """The most similar pairs, best first.

    Attributes:
        seconds: the comparison alone.
        recall: the share of the closest pairs that such a comparison finds, as measured; ``None`` where all pairs were compared.
    """

    pairs: tuple[MinedPair, ...]
    seconds: float
    account: RowReport
    notes: tuple[str, ...] = ()
    recall: float | None = None

    def to_json(self) -> dict[str, Any]:
        """``{pairs, seconds, exact, recall, account, notes}``; the recall of an exact comparison is 1."""
        said = {"exact": self.recall is None, "recall": 1.0 if self.recall is None else self.recall}
        return {"pairs": [pair.to_json() for pair in self.pairs], "seconds": self.seconds, **said, **_told(self)}


@dataclass(frozen=True)
class PairSuggestions:
    """Pairs that are worth a person's word.

    Attributes:
        pairs: two texts and their cosine, the one that is most worth it first.
        line: the cosine near which they lie; ``None`` where two models disagree on them.
    """

    pairs: tuple[tuple[str, str, float], ...]
    line: float | None = None

    def to_json(self) -> dict[str, Any]:
        """``{pairs: [{a, b, cosine}], line}``."""
        return {"pairs": [{"a": a, "b": b, "cosine": cosine} for a, b, cosine in self.pairs], "line": self.line}


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
    account: RowReport = field(default=RowReport(0, 0))
    notes: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """``{points: how many, clusters, dimensions, account, notes}``; the coordinates go with :meth:`coordinates`."""
        clusters = [cluster.to_json() for cluster in self.clusters]
        return {"points": len(self.points), "dimensions": int(self.points.shape[1]), "clusters": clusters, **_told(self)}

    def coordinates(self) -> list[list[float]]:
        """The points as plain lists."""
        return [[float(value) for value in point] for point in self.points]


def _told(found: SearchResult | MinedPairs | MapView) -> dict[str, Any]:
    return {"account": found.account.to_json(), "notes": list(found.notes)}


@dataclass(frozen=True)
class EncodedShards:
    """A folder of vectors.

    Attributes:
        rows: texts that have a vector; left_out: blank ones.
        shards: how many; resumed: how many of them were there already.
        seconds: what the others took, the model's loading included; encoded: how many rows these have.
        text, id: the columns that were read; no id: rows are numbered.
    """

    folder: str
    rows: int
    left_out: int
    shards: int
    resumed: int
    dim: int
    seconds: float
    encoded: int
    text: str
    id: str | None

    @property
    def sentences_per_second(self) -> float:
        """Of what was encoded now."""
        return self.encoded / self.seconds if self.encoded else 0.0

    def to_json(self) -> dict[str, Any]:
        """All of it."""
        return {**vars(self), "sentences_per_second": self.sentences_per_second}


@dataclass(frozen=True)
class ShardPair:
    """Two texts with their ids, and their cosine."""

    id_a: Any
    a: str
    id_b: Any
    b: str
    score: float

    def to_json(self) -> dict[str, Any]:
        """``{a, b, id_a, id_b, score}``."""
        return {"a": self.a, "b": self.b, "id_a": self.id_a, "id_b": self.id_b, "score": self.score}


@dataclass(frozen=True)
class MinedShards:
    """The most similar pairs of ``rows`` texts, best first; ``resumed``: how many shards were compared before."""

    pairs: tuple[ShardPair, ...]
    rows: int
    resumed: int
    seconds: float
    notes: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """``{pairs, rows, resumed, seconds, notes}``."""
        found = {"rows": self.rows, "resumed": self.resumed, "seconds": self.seconds, "notes": list(self.notes)}
        return {"pairs": [pair.to_json() for pair in self.pairs], **found}
