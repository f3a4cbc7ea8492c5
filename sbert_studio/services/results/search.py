"""Results of encoding, searching, mining and mapping a corpus, and of the same operations on shards."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
from pydantic import PlainSerializer, computed_field

from ...data.documents.passages import PassagePlace
from ...data.row_report import RowReport, SkippedRows
from ...data.schema.names import unique_name
from ...errors import StudioError
from ...explore.duplicates import DuplicateGroup, DuplicateTree, Keep, find_groups
from ...explore.map_edits import NO_CLUSTER
from ...i18n import _
from ...serialization import OMIT_EMPTY, Internal, JsonResult, doc

if TYPE_CHECKING:
    from ...data.corpus import Corpus


REMOVAL_REASON = "nearly identical to another text"
_MODEL = doc("the one that was used: as requested, or the default for the language of the texts; none where none was needed")
_RECALL = PlainSerializer(lambda recall: 1.0 if recall is None else recall, float)  # None: exact


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
class EncodedFile(JsonResult):
    """A file's texts as vectors in a ``.npy`` file; see :class:`EncodedTexts`."""

    rows: int
    dim: int
    nan: Annotated[tuple[int, ...], doc("rows without a vector, from 0 as NumPy counts them")]
    resumed: Annotated[int, doc("rows an earlier call had written")]
    seconds: Annotated[float, doc("time to encode and write the others")]
    sentences_per_second: float
    account: Internal[RowReport]
    notes: tuple[str, ...] = ()
    precision: str = "float32"
    why: str = ""

    @computed_field  # type: ignore[prop-decorator]
    @property
    def encoded(self) -> int:
        return self.account.used

    @computed_field(description="with spreadsheet row numbers")  # type: ignore[prop-decorator]
    @property
    def left_out(self) -> tuple[SkippedRows, ...]:
        return self.account.reasons


@dataclass(frozen=True)
class TextHit(JsonResult):
    """A text that was found.

    Attributes:
        row: row of the corpus, from 0.
    """

    row: Internal[int]
    line: Annotated[int, doc("as a spreadsheet numbers it", name="row")]
    text: str
    score: Annotated[float, doc("similarity, BM25 or fused score: larger is better")]
    fields: Annotated[Mapping[str, str], doc("the row's other columns")] = field(default_factory=dict)
    place: Annotated[PassagePlace | None, doc("where a passage stands in its document"), OMIT_EMPTY] = None


@dataclass(frozen=True)
class SearchResult(JsonResult):
    """Hits, best first.

    Attributes:
        similarity_fn_name: the model's similarity function, which the semantic scores are computed with.
    """

    hits: tuple[TextHit, ...]
    milliseconds: Annotated[float, doc("duration of the search, with the corpus encoded and indexed")]
    account: RowReport
    notes: tuple[str, ...] = ()
    recall: Annotated[float | None, _RECALL, doc("share of the nearest texts that an approximate search finds; 1 if exact")] = None
    similarity_fn_name: Internal[str] = "cosine"
    model: Annotated[str | None, _MODEL] = None

    @computed_field(description="whether all nearest texts are certainly found")  # type: ignore[prop-decorator]
    @property
    def exact(self) -> bool:
        return self.recall is None


@dataclass(frozen=True)
class MinedPair(JsonResult):
    """Two texts of a corpus."""

    a: str
    b: str
    row_a: Internal[int]
    row_b: Internal[int]
    line_a: Annotated[int, doc("as a spreadsheet numbers it", name="row_a")]
    line_b: Annotated[int, doc("as a spreadsheet numbers it", name="row_b")]
    score: Annotated[float, doc("their similarity")]


@dataclass(frozen=True)
class MinedPairs(JsonResult):
    """The most similar pairs, closest first."""

    pairs: tuple[MinedPair, ...]
    seconds: Annotated[float, doc("duration of the comparison")]
    account: RowReport
    notes: tuple[str, ...] = ()
    recall: Annotated[float | None, _RECALL, doc("share of the closest pairs that an approximate comparison finds; 1 if exact")] = None
    model: Annotated[str | None, _MODEL] = None

    @computed_field(description="whether all texts were compared with all")  # type: ignore[prop-decorator]
    @property
    def exact(self) -> bool:
        return self.recall is None


@dataclass(frozen=True)
class PairSuggestions(JsonResult):
    """Pairs worth labelling.

    Attributes:
        pairs: two texts and their cosine, most informative first.
        line: cosine of the decision boundary; ``None`` if the suggestions are pairs on which two models disagree.
    """

    pairs: Annotated[
        tuple[tuple[str, str, float], ...],
        PlainSerializer(lambda pairs: [{"a": a, "b": b, "cosine": cosine} for a, b, cosine in pairs], list[dict[str, Any]]),
    ]
    line: float | None = None


