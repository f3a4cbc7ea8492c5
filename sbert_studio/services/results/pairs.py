"""Results of making training data: pairs from documents, and hard negatives."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated

from pydantic import computed_field

from ...data.document_pairs import DocumentPair
from ...data.row_report import RowReport
from ...data.schema.roles import SCORE_SUFFIX
from ...serialization import Internal, JsonResult, doc
from ...workspace import write_json_lines

_PREVIEWED = 10
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
                f"{name}{SCORE_SUFFIX}": score
                for name, score in zip(("positive", *names), (row.positive_score, *row.negative_scores), strict=False)
            }
            return {**texts, **negatives, **{name: cells[place] for name, cells in self.fields.items()}, **scores}

        write_json_lines(path, (line(place, row) for place, row in enumerate(self.rows)))
