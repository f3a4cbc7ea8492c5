"""Results of training: making its data, planning and following runs, and listing and exporting models."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import ConfigDict, PlainSerializer, computed_field
from typing_extensions import TypedDict

from ...data.document_pairs import DocumentPair
from ...data.row_report import RowReport
from ...data.schema.roles import SCORE_SUFFIX
from ...i18n import _, join, ngettext
from ...runs.run import Run
from ...serialization import Internal, JsonResult, doc
from ...training.events import format_rate
from ...workspace import write_json_lines

if TYPE_CHECKING:
    from ...data.row_report import RowReport
    from ...data.schema.split_column import RowSplit
    from ...training.estimate import Estimate
    from ...training.spec import TrainSpec

_PREVIEWED = 10
_SCORE_DECIMALS = 6
_LISTED = 100


@dataclass(frozen=True)
class MadePairs(JsonResult):
    """Training pairs from documents.

    Attributes:
        all_pairs: the pairs, by passage.
    """

    all_pairs: Internal[Sequence[DocumentPair]]
    documents: Annotated[int, doc("number of documents")]
    passages: Annotated[int, doc("number of passages of these documents")]
    dropped: Annotated[Mapping[str, Mapping[str, int]], doc("number of pairs that were not used, by origin and reason")]
    unused: Annotated[Mapping[str, int], doc("number of passages that gave no pair, by reason")]
    notes: tuple[str, ...] = ()

    @computed_field(description="number of pairs by origin")  # type: ignore[prop-decorator]
    @property
    def kept(self) -> dict[str, int]:
        return dict(Counter(pair.origin for pair in self.all_pairs))

    @computed_field(alias="pairs", description="ten pairs of each origin")  # type: ignore[prop-decorator]
    @property
    def examples(self) -> list[DocumentPair]:
        found = []
        for origin, count in self.kept.items():
            step = max(1, count // _PREVIEWED)
            found += [pair for pair in self.all_pairs if pair.origin == origin][::step][:_PREVIEWED]
        return found

    def describe(self) -> str:
        """Return the number of pairs and of passages that gave them, and why the others gave none."""
        used = self.passages - sum(self.unused.values())
        documents = ngettext("{n} document", "{n} documents", self.documents)
        values = {"used": f"{used:,}", "passages": f"{self.passages:,}", "documents": documents}
        made = ngettext(
            "{n} pair from {used} of {passages} passages in {documents}.",
            "{n} pairs from {used} of {passages} passages in {documents}.",
            len(self.all_pairs),
            **values,
        )
        reasons = [_("{number} {reason}", number=f"{count:,}", reason=reason) for reason, count in self.unused.items()]
        return join(" ", [made, _("The others gave none: {reasons}.", reasons=join(", ", reasons))] if reasons else [made])

    def write(self, path: Path) -> None:
        """Write all pairs as JSON Lines."""
        write_json_lines(path, (pair.to_json() for pair in self.all_pairs))


@dataclass(frozen=True)
class MinedRow(JsonResult):
    """A pair with hard negatives."""

    row: Annotated[int, doc("as a spreadsheet numbers it")]
    query: str
    positive: str
    negatives: tuple[str, ...]
    positive_score: float
    negative_scores: tuple[float, ...]


@dataclass(frozen=True)
class SuspectedNegative(JsonResult):
    """A text that was not used as a negative, because it may be relevant."""

    row: Annotated[int, doc("of the pair, as a spreadsheet numbers it")]
    query: str
    positive: str
    text: str
    score: Annotated[float, doc("of query and text")]
    positive_score: Annotated[float, doc("of query and positive")]


@dataclass(frozen=True)
class MinedNegatives(JsonResult):
    """Pairs with hard negatives.

    Attributes:
        rows: the pairs with at least one negative, in file order.
        columns: names of the two text columns.
        fields: further columns of the file by name, a cell for each of ``rows``.
        suspected: texts within a margin of the positive, the most similar ones first.
    """

    rows: Internal[Sequence[MinedRow]]
    columns: Internal[tuple[str, str]]
    fields: Internal[Mapping[str, Sequence[str]]]
    suspected: Internal[Sequence[SuspectedNegative]]
    per_row: Annotated[int, doc("requested number of negatives per pair")]
    incomplete: Annotated[int, doc("pairs with fewer negatives")]
    without: Annotated[int, doc("pairs without a negative, which are left out")]
    corpus: Annotated[int, doc("number of texts that were searched")]
    relative_margin: Annotated[float | None, doc("share of the positive's score above the baseline; null for no such margin")]
    baseline: Annotated[float | None, doc("mean score of unrelated texts; 0 if --relative-margin was specified")]
    account: RowReport
    model: str
    reranker: Annotated[str | None, doc("model of the scores; null for the similarity of the model")] = None
    notes: tuple[str, ...] = ()

    @computed_field(description="number of negatives")  # type: ignore[prop-decorator]
    @property
    def negatives(self) -> int:
        return sum(len(row.negatives) for row in self.rows)

    @computed_field(description="number of texts that may be relevant and were therefore not used")  # type: ignore[prop-decorator]
    @property
    def suspected_false(self) -> int:
        return len(self.suspected)

    @computed_field(description="up to a hundred of these, the most similar ones first")  # type: ignore[prop-decorator]
    @property
    def doubtful(self) -> list[SuspectedNegative]:
        return list(self.suspected[:_LISTED])

    @computed_field(description="ten pairs with their negatives")  # type: ignore[prop-decorator]
    @property
    def examples(self) -> list[MinedRow]:
        step = max(1, len(self.rows) // _PREVIEWED)
        return list(self.rows[::step][:_PREVIEWED])

    def describe_margin(self) -> list[str]:
        """Return a sentence on which texts are not used, if the score of unrelated texts was measured."""
        if not self.baseline or self.relative_margin is None:
            return []
        sentence = _(
            "Unrelated texts score {baseline} on average; texts above {limit} of the way from there to the positive are not used.",
            baseline=f"{self.baseline:.3f}",
            limit=f"{1 - self.relative_margin:.0%}",
        )
        return [sentence]

    def with_answers(self, answers: Mapping[tuple[str, str], bool]) -> MinedNegatives:
        """Return the result with the user's judgments of doubtful texts: one that is not relevant becomes the first negative of its query.

        Args:
            answers: whether a text is relevant, by (query, text).
        """
        judged = [one for one in self.suspected if (one.query, one.text) in answers]
        extra: dict[str, list[SuspectedNegative]] = {}
        for one in judged:
            if not answers[one.query, one.text]:
                extra.setdefault(one.query, []).append(one)

        def complete(row: MinedRow) -> MinedRow:
            own = extra.get(row.query, [])
            texts = (*(one.text for one in own), *row.negatives)[: self.per_row]
            scores = (*(one.score for one in own), *row.negative_scores)[: self.per_row]
            return replace(row, negatives=texts, negative_scores=scores)

        done = set(map(id, judged))
        return replace(self, rows=[complete(row) for row in self.rows], suspected=[one for one in self.suspected if id(one) not in done])

    def write(self, path: Path) -> None:
        """Write the rows as JSON Lines: the columns of the file, and ``negative_1`` … with the scores."""
        names = ["negative"] if self.per_row == 1 else [f"negative_{number}" for number in range(1, self.per_row + 1)]

        def line(place: int, row: MinedRow) -> dict[str, str | float]:
            texts = dict(zip(self.columns, (row.query, row.positive), strict=True))
            negatives = dict(zip(names, (*row.negatives, *[""] * self.per_row), strict=False))
            scores = {
                f"{name}{SCORE_SUFFIX}": round(score, _SCORE_DECIMALS)
                for name, score in zip(("positive", *names), (row.positive_score, *row.negative_scores), strict=False)
            }
            return {**texts, **negatives, **{name: cells[place] for name, cells in self.fields.items()}, **scores}

        write_json_lines(path, (line(place, row) for place, row in enumerate(self.rows)))


@dataclass(frozen=True)
class TrainingForecast:
    """Estimate for a planned run: settings with reasons, time and memory, and the use and the split of each file's rows."""

    spec: TrainSpec
    reasons: tuple[str, ...]
    estimate: Estimate
    accounts: Mapping[str, RowReport] = field(default_factory=dict)
    splits: Mapping[str, RowSplit] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """Return ``{spec, reasons, estimate{seconds, peak_bytes, pairs_per_second, steps, folds}, accounts, splits}``."""
        return {
            "spec": self.spec.to_json(),
            "reasons": list(self.reasons),
            "estimate": self.estimate.to_json(),
            "accounts": {name: account.to_json() for name, account in self.accounts.items()},
            "splits": {name: split.to_json() for name, split in self.splits.items()},
        }

    def describe(self) -> str:
        """Return a summary such as ``about 4 min, 2.1 GB of memory; 1,250 steps at 84 rows a second``."""
        return join("; ", [self.describe_cost(), self.describe_steps()])

    def describe_cost(self) -> str:
        """Return time and memory, such as ``about 4 min, 2.1 GB of memory``."""
        memory = f"{self.estimate.peak_bytes / 1e9:.1f}"
        return _("about {duration}, {memory} GB of memory", duration=describe_duration(self.estimate.seconds), memory=memory)

    def describe_steps(self) -> str:
        """Return the number of steps and their speed, such as ``1,250 steps at 84 rows a second``."""
        steps, rate = f"{self.estimate.steps:,}", format_rate(self.estimate.pairs_per_second)
        return _("{steps} steps at {rate} rows a second", steps=steps, rate=rate)


