"""Results of encoding, searching, mining and mapping a corpus, and of the same operations on shards."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ...data.row_report import RowReport
from ...errors import StudioError
from ...explore.duplicates import DuplicateGroup, DuplicateTree, Keep, find_groups
from ...i18n import _
from .similarity import unique_name

if TYPE_CHECKING:
    from ...data.corpus import Corpus


@dataclass(frozen=True)
class EncodedTexts:
    """Vectors of texts.

    Attributes:
        vectors: (rows, dim) float32. For a corpus, one for each row of its file below the header, NaN for rows without text; trailing
            blank rows do not count. For plain texts, one for each.
        account: use of the rows.
        seconds: encoding time without loading the model.
        precision: precision of the weights.
        why: the reason for the precision, one sentence if ``auto`` chose it.
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
    """Vectors of a file's texts in a ``.npy`` file.

    Attributes:
        rows, dim: shape of the array; see :class:`EncodedTexts`.
        nan: rows without a vector, counted from 0.
        resumed: number of rows written by an earlier call.
        seconds: time to encode and write the other rows.
        sentences_per_second: encoding rate of the other rows.
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
        """Return everything except the vectors. ``nan`` counts rows from 0 like NumPy, ``left_out`` like a spreadsheet."""
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
    """A search hit. ``row`` counts the corpus from 0, ``line`` is its spreadsheet number; a higher ``score`` is better."""

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
        milliseconds: duration of the search, without encoding and indexing the corpus.
        recall: share of the nearest texts found by an approximate search, measured on the corpus; ``None`` if it was exact.
        similarity_fn_name: the model's similarity function, used for semantic scores.
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
    """Two texts of a corpus and their similarity; rows count from 0, lines like a spreadsheet."""

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
        recall: measured share of the closest pairs found by an approximate comparison; ``None`` if all pairs were compared.
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
        line: cosine of the decision boundary; ``None`` if the suggestions are pairs on which two models disagree.
    """

    pairs: tuple[tuple[str, str, float], ...]
    line: float | None = None

    def to_json(self) -> dict[str, Any]:
        """Return ``{pairs: [{a, b, cosine}], line}``."""
        return {"pairs": [{"a": a, "b": b, "cosine": cosine} for a, b, cosine in self.pairs], "line": self.line}


@dataclass(frozen=True)
class ClusterInfo:
    """A cluster of the map; id -1 contains texts without a cluster."""

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
        clusters: largest first; texts without a cluster (-1) last.
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
        rows: number of texts with a vector.
        left_out: number of blank texts.
        shards: number of shards.
        resumed: number of shards written by an earlier call.
        seconds: time for the other shards, including loading the model.
        encoded: number of rows of the other shards.
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
        """Encoding rate of this call."""
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
    """The most similar pairs of ``rows`` texts, best first; ``resumed`` shards were compared by an earlier call."""

    pairs: tuple[ShardPair, ...]
    rows: int
    resumed: int
    seconds: float
    notes: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Return ``{pairs, rows, resumed, seconds, notes}``."""
        pairs = [pair.to_json() for pair in self.pairs]
        return {"pairs": pairs, "rows": self.rows, "resumed": self.resumed, "seconds": self.seconds, "notes": list(self.notes)}


REMOVAL_REASON = "nearly the same as another text"


@dataclass(frozen=True)
class Duplicates:
    """Near-duplicates of a corpus at any threshold from that of the tree to 1.

    Attributes:
        tree: tree of similar rows.
        vectors: (n, d) vectors of the corpus.
        seconds: duration of the comparison.
        notes: remarks, one sentence each.
    """

    corpus: Corpus
    tree: DuplicateTree
    vectors: np.ndarray
    seconds: float
    notes: tuple[str, ...] = ()

    def groups(
        self,
        threshold: float,
        keep: Keep = "first",
        *,
        chosen: Sequence[int] = (),
        apart: Collection[tuple[int, ...]] = (),
        column: str | None = None,
    ) -> tuple[DuplicateGroup, ...]:
        """Return the groups at a threshold; see :func:`~sbert_studio.explore.duplicates.find_groups`.

        Args:
            column: column of categories.

        Raises:
            StudioError: the threshold is below that of the tree or above 1, or there is no such rule or column.
        """
        corpus = self.corpus
        if column is not None and column not in corpus.fields:
            raise StudioError(
                _("there is no column {column}", column=repr(column)), _("choose one of {fields}", fields=", ".join(corpus.fields))
            )
        values = None if column is None else corpus.fields[column]
        return find_groups(self.tree, self.vectors, corpus.texts, threshold, keep, chosen=chosen, apart=apart, values=values)

    def clean(self, groups: Sequence[DuplicateGroup]) -> Corpus:
        """Return the corpus without the removed rows."""
        removed = {row for group in groups for row in group.removed}
        return self.corpus.subset([row for row in range(len(self.corpus)) if row not in removed], self.corpus.name, REMOVAL_REASON)

    def write_clean(self, groups: Sequence[DuplicateGroup], path: Path) -> None:
        """Write the kept rows with all columns as CSV without live formulas."""
        from ...data.cells import write_csv

        write_csv(path, self.clean(groups).columns())

    def write_removed(self, groups: Sequence[DuplicateGroup], path: Path) -> None:
        """Write the removed rows, each with the row kept in its place, as CSV without live formulas.

        Rows left out earlier, such as those without text, follow by number: together with the clean file this is the whole file.
        """
        from ...data.cells import write_csv

        corpus = self.corpus
        found = [
            (row, group.kept, score)
            for group in groups
            if group.kept is not None
            for row, score in zip(group.rows, group.scores, strict=True)
            if row != group.kept
        ]
        found.sort()
        skipped = [(row, reason.why) for reason in corpus.account.reasons for row in reason.rows]
        blank = [""] * len(skipped)
        columns: dict[str, list[Any]] = {
            "row": [*(corpus.lines[row] for row, _, _ in found), *(row for row, _ in skipped)],
            "why": [*(REMOVAL_REASON for _ in found), *(why for _, why in skipped)],
            "text": [*(corpus.texts[row] for row, _, _ in found), *blank],
            "cosine": [*(score for _, _, score in found), *blank],
            "kept_row": [*(corpus.lines[kept] for _, kept, _ in found), *blank],
            "kept_text": [*(corpus.texts[kept] for _, kept, _ in found), *blank],
        }
        own = set(corpus.fields) - set(columns)
        for name, cells in corpus.fields.items():
            # A renamed column must not collide with a later one of the file either.
            title = name if name not in columns else unique_name(name, {*columns, *own})
            columns[title] = [*(cells[row] for row, _, _ in found), *blank]
        write_csv(path, columns)

    def to_json(self, groups: Sequence[DuplicateGroup], threshold: float) -> dict[str, Any]:
        """Return ``{threshold, groups: [{rows, kept, scores}], goes, seconds, account, notes}`` with spreadsheet row numbers."""
        lines = self.corpus.lines
        return {
            "threshold": threshold,
            "groups": [
                {
                    "rows": [lines[row] for row in group.rows],
                    "kept": None if group.kept is None else lines[group.kept],
                    "scores": list(group.scores),
                }
                for group in groups
            ],
            "goes": sum(len(group.removed) for group in groups),
            "seconds": self.seconds,
            "account": self.corpus.account.to_json(),
            "notes": list(self.notes),
        }
