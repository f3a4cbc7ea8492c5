"""Results of evaluating several models on several files, and of evaluating retrieval."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import computed_field

from ...datasets.suites import MissingPart
from ...evaluation.comparison import Comparison, EvaluationFile, FileGroup, ModelScores, SuiteAverage
from ...evaluation.ranking import METRICS, RankingScores
from ...i18n import _, ngettext
from ...serialization import OMIT_EMPTY, Internal, JsonResult, doc

if TYPE_CHECKING:
    import numpy as np

    from ...data.corpus import Corpus
    from ...evaluation.report import Report
    from ...explore.model_diff import ConfusionChange, NeighborChange, PairChange


@dataclass(frozen=True)
class SkippedFile(JsonResult):
    """A file of a folder that was not evaluated, and why."""

    file: str
    why: str


@dataclass(frozen=True)
class AvailableSuite:
    """A suite with files on this machine: ``parts`` of ``wanted``."""

    name: str
    title: str
    parts: int
    wanted: int


@dataclass(frozen=True, eq=False)
class EvaluationResult(JsonResult):
    """Evaluation of several models or files.

    Attributes:
        files: evaluated files.
        groups, averages: aggregates over the files of a suite or task, and over suites.
        models: scores of each model.
    """

    files: Internal[tuple[EvaluationFile, ...]]
    groups: Internal[tuple[FileGroup, ...]]
    averages: Internal[tuple[SuiteAverage, ...]]
    models: Internal[tuple[ModelScores, ...]]
    comparisons: Annotated[tuple[Comparison, ...], doc("every two models on each file and aggregate")]
    missing: Annotated[tuple[MissingPart, ...], doc("missing files of a suite"), OMIT_EMPTY] = ()
    left_out: Annotated[tuple[SkippedFile, ...], doc("files of a folder that were not evaluated"), OMIT_EMPTY] = ()
    notes: Annotated[tuple[str, ...], doc("other problems, such as a leaderboard that could not be written"), OMIT_EMPTY] = ()

    @computed_field(alias="models", description="names of the models")  # type: ignore[prop-decorator]
    @property
    def model_names(self) -> list[str]:
        return [model.model for model in self.models]

    @computed_field(alias="files", description="each with a report for each model")  # type: ignore[prop-decorator]
    @property
    def file_reports(self) -> list[dict[str, Any]]:
        return [self._file(place) for place in range(len(self.files))]

    @computed_field(alias="together", description="files of one suite or task, taken together")  # type: ignore[prop-decorator]
    @property
    def group_reports(self) -> list[dict[str, Any]]:
        return [self._group(place) for place in range(len(self.groups))]

    @computed_field(alias="averages", description="averages over suites")  # type: ignore[prop-decorator]
    @property
    def average_reports(self) -> list[dict[str, Any]]:
        return [self._average(place) for place in range(len(self.averages))]

    def _file(self, place: int) -> dict[str, Any]:
        file = self.files[place]
        return {
            "file": file.name,
            **({"suite": file.suite} if file.suite else {}),
            "rows": len(file.rows.examples),
            "account": file.rows.account.to_json(),
            **({"notes": list(file.notes)} if file.notes else {}),
            "reports": [_report(model.model, model.reports[place], model.notes[place]) for model in self.models],
        }

    def _group(self, place: int) -> dict[str, Any]:
        group = self.groups[place]
        own = [(model.model, model.groups[place]) for model in self.models]
        return {
            "name": group.name,
            "task": group.task.name,
            "files": [self.files[member].name for member in group.members],
            "rows": sum(len(self.files[member].rows.examples) for member in group.members),
            **({"notes": [group.pooling_note]} if group.pooling_note else {}),
            "reports": [{"model": name, **found.to_json()} for name, found in own if found is not None],
        }

    def _average(self, place: int) -> dict[str, Any]:
        average = self.averages[place]
        own = [(model.model, model.averages[place]) for model in self.models]
        return {
            "name": average.name,
            "suites": list(average.suites),
            "wanted": average.wanted,
            "reports": [{"model": name, "mean": dict(found.mean)} for name, found in own if found is not None],
        }


def _report(model: str, report: Report, notes: tuple[str, ...]) -> Mapping[str, Any]:
    own = {name: value for name, value in report.to_json().items() if name not in ("account", "notes")}
    return {"model": model, **own, **({"notes": list(notes)} if notes else {})}


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

        def near(neighbors: tuple[tuple[int, float], ...]) -> list[Mapping[str, Any]]:
            return [{"row": lines[row], "score": score} for row, score in neighbors]

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


SystemKind = Literal["semantic", "lexical", "passages", "hybrid", "reranked"]
Reason = Literal["near-duplicate above", "other language", "no shared words", "longer than the limit", "other texts are closer"]


@dataclass(frozen=True)
class MissedDocument(JsonResult):
    """A relevant document that is not among a query's first ten.

    Attributes:
        above: the near-duplicate above it; empty if there is none.
    """

    query_id: str
    query: str
    document_id: str
    document: Annotated[str, doc("beginning of its text")]
    grade: float
    rank: Annotated[int | None, doc("its rank; none below the first 100")]
    reasons: tuple[Reason, ...]
    above: Annotated[str, doc("beginning of the near-duplicate that is ranked above it"), OMIT_EMPTY] = ""


@dataclass(frozen=True)
class RetrievalMetrics(JsonResult):
    """Means over all queries."""

    ndcg_at_10: Annotated[float, doc("main metric, with the gain grade / log₂(rank + 1)", name="ndcg@10")]
    recall_at_10: Annotated[float, doc("share of the relevant documents among the first 10", name="recall@10")]
    recall_at_100: Annotated[float, doc("share of the relevant documents among the first 100", name="recall@100")]
    mrr_at_10: Annotated[float, doc("reciprocal rank of the first relevant document; 0 below the first 10", name="mrr@10")]
    map_at_100: Annotated[float, doc("mean average precision over the first 100", name="map@100")]
    intervals: Annotated[Mapping[str, list[float]], doc("95 % bootstrap interval of each metric over queries; empty with too few queries")]

    @staticmethod
    def values(scores: RankingScores) -> tuple[float, float, float, float, float, Mapping[str, list[float]]]:
        """Return the fields of this class in order."""
        ndcg, recall, recall_100, mrr, average_precision = scores.by_query.mean(axis=0).tolist()
        return ndcg, recall, recall_100, mrr, average_precision, scores.intervals

    def metric(self, name: str) -> float:
        """Return the mean of one of :data:`~sbert_studio.evaluation.ranking.METRICS`."""
        return float(getattr(self, name.replace("@", "_at_")))


@dataclass(frozen=True)
class RetrievalScores(RetrievalMetrics):
    """Scores of a model, or of a baseline beside it.

    Attributes:
        scores: scores of each query, and bootstrap scores.
        base: the model that this one is combined with.
        fingerprint, dim, seconds: fingerprint and dimension of a model (0 for pair scorers), and its time.
    """

    name: Annotated[str, doc("the model, and what it is combined with: ``MODEL + BM25``")]
    kind: SystemKind
    model: Annotated[str, doc("the model of embeddings or of the reranker that decides last; none for BM25"), OMIT_EMPTY] = ""
    judged: Annotated[float, doc("share of the first 10 results that have a judgment; the others count as not relevant")] = 0.0
    truncated: Annotated[int | None, doc("number of documents longer than the model's limit; none if unknown or without a limit")] = None
    max_length: Annotated[int | None, doc("the limit in tokens")] = None
    sentences_per_second: Annotated[float, doc("encoding speed; 0 if all vectors were cached")] = 0.0
    notes: Annotated[tuple[str, ...], doc("whether the model knows the language, and rows that it was trained on"), OMIT_EMPTY] = ()
    missed: Annotated[tuple[MissedDocument, ...], doc("relevant documents below the first ten, by query"), OMIT_EMPTY] = ()
    scores: Internal[RankingScores | None] = field(default=None, compare=False, repr=False)
    base: Internal[str] = ""
    fingerprint: Internal[str] = ""
    dim: Internal[int] = 0
    seconds: Internal[float] = 0.0

    def length_notes(self) -> tuple[str, ...]:
        """Return a sentence on the documents that the model truncates."""
        if not self.truncated:
            return ()
        return (
            ngettext(
                "{n} document is longer than the {tokens} tokens that {name} reads; the rest of it is ignored.",
                "{n} documents are longer than the {tokens} tokens that {name} reads; the rest of them is ignored.",
                self.truncated,
                tokens=f"{self.max_length:,}",
                name=self.name,
            ),
        )


@dataclass(frozen=True)
class RetrievalResult(RetrievalMetrics):
    """Retrieval with several models on the same queries and documents; the metrics are those of the first model."""

    set: Annotated[str, doc("name of the queries and documents")]
    queries: Annotated[int, doc("number of queries with a relevant document")]
    documents: Annotated[int, doc("number of documents")]
    models: Annotated[tuple[RetrievalScores, ...], doc("scores of each model")]
    baselines: Annotated[
        tuple[RetrievalScores, ...], doc("BM25 and, for each model, its search of passages, hybrid search and re-ranked results")
    ]
    comparisons: Annotated[tuple[Comparison, ...], doc("every two models, and each model with its baselines, by nDCG@10")]
    candidates: Annotated[Literal["all", "judged"], doc("what is ranked: all documents, or the judged ones of each query")] = "all"
    split: Annotated[str, doc("split of the judgments"), OMIT_EMPTY] = ""
    known_item: Annotated[
        str,
        doc("how queries were made from documents without labels: such scores are not comparable with those of real queries"),
        OMIT_EMPTY,
    ] = ""
    notes: Annotated[tuple[str, ...], doc("remarks on the queries, documents and judgments"), OMIT_EMPTY] = ()
    digest: Internal[str] = ""
    query_texts: Internal[tuple[str, ...]] = ()

    @property
    def model(self) -> str:
        """See :class:`~sbert_studio.services.jobs.JobResult`."""
        return ""

    @property
    def title(self) -> str:
        """Name of the set with its split, and what is ranked."""
        name = _("{name} {split}", name=self.set, split=self.split) if self.split else self.set
        return _("{name}, judged candidates", name=name) if self.candidates == "judged" else name

    def combined(self, model: RetrievalScores) -> tuple[RetrievalScores, ...]:
        """Return the baselines that combine a model with something else."""
        return tuple(one for one in self.baselines if one.base == model.name)

    def describe(self) -> str:
        """Return one sentence on the best model."""
        best = max(self.models, key=lambda one: one.metric(METRICS[0]))
        return _(
            "{name}: nDCG@10 {score} on {queries} queries over {documents} documents",
            name=best.name,
            score=f"{best.metric(METRICS[0]):.3f}",
            queries=f"{self.queries:,}",
            documents=f"{self.documents:,}",
        )
