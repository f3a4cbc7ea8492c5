"""What each endpoint answers, field by field; docs/api.md is written from it, and a test holds real answers against it."""

from __future__ import annotations

from typing import Annotated, Any, NotRequired

from typing_extensions import TypedDict

Scores = dict[str, Any]


class Reason(TypedDict):
    """Why rows were left out."""

    why: str
    rows: Annotated[list[int], "as a spreadsheet numbers them"]


class Account(TypedDict):
    """Every row of a file, once: read = used + held_out + left_out."""

    read: int
    used: int
    held_out: Annotated[int, "rows that were put aside to judge by"]
    left_out: int
    reasons: list[Reason]
    in_turn: NotRequired[Annotated[bool, "each row was both learned from and judged, in turn"]]
    examples: NotRequired[Annotated[int, "what the rows make where lists in them were spread"]]


class Similarity(TypedDict):
    """Two texts compared."""

    cosine: Annotated[float, "-1 to 1, larger is closer"]
    dot: Annotated[float, "larger is closer"]
    euclidean: Annotated[float, "smaller is closer"]
    manhattan: Annotated[float, "smaller is closer"]
    similarity_fn_name: NotRequired[Annotated[str, "how the model compares, where that is not the cosine: dot, euclidean or manhattan"]]
    score: NotRequired[Annotated[float, "the number by which it does, larger is closer: distances are negative"]]
    notes: NotRequired[Annotated[list[str], "where the model hardly reads the texts"]]
    model: Annotated[str, "that was used: the one asked for, or the default for the language of the texts"]


class Hit(TypedDict):
    """A text that was found."""

    row: Annotated[int, "as a spreadsheet numbers it"]
    text: str
    score: Annotated[float, "the cosine, BM25's score or the fused one: larger is better"]
    fields: Annotated[dict[str, str], "the row's other columns"]


class Search(TypedDict):
    """Hits, best first."""

    hits: list[Hit]
    milliseconds: Annotated[float, "the search alone, with the corpus encoded"]
    exact: Annotated[bool, "whether all of the nearest are found for sure"]
    recall: Annotated[float, "the share of the nearest by meaning that such a search finds, measured on the corpus; 1 where it is exact"]
    account: Account
    notes: list[str]
    model: Annotated[str, "that was used: the one asked for, or the default for the language of the texts"]


class Pair(TypedDict):
    """Two texts of the corpus."""

    a: str
    b: str
    row_a: int
    row_b: int
    score: Annotated[float, "their cosine"]


class Mined(TypedDict):
    """The most similar pairs, closest first."""

    pairs: list[Pair]
    seconds: Annotated[float, "the comparison alone"]
    exact: Annotated[bool, "whether all texts were compared with all"]
    recall: Annotated[float, "the share of the closest pairs that such a comparison finds, measured on the corpus; 1 where it is exact"]
    account: Account
    notes: list[str]
    model: Annotated[str, "that was used: the one asked for, or the default for the language of the texts"]


class Cluster(TypedDict):
    """A cluster of the map."""

    id: Annotated[int, "-1 holds what belongs to none"]
    label: str
    size: int


class Map(TypedDict):
    """A corpus drawn by UMAP."""

    points: Annotated[int, "how many texts"]
    dimensions: int
    clusters: Annotated[list[Cluster], "the largest first"]
    account: Account
    notes: list[str]
    model: Annotated[str, "that was used: the one asked for, or the default for the language of the texts"]
    ids: Annotated[list[int], "the cluster of each text"]
    coordinates: Annotated[list[list[float]], "(texts, dimensions)"]


class Roles(TypedDict):
    """What the columns are."""

    kind: str
    texts: Annotated[list[str], "columns, in the order of their parts"]
    target: str | None
    low: Annotated[float | None, "the score of least alike"]
    high: Annotated[float | None, "the score of most alike"]
    labels: list[str]
    group: str | None
    note: str
    ordered: bool


