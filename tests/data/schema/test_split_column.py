"""A column of train, dev and test rows is obeyed and reported; cells that name no part are asked about."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from data.schema.tables import make_table

from sbert_studio.data.convert import convert_to_table
from sbert_studio.data.doctor.diagnosis import Diagnosis, diagnose
from sbert_studio.data.doctor.fixes import apply_fix
from sbert_studio.data.loading.table import Table
from sbert_studio.data.schema.inference import infer_schema
from sbert_studio.data.schema.roles import SchemaOverrides
from sbert_studio.data.schema.split_column import RowSplit, find_split, split_rows
from sbert_studio.errors import StudioError

ROWS = 200
CYCLE = ("train", "train", "train", "validation", "test")


def scored(parts: Sequence[str], name: str = "split", **columns: list[str]) -> Table:
    """Pairs with distinct texts, a score, and a column of parts that is repeated to 200 rows."""
    cells = [parts[row % len(parts)] for row in range(ROWS)]
    texts = [[f"{word} number {row} of {row % 7} in the house" for row in range(ROWS)] for word in ("sentence", "paraphrase")]
    scores = [f"{row % 11 / 2:g}" for row in range(ROWS)]
    return make_table({"sentence1": texts[0], "sentence2": texts[1], "score": scores, name: cells, **columns})


def with_cells(cells: dict[int, str]) -> Table:
    """The pairs with other cells of parts, by row number."""
    parts = [cells.get(row + 2, CYCLE[row % 5]) for row in range(ROWS)]
    return scored(parts)


def messages(diagnosis: Diagnosis, severity: str) -> str:
    return " | ".join(finding.message for finding in diagnosis.findings if finding.severity == severity)


def counts(split: RowSplit | None) -> dict[str, object]:
    return split.to_json()


@pytest.mark.parametrize(
    ("parts", "name", "train", "dev", "test"),
    [
        (CYCLE, "split", 120, 40, 40),
        (("Training ", "EVAL", "test", "test"), "column_4", 50, 50, 100),
        (("train", "test"), "whatever", 100, 0, 100),
        (("", "", "", "test"), "subset", 150, 0, 50),
        (("", "dev"), "data_split", 100, 100, 0),
        (("test",), "split", 0, 0, 200),
    ],
)
def test_every_row_is_counted_in_its_part(parts: tuple[str, ...], name: str, train: int, dev: int, test: int) -> None:
    table = scored(parts, name)
    assert counts(find_split(table)) == {"column": name, "train": train, "dev": dev, "test": test, "other": 0}
    schema = infer_schema(table)
    assert schema.certain and schema.roles.split == name


@pytest.mark.parametrize(
    ("parts", "name"),
    [
        (("train", "bus", "plane", "ship"), "topic"),
        (("valid", "invalid"), "status"),
        (("test", ""), "remark"),
        (("train",), "split"),
        (("test", "engine", "wheel", "brake"), "part"),
    ],
)
def test_other_columns_are_no_split(parts: tuple[str, ...], name: str) -> None:
    assert find_split(scored(parts, name)) is None


@pytest.mark.parametrize(("cell", "shown"), [("tset", "'tset'"), ("", "a blank cell")])
def test_cells_that_name_no_part_are_asked_about_with_row_and_value(cell: str, shown: str) -> None:
    table = with_cells({14: cell})
    (question,) = infer_schema(table).questions
    assert (question.name, question.rows[0].row, question.rows[0].value) == ("split", 14, cell) and shown in question.why
    used, ignored = (SchemaOverrides(**option.choice) for option in question.options)
    found = diagnose(table, used)
    assert found.certain and found.split is not None and found.split.to_json()["other"] == 1
    assert 14 not in found.examples.lines and shown in messages(found, "warning")
    assert any(reason.rows == (14,) for reason in found.account.reasons)
    assert infer_schema(table, ignored).certain and len(diagnose(table, ignored).examples) == ROWS
    assert diagnose(table, SchemaOverrides(as_read=True)).examples.digest == found.examples.digest


def test_a_chosen_column_without_parts_is_refused() -> None:
    table = scored(CYCLE)
    with pytest.raises(StudioError, match="does not assign rows to splits"):
        infer_schema(table, SchemaOverrides(split="score"))
    with pytest.raises(StudioError, match="no column 'part'"):
        infer_schema(table, SchemaOverrides(split="part"))
    assert split_rows(scored(("train",)), "split") is None


def test_only_training_rows_are_diagnosed_and_every_row_is_accounted_for() -> None:
    found = diagnose(scored(CYCLE))
    assert found.examples.lines.tolist() == [row for row in range(2, ROWS + 2) if (row - 2) % 5 < 3]
    assert found.dev_examples is not None and found.dev_examples.lines.tolist() == list(range(5, ROWS + 2, 5))
    account = found.account
    assert (account.read, account.used, account.held_out) == (ROWS, 120, 40)
    assert [(reason.why, len(reason.rows)) for reason in account.reasons] == [("a test row", 40)]
    assert "120 rows for training, 40 for validation; 40 test rows are not used" in messages(found, "info")
    assert found.to_json()["split"] == {"column": "split", "train": 120, "dev": 40, "test": 40, "other": 0}
    without = diagnose(scored(CYCLE), uses_own_dev=False)
    assert without.dev_examples is None and without.account.held_out == 0 and "40 validation rows are not used" in messages(without, "info")
    assert "there are no validation rows" in messages(diagnose(scored(("train", "test"))), "info")


@pytest.mark.parametrize("parts", [("test",), ("dev", "test")])
def test_a_file_without_training_rows_is_an_error_with_a_fix(parts: tuple[str, ...]) -> None:
    table = scored(parts)
    (error,) = diagnose(table).errors
    assert "'split' assigns no row to training" in error.message and error.fix is not None
    assert diagnose(apply_fix(table, error.fix)).usable


@pytest.mark.parametrize(("rows", "is_few"), [(29, True), (30, False)])
def test_few_validation_rows_are_warned_about(rows: int, is_few: bool) -> None:
    parts = ["dev"] * rows + ["train"] * (ROWS - rows)
    assert (f"only {rows} rows for validation" in messages(diagnose(scored(parts)), "warning")) == is_few
    dev = scored(CYCLE).select(range(rows))
    assert (f"only {rows} rows for validation" in messages(diagnose(scored(["train"]), dev=dev), "warning")) == is_few


def test_groups_in_several_parts_and_unusable_validation_rows_are_reported() -> None:
    groups = [f"group {row // 4}" for row in range(ROWS)]
    split = split_rows(scored(CYCLE, group=groups), "split")
    (finding,) = split.report_groups("group", "warning")
    trained = {groups[row] for row in range(ROWS) if row % 5 < 3}
    assert finding.rows == tuple(row + 2 for row in range(ROWS) if row % 5 > 2 and groups[row] in trained)
    apart = split_rows(scored(CYCLE, group=[CYCLE[row % 5] for row in range(ROWS)]), "split")
    assert apart is not None and apart.report_groups("group", "warning") == ()
    scores = ["" if CYCLE[row % 5] == "validation" else f"{row % 11 / 2:g}" for row in range(ROWS)]
    found = diagnose(scored(CYCLE, score=scores))
    assert found.dev_examples is None and "no row of" in messages(found, "warning") and len(found.examples) == 120


def test_a_conversion_keeps_the_parts_and_drops_test_rows() -> None:
    found = diagnose(scored(CYCLE))
    table = convert_to_table(found.examples, "scored_to_labelled", "pairs.csv", found.dev_examples)
    assert counts(find_split(table)) == {"column": "split", "train": 120, "dev": 40, "test": 0, "other": 0}
    converted = diagnose(table)
    assert converted.roles.kind == "labelled_pairs" and converted.dev_examples is not None
    assert found.dev_examples is not None and converted.dev_examples.texts == found.dev_examples.texts
    partly = convert_to_table(found.examples, "labelled_to_positive", "pairs.csv", found.dev_examples.take([0]))
    assert "1 row for validation cannot be converted" in partly.notes[-1].message and split_rows(partly, "split") is None
