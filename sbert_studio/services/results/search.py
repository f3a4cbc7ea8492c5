"""Results of encoding, searching, mining and mapping a corpus, and of the same over shards."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from ...data.row_report import RowReport


@dataclass(frozen=True)
class EncodedTexts:
    """Texts as vectors.

    Attributes:
        vectors: (rows, dim) float32. Of a corpus: one for each row of its file below the header, NaN for rows without text; blank
            rows at the end do not count. Of plain texts: one for each.
        account: use of the rows.
        seconds: encoding time without loading the model.
        precision: precision of the weights; ``why``: a sentence if ``auto`` chose it.
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
    """A file's texts as vectors in a ``.npy`` file.

    Attributes:
        rows, dim: shape of the array; see :class:`EncodedTexts`.
        nan: rows without a vector, counted from 0.
        resumed: rows an earlier call had written.
        seconds: time to encode and write the others; ``sentences_per_second``: of these.
        account, notes, precision, why: see :class:`EncodedTexts`.
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
        """Return everything but the vectors. ``nan`` counts rows from 0 as NumPy does, ``left_out`` as a spreadsheet does."""
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
    """A text found. ``row`` counts the corpus from 0, ``line`` is its spreadsheet number; a higher ``score`` is better."""

    row: int
    line: int
    text: str
    score: float
    fields: Mapping[str, str] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """Return ``{row, text, score, fields}`` with the spreadsheet row number."""
        return {"row": self.line, "text": self.text, "score": self.score, "fields": dict(self.fields)}


@dataclass(frozen=True)
class SearchResult:
    """Hits, best first.

    Attributes:
        milliseconds: duration of the search, with the corpus encoded and indexed.
        recall: share of the nearest texts that an approximate search finds, measured on the corpus; ``None`` if it was exact.
        similarity_fn_name: the model's measure, of which the semantic scores are.
    """

    hits: tuple[TextHit, ...]
    milliseconds: float
    account: RowReport
    notes: tuple[str, ...] = ()
    recall: float | None = None
    similarity_fn_name: str = "cosine"

    def to_json(self) -> dict[str, Any]:
        """Return ``{hits, milliseconds, exact, recall, account, notes}``; the recall of an exact search is 1."""
        hits = [hit.to_json() for hit in self.hits]
        return {"hits": hits, "milliseconds": self.milliseconds, **_exactness(self.recall), **_remarks(self)}


@dataclass(frozen=True)
class MinedPair:
    """Two texts of a corpus and their similarity; rows count from 0, lines as a spreadsheet does."""

    a: str
    b: str
    row_a: int
    row_b: int
    line_a: int
    line_b: int
    score: float

    def to_json(self) -> dict[str, Any]:
        """Return ``{a, b, row_a, row_b, score}`` with spreadsheet row numbers."""
        return {"a": self.a, "b": self.b, "row_a": self.line_a, "row_b": self.line_b, "score": self.score}


@dataclass(frozen=True)
class MinedPairs:
    """The most similar pairs, best first.

    Attributes:
        seconds: duration of the comparison.
        recall: measured share of the closest pairs that an approximate comparison finds; ``None`` if all pairs were compared.
    """

    pairs: tuple[MinedPair, ...]
    seconds: float
    account: RowReport
    notes: tuple[str, ...] = ()
    recall: float | None = None

    def to_json(self) -> dict[str, Any]:
        """Return ``{pairs, seconds, exact, recall, account, notes}``; the recall of an exact comparison is 1."""
        return {"pairs": [pair.to_json() for pair in self.pairs], "seconds": self.seconds, **_exactness(self.recall), **_remarks(self)}


@dataclass(frozen=True)
class PairSuggestions:
    """Pairs worth labelling.

    Attributes:
        pairs: two texts and their cosine, most informative first.
        line: cosine of the decision boundary; ``None`` if they are pairs on which two models disagree.
    """

    pairs: tuple[tuple[str, str, float], ...]
    line: float | None = None

    def to_json(self) -> dict[str, Any]:
        """Return ``{pairs: [{a, b, cosine}], line}``."""
        return {"pairs": [{"a": a, "b": b, "cosine": cosine} for a, b, cosine in self.pairs], "line": self.line}


@dataclass(frozen=True)
class ClusterInfo:
    """A cluster of the map; id -1 holds texts in no cluster."""

    id: int
    label: str
    size: int

    def to_json(self) -> dict[str, Any]:
        """Return ``{id, label, size}``."""
        return asdict(self)


@dataclass(frozen=True)
class MapView:
    """Map of a corpus.

    Attributes:
        points: (n, 2) or (n, 3) float32, in corpus order.
        ids: (n,) int64, cluster of each text, -1 for none.
        clusters: largest first; texts in no cluster (-1) last.
        projection_key: changes when the points move.
    """

    points: np.ndarray
    ids: np.ndarray
    clusters: tuple[ClusterInfo, ...]
    projection_key: str
    account: RowReport = field(default=RowReport(0, 0))
    notes: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Return ``{points: number of texts, clusters, dimensions, account, notes}``; see :meth:`coordinates`."""
        clusters = [cluster.to_json() for cluster in self.clusters]
        return {"points": len(self.points), "dimensions": int(self.points.shape[1]), "clusters": clusters, **_remarks(self)}

    def coordinates(self) -> list[list[float]]:
        """Return the points as plain lists."""
        return [[float(value) for value in point] for point in self.points]


def _exactness(recall: float | None) -> dict[str, Any]:
    return {"exact": recall is None, "recall": 1.0 if recall is None else recall}


def _remarks(result: SearchResult | MinedPairs | MapView) -> dict[str, Any]:
    return {"account": result.account.to_json(), "notes": list(result.notes)}


@dataclass(frozen=True)
class EncodedShards:
    """A folder of encoded shards.

    Attributes:
        rows: texts with a vector; ``left_out``: blank texts.
        shards: number of shards; ``resumed``: those an earlier call had written.
        seconds: time for the others, including loading the model; ``encoded``: their rows.
        text, id: columns read; without ``id``, rows are numbered.
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
        """Rate of this call."""
        return self.encoded / self.seconds if self.encoded else 0.0

    def to_json(self) -> dict[str, Any]:
        """Return all fields and ``sentences_per_second``."""
        return {**asdict(self), "sentences_per_second": self.sentences_per_second}


@dataclass(frozen=True)
class ShardPair:
    """Two texts of a shard folder with their ids and cosine."""

    id_a: Any
    a: str
    id_b: Any
    b: str
    score: float

    def to_json(self) -> dict[str, Any]:
        """Return ``{a, b, id_a, id_b, score}``."""
        return {"a": self.a, "b": self.b, "id_a": self.id_a, "id_b": self.id_b, "score": self.score}


@dataclass(frozen=True)
class MinedShards:
    """The most similar pairs of ``rows`` texts, best first; ``resumed``: shards an earlier call had compared."""

    pairs: tuple[ShardPair, ...]
    rows: int
    resumed: int
    seconds: float
    notes: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Return ``{pairs, rows, resumed, seconds, notes}``."""
        pairs = [pair.to_json() for pair in self.pairs]
        return {"pairs": pairs, "rows": self.rows, "resumed": self.resumed, "seconds": self.seconds, "notes": list(self.notes)}