class Finding(TypedDict):
    """One observation about the file."""

    severity: Annotated[str, "info, warning or error"]
    message: str
    rows: list[int]
    fix: dict[str, Any] | None


class Offer(TypedDict):
    """Another kind that the file can be made into."""

    name: str
    label: str
    rows: int
    left: int


class Option(TypedDict):
    """An answer to a question."""

    answer: str
    flag: Annotated[str, "the same on the command line"]
    choice: Annotated[dict[str, Any], "the arguments that say it here"]


class Shown(TypedDict):
    """A row of the file, beside a question."""

    row: int
    texts: list[str]
    value: str
    read_as: str


class Question(TypedDict):
    """What only the owner of the file can say."""

    name: str
    question: str
    why: str
    options: list[Option]
    rows: list[Shown]
    proposed: Any


class Check(TypedDict):
    """What a file was taken for, and what is wrong with it."""

    kind: Annotated[str | None, "scored_pairs, labelled_pairs, positive_pairs, triplets, labelled_texts or sentences"]
    certain: bool
    questions: list[Question]
    usable: bool
    why: list[str]
    roles: Roles | None
    rows: int
    account: Account
    findings: list[Finding]
    offers: list[Offer]


class BeforeAfter(TypedDict):
    """The scores of a run; what they hold depends on the kind of data."""

    before: Scores
    after: Scores


class Run(TypedDict):
    """A training run; its id is the name of the finished model."""

    id: str
    name: str
    status: Annotated[str, "queued, running, finished, stopped, failed, interrupted or asks"]
    created: Annotated[str, "ISO 8601, UTC"]
    model: Annotated[str, "what it started from"]
    objective: str
    method: Annotated[str, "full or lora"]
    rows: int
    dev_rows: int
    step: int
    steps: int
    seconds: float
    pairs_per_second: float
    scores: BeforeAfter
    message: str
    hint: str


class Begun(Run):
    """The run that was begun."""

    accounts: Annotated[dict[str, Account], "of each file"]
    token: Annotated[str, "what /stop and /resume ask for; nobody else is told it"]


class Event(TypedDict):
    """One thing that happened; further fields depend on its type."""

    seq: Annotated[int, "counts from 1"]
    type: str
    time: Annotated[float, "seconds since 1970, UTC"]


class RunNow(TypedDict):
    """How a run stands."""

    run: Run
    events: Annotated[list[Event], "those after the number that was asked for"]
    cursor: Annotated[int, "what to ask with next"]
    waiting: Annotated[int, "how many runs go before it"]
    stopping: bool
    kept_until: Annotated[str, "a date, where runs are not kept for ever"]
    accounts: dict[str, Account]


class Report(TypedDict):
    """One model on one file; further fields, the scores, depend on the task."""

    task: str
    rows: int
    account: Account
    notes: NotRequired[list[str]]


class Several(TypedDict):
    """Several models on several files."""

    models: list[str]
    files: Annotated[list[dict[str, Any]], "each with a report for each model"]
    together: Annotated[list[dict[str, Any]], "files of one suite or task, taken together"]
    averages: Annotated[list[dict[str, Any]], "suites taken together"]
    comparisons: Annotated[list[dict[str, Any]], "every two models: difference, interval, chance, better, words"]
    missing: NotRequired[list[dict[str, str]]]
    left_out: NotRequired[list[dict[str, str]]]
    notes: NotRequired[list[str]]


ANSWERS: dict[str, tuple[type, ...]] = {
    "similarity": (Similarity,),
    "search": (Search,),
    "mine": (Mined,),
    "map": (Map,),
    "check": (Check,),
    "train": (Begun,),
    "run": (RunNow,),
    "stop": (Run,),
    "resume": (Run,),
    "evaluate": (Report, Several),
}
"""Of each endpoint. Where there are two, the second is the answer to several models, several files or a suite."""
OPEN = (Event, Report)
"""Those that hold further fields."""