@dataclass(frozen=True)
class TopicInfo(JsonResult):
    """A topic of the map, or a broad topic that others belong to."""

    id: int
    label: str
    size: int
    parent: Annotated[int | None, doc("id of its broad topic; null for a broad topic, or if there are few topics")] = None
    keywords: Annotated[tuple[str, ...], doc("most characteristic words, best first")] = ()
    examples: Annotated[tuple[str, ...], doc("most typical texts, best first")] = ()


@dataclass(frozen=True)
class MapView(JsonResult):
    """A corpus projected by UMAP, with its topics.

    Attributes:
        points: (n, 2) or (n, 3) float32, in corpus order.
        ids: (n,) int64, topic of each text, -1 for outliers.
        projection_key: changes when the points move.
        typicality: (n,) float32, the cosine of each text to the centroid of its topic.
        nearest: (n,) int64, for an outlier the topic with the nearest centroid, otherwise the text's own.
    """

    points: Internal[np.ndarray]
    ids: Internal[np.ndarray]
    topics: Annotated[tuple[TopicInfo, ...], doc("largest first, broad topics last")]
    projection_key: Internal[str]
    account: RowReport = field(default=RowReport(0, 0))
    notes: tuple[str, ...] = ()
    model: Annotated[str | None, _MODEL] = None
    typicality: Internal[np.ndarray | None] = None
    nearest: Internal[np.ndarray | None] = None

    @computed_field(alias="points", description="number of texts")  # type: ignore[prop-decorator]
    @property
    def size(self) -> int:
        return len(self.points)

    @computed_field  # type: ignore[prop-decorator]
    @property
    def dimensions(self) -> int:
        return int(self.points.shape[1])

    @computed_field(description="number of texts without a topic")  # type: ignore[prop-decorator]
    @property
    def outliers(self) -> int:
        return int((self.ids < 0).sum())

    @property
    def names(self) -> dict[int, str]:
        """Labels by topic id, for topics with at least one text; outliers have the id -1."""
        used = set(self.ids.tolist())
        return {topic.id: topic.label for topic in self.topics if topic.id in used} | ({-1: NO_CLUSTER} if -1 in used else {})


@dataclass(frozen=True)
class EncodedShards(JsonResult):
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

    @computed_field  # type: ignore[prop-decorator]
    @property
    def sentences_per_second(self) -> float:
        """Encoding rate of this call."""
        return self.encoded / self.seconds if self.encoded else 0.0


@dataclass(frozen=True)
class ShardPair(JsonResult):
    """Two texts of a shard folder with their ids and cosine."""

    id_a: Any
    a: str
    id_b: Any
    b: str
    score: float


@dataclass(frozen=True)
class MinedShards(JsonResult):
    """The most similar pairs of ``rows`` texts, best first; ``resumed``: shards an earlier call had compared."""

    pairs: tuple[ShardPair, ...]
    rows: int
    resumed: int
    seconds: float
    notes: tuple[str, ...] = ()


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
            StudioError: the threshold is below that of the tree or above 1, or the rule or column does not exist.
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
        """Write the kept rows with all columns as .csv or .xlsx without live formulas."""
        from ...data.cells import write_spreadsheet

        write_spreadsheet(path, self.clean(groups).columns())

    def write_removed(self, groups: Sequence[DuplicateGroup], path: Path) -> None:
        """Write the removed rows, each with the row kept in its place, as .csv or .xlsx without live formulas.

        Rows skipped earlier, such as those without text, are included by row number, so that this and the clean file make up the whole
        file.
        """
        from ...data.cells import write_spreadsheet

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
        own = unique_name(corpus.column, {"row", "why", "cosine", "kept_row", "kept_text"})
        columns: dict[str, list[Any]] = {
            "row": [*(corpus.lines[row] for row, _, _ in found), *(row for row, _ in skipped)],
            "why": [*(REMOVAL_REASON for _ in found), *(why for _, why in skipped)],
            own: [*(corpus.texts[row] for row, _, _ in found), *blank],
            "cosine": [*(score for _, _, score in found), *blank],
            "kept_row": [*(corpus.lines[kept] for _, kept, _ in found), *blank],
            "kept_text": [*(corpus.texts[kept] for _, kept, _ in found), *blank],
        }
        others = set(corpus.fields) - set(columns)
        for name, cells in corpus.fields.items():
            # A renamed column must not collide with a later column of the file.
            title = name if name not in columns else unique_name(name, {*columns, *others})
            columns[title] = [*(cells[row] for row, _, _ in found), *blank]
        write_spreadsheet(path, columns)

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