def describe_duration(seconds: float) -> str:
    """Describe a duration roughly, such as ``4 min``."""
    if seconds < 90:
        return _("{value} s", value=f"{max(1, seconds):.0f}")
    if seconds < 5400:
        return _("{seconds} min", seconds=f"{seconds / 60:.0f}")
    if seconds < 172_800:
        return _("{hours} hours", hours=f"{seconds / 3600:.1f}")
    return _("{days} days", days=f"{seconds / 86400:.1f}")


class RunEvent(TypedDict):
    """One event of a run; further fields depend on its type."""

    __pydantic_config__ = ConfigDict(extra="allow")  # type: ignore[misc]

    seq: Annotated[int, doc("counts from 1")]
    type: str
    time: Annotated[float, doc("seconds since 1970, UTC")]


@dataclass(frozen=True)
class RunView(JsonResult):
    """State of a run.

    Attributes:
        events: new events as (number, event), in order.
    """

    run: Run
    events: Annotated[
        tuple[tuple[int, dict[str, Any]], ...],
        PlainSerializer(lambda events: [{"seq": seq, **event} for seq, event in events], list[RunEvent]),
        doc("those after the requested number"),
    ]
    waiting: Annotated[int, doc("number of runs in the queue before it")] = 0
    stopping: Annotated[bool, doc("whether a stop was requested")] = False
    kept_until: Annotated[str, doc("time of deletion, ISO 8601, UTC; empty if runs are kept for ever")] = ""

    @computed_field(description="number of the last event: argument of the next request; 0 if there is none")  # type: ignore[prop-decorator]
    @property
    def cursor(self) -> int:
        return self.events[-1][0] if self.events else 0


@dataclass(frozen=True)
class ExportedFile(JsonResult):
    """A file written for download."""

    path: Path
    bytes: int


@dataclass(frozen=True)
class ModelSummary(JsonResult):
    """A model that can be used by ``name``.

    Attributes:
        kind: bundled, table, foreign, run or fitted.
        reads: ``texts``, or ``pairs`` for a cross-encoder or poly-encoder.
        scores: a run's scores before and after training.
        damaged: why it cannot be used; empty if it can.
        prompts: prompt by role.
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
    prompts: Mapping[str, str] = field(default_factory=dict)

    @property
    def size(self) -> str:
        """Number of parameters, abbreviated: 7 B, 23 M, 0.8 M, 12 k, 768."""
        for unit, sign, least in ((1e9, "B", 1e9), (1e6, "M", 1e5), (1e3, "k", 1e3)):
            if self.parameters >= least:
                return f"{self.parameters / unit:.{0 if self.parameters >= 5 * unit else 1}f} {sign}"
        return str(self.parameters)
