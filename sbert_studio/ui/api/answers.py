"""Response models of the endpoints, one pydantic class each; schemas, docs/api.md and tests are derived from them."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

Scores = dict[str, Any]
"""Scores by name; the names depend on the task."""


def _field(description: str) -> Any:
    return Field(description=description)


class ApiAnswer(BaseModel):
    """A response, or a part of one. Fields with a default are omitted if empty."""

    model_config = ConfigDict(extra="forbid", strict=True)


class SkippedRows(ApiAnswer):
    """Skipped rows, with the reason."""

    why: str
    rows: list[int] = _field("spreadsheet row numbers")


class FileRows(ApiAnswer):
    """Row counts of a file: read = used + held_out + left_out."""

    read: int
    used: int
    held_out: int = _field("rows for validation")
    left_out: int
    reasons: list[SkippedRows]
    in_turn: Annotated[bool, _field("each row was used for training and validation in turn (cross-validation)")] = False
    examples: Annotated[int | None, _field("number of examples, if lists in rows were expanded")] = None


class SimilarityAnswer(ApiAnswer):
    """Similarity of two texts."""

    cosine: float = _field("-1 to 1, larger is more similar")
    dot: float = _field("larger is more similar")
    euclidean: float = _field("smaller is more similar")
    manhattan: float = _field("smaller is more similar")
    similarity_fn_name: Annotated[str, _field("the model's similarity function if it is not cosine: dot, euclidean or manhattan")] = ""
    score: Annotated[float | None, _field("the value of this function, larger is more similar; distances are negated")] = None
    notes: Annotated[list[str], _field("warnings, such as that the model does not support the language of the texts")] = []
    model: str = _field("the model used: as requested, or the default for the language of the texts")


class SearchHit(ApiAnswer):
    """A search hit."""

    row: int = _field("spreadsheet row number")
    text: str
    score: float = _field("cosine, BM25 or fused score: larger is better")
    fields: dict[str, str] = _field("the row's other columns")


class SearchAnswer(ApiAnswer):
    """Hits, best first."""

    hits: list[SearchHit]
    milliseconds: float = _field("duration of the search, without encoding the corpus")
    exact: bool = _field("whether the search was exact")
    recall: float = _field("share of the nearest texts found by an approximate search, measured on the corpus; 1 if exact")
    account: FileRows
    notes: list[str]
    model: str = _field("the model used: as requested, or the default for the language of the texts")


class SimilarPair(ApiAnswer):
    """Two texts of the corpus."""

    a: str
    b: str
    row_a: int
    row_b: int
    score: float = _field("cosine similarity")


class MineAnswer(ApiAnswer):
    """The most similar pairs, closest first."""

    pairs: list[SimilarPair]
    seconds: float = _field("duration of the comparison")
    exact: bool = _field("whether all pairs were compared")
    recall: float = _field("share of the closest pairs found by an approximate comparison, measured on the corpus; 1 if exact")
    account: FileRows
    notes: list[str]
    model: str = _field("the model used: as requested, or the default for the language of the texts")


class MapCluster(ApiAnswer):
    """A cluster of the map."""

    id: int = _field("-1 for texts without a cluster")
    label: str
    size: int


class MapAnswer(ApiAnswer):
    """A UMAP projection of a corpus."""

    points: int = _field("number of texts")
    dimensions: int
    clusters: list[MapCluster] = _field("largest first")
    account: FileRows
    notes: list[str]
    model: str = _field("the model used: as requested, or the default for the language of the texts")
    ids: list[int] = _field("cluster of each text")
    coordinates: list[list[float]] = _field("(texts, dimensions)")


class ColumnRoles(ApiAnswer):
    """Roles of the columns."""

    kind: str
    texts: list[str] = _field("text columns, in the order of their roles")
    target: str | None
    low: float | None = _field("score of the least similar pairs")
    high: float | None = _field("score of the most similar pairs")
    labels: list[str]
    group: str | None
    note: str
    ordered: bool
    split: str | None = _field("column that assigns rows to train, dev and test")


class FileFinding(ApiAnswer):
    """One observation about the file."""

    severity: str = _field("info, warning or error")
    message: str
    rows: list[int]
    fix: dict[str, Any] | None


class ConversionOffer(ApiAnswer):
    """Another kind of examples that the file can be converted to."""

    name: str
    label: str
    rows: int
    left: int


class QuestionOption(ApiAnswer):
    """A possible answer to a question."""

    answer: str
    flag: str = _field("equivalent command-line option")
    choice: dict[str, Any] = _field("arguments of this endpoint for this answer")


class QuestionRow(ApiAnswer):
    """An example row of the file for a question."""

    row: int
    texts: list[str]
    value: str
    read_as: str


class FileQuestion(ApiAnswer):
    """A question about the file that only the user can answer."""

    name: str
    question: str
    why: str
    options: list[QuestionOption]
    rows: list[QuestionRow]
    proposed: Any


class CheckAnswer(ApiAnswer):
    """The detected kind of a file, and its problems."""

    kind: str | None = _field("scored_pairs, labelled_pairs, positive_pairs, triplets, labelled_texts or sentences")
    certain: bool
    questions: list[FileQuestion]
    usable: bool
    why: list[str]
    roles: ColumnRoles | None
    rows: int
    account: FileRows
    findings: list[FileFinding]
    offers: list[ConversionOffer]


class BeforeAfter(ApiAnswer):
    """Scores of a run; the names depend on the kind of examples."""

    before: Scores
    after: Scores


class RunAnswer(ApiAnswer):
    """A training run; its id is the name of the finished model."""

    id: str
    name: str
    status: str = _field("queued, running, finished, stopped, failed, interrupted or asks")
    created: str = _field("ISO 8601, UTC")
    model: str = _field("base model")
    loss: str
    method: str = _field("full or lora")
    rows: int
    dev_rows: int
    step: int
    steps: int
    seconds: float
    pairs_per_second: float
    scores: BeforeAfter
    message: str
    hint: str


class StartedRun(RunAnswer):
    """A run that was started."""

    accounts: dict[str, FileRows] = _field("row counts of each file")
    token: str = _field("required by /stop and /resume; only this caller receives it")


class RunEvent(ApiAnswer):
    """An event of a run; additional fields depend on its type."""

    model_config = ConfigDict(extra="allow", strict=True)

    seq: int = _field("number of the event, from 1")
    type: str
    time: float = _field("seconds since 1970, UTC")


class RunProgress(ApiAnswer):
    """State of a run."""

    run: RunAnswer
    events: list[RunEvent] = _field("events after the requested number")
    cursor: int = _field("value of `after` for the next request")
    waiting: int = _field("number of runs ahead in the queue")
    stopping: bool
    kept_until: str = _field("date of deletion; empty if runs are kept forever")
    accounts: dict[str, FileRows]


class ReportAnswer(ApiAnswer):
    """Evaluation of one model on one file; the scores are additional fields, which depend on the task."""

    model_config = ConfigDict(extra="allow", strict=True)

    task: str
    rows: int
    account: FileRows
    notes: list[str] = []


class EvaluationAnswer(ApiAnswer):
    """Evaluation of several models or files."""

    models: list[str]
    files: list[dict[str, Any]] = _field("evaluated files, each with a report per model")
    together: list[dict[str, Any]] = _field("aggregates over the files of a suite or task")
    averages: list[dict[str, Any]] = _field("averages over suites")
    comparisons: list[dict[str, Any]] = _field("for each pair of models: difference, interval, chance, better, words")
    missing: list[dict[str, str]] = []
    left_out: list[dict[str, str]] = []
    notes: list[str] = []


ANSWERS: dict[str, tuple[type[ApiAnswer], ...]] = {
    "similarity": (SimilarityAnswer,),
    "search": (SearchAnswer,),
    "mine": (MineAnswer,),
    "map": (MapAnswer,),
    "check": (CheckAnswer,),
    "train": (StartedRun,),
    "run": (RunProgress,),
    "stop": (RunAnswer,),
    "resume": (RunAnswer,),
    "evaluate": (ReportAnswer, EvaluationAnswer),
}
"""Endpoint → class of its response. If there are two, the second is for several models, several files or a suite."""


def check_answer(endpoint: str, answer: Any) -> ApiAnswer:
    """Validate a response against its class.

    Raises:
        pydantic.ValidationError: it does not match.
    """
    kinds = ANSWERS[endpoint]
    kind = kinds[1] if len(kinds) > 1 and "models" in answer else kinds[0]
    return kind.model_validate(answer)
