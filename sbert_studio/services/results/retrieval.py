"""Results of the evaluation of retrieval."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Literal

from ...evaluation.comparison import Comparison
from ...evaluation.ranking import METRICS, RankingScores
from ...i18n import _, ngettext
from ...serialization import OMIT_EMPTY, Internal, JsonResult, doc

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
