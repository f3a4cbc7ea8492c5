"""Overview of a table before it is used: its columns with their types, its first rows, and what it can be used for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np

from ..data.column_types import ColumnType, TypedColumn, describe_columns
from ..data.corpus import combine_columns, find_text_columns
from ..data.documents.passages import TEXT as PASSAGE_COLUMN
from ..data.loading.table import Table
from ..data.retrieval import RetrievalKind, retrieval_kind
from ..data.schema.content import no_text_error, profile_table
from ..data.schema.inference import infer_schema
from ..data.schema.roles import Kind, Roles
from ..errors import StudioError
from ..evaluation.tasks import DataShape, find_task
from ..i18n import _, join

Purpose = Literal["explore", "train", "evaluate"]
_ROWS, _SAMPLE_ROWS, _PREVIEWS = 5, 5_000, 2
KIND_NAMES: dict[Kind, str] = {
    "scored_pairs": "pairs with a score",
    "labelled_pairs": "pairs with a label",
    "positive_pairs": "pairs that belong together",
    "triplets": "triplets",
    "labelled_texts": "texts with a category",
    "sentences": "sentences without labels",
}
"""Kinds of examples, within a sentence."""
_RETRIEVAL: dict[RetrievalKind, str] = {
    "labelled": "retrieval with queries, documents and grades",
    "known-item": "retrieval without labels: does a title, heading or first sentence find its text?",
}


@dataclass(frozen=True)
class DataUse:
    """One purpose of a table.

    Attributes:
        purpose: what it can be used for.
        is_possible: whether it can.
        text: as what, or what is missing and how to get it; one sentence.
    """

    purpose: Purpose
    is_possible: bool
    text: str


@dataclass(frozen=True)
class DataOverview:
    """What a visitor sees of a table before using it.

    Attributes:
        name: display name.
        rows: number of rows.
        columns: the columns with their types.
        head: the first rows.
        text_columns: the columns whose combined texts are searched and mapped, in order.
        previews: the first combined texts; empty for a single column.
        uses: what the table can be used for.
    """

    name: str
    rows: int
    columns: tuple[TypedColumn, ...]
    head: tuple[tuple[str, ...], ...]
    text_columns: tuple[str, ...]
    previews: tuple[str, ...]
    uses: tuple[DataUse, ...]


def choose_text_columns(table: Table) -> tuple[str, ...]:
    """Return the column whose texts are used by default.

    Raises:
        StudioError: no column contains texts.
    """
    if table.places:
        return (PASSAGE_COLUMN,)
    if found := find_text_columns(table):
        return (found[0],)
    try:  # texts may be as short as labels, such as pairs of words
        return infer_schema(_sample(table)).roles.texts[:1]
    except StudioError:
        profiles = profile_table(table)
        if len(table.columns) == 1 and profiles[0].filled and not profiles[0].is_number and not profiles[0].is_nested:
            return table.columns
        raise no_text_error(table, profiles, "use a file with a column of texts") from None


def describe_data(
    table: Table, text_columns: Sequence[str], types: Mapping[str, ColumnType] | None = None, path: Path | None = None
) -> DataOverview:
    """Describe a table.

    Args:
        path: its file, if it is of documents.
        text_columns: the columns whose texts are searched and mapped.
        types: types set by the user; those of other columns are detected, and that of a text column is text.
    """
    chosen: dict[str, ColumnType] = {**dict.fromkeys(text_columns, "text"), **(types or {})}
    columns = describe_columns(table, chosen)
    combined, name = combine_columns(table.select(np.arange(min(len(table), _ROWS))), text_columns)
    return DataOverview(
        name=table.name,
        rows=len(table),
        columns=columns,
        head=tuple(tuple(row) for row in table.head(_ROWS)),
        text_columns=tuple(text_columns),
        previews=tuple(combined.column(name)[:_PREVIEWS]) if len(text_columns) > 1 else (),
        uses=describe_uses(table, text_columns, path),
    )


def describe_uses(table: Table, text_columns: Sequence[str], path: Path | None = None) -> tuple[DataUse, ...]:
    """Return what a table (of documents: with its file) can be used for, judged by the names and the cells of its columns."""
    names = join(" + ", [repr(name) for name in text_columns])
    uses = [DataUse("explore", True, _("the texts of {columns}", columns=names))]
    if table.places:
        return (
            *uses,
            DataUse("train", True, "with pairs that are made from the documents"),
            DataUse("evaluate", True, _RETRIEVAL[retrieval_kind(table, path) or "known-item"]),
        )
    try:
        roles = infer_schema(_sample(table)).roles
    except StudioError:
        roles = None
    if (kind := retrieval_kind(table, path)) is not None:
        return (*uses, _training_use(roles), DataUse("evaluate", True, _RETRIEVAL[kind]))
    return (*uses, _training_use(roles), _evaluation_use(roles))


def _training_use(roles: Roles | None) -> DataUse:
    if roles is None:
        return DataUse(
            "train", False, "no column says which texts are similar: add scores, labels or a category, or label texts on the map"
        )
    return DataUse("train", True, _("as {kind}", kind=KIND_NAMES[roles.kind]))


def _evaluation_use(roles: Roles | None) -> DataUse:
    missing = DataUse("evaluate", False, "no column has the expected answers: add scores, labels or a category")
    if roles is None:
        return missing
    try:
        task = find_task(DataShape(roles.kind, len(roles.labels), roles.ordered, roles.group is not None))
    except StudioError:
        return missing
    return DataUse("evaluate", True, _("with the task “{task}”", task=task.title))


def _sample(table: Table) -> Table:
    if len(table) <= _SAMPLE_ROWS:
        return table
    return table.select(np.unique(np.linspace(0, len(table) - 1, _SAMPLE_ROWS).astype(int)))
