"""Every row of a file is read, used, held out or left out, and counted once."""

from __future__ import annotations

import csv
import json
import zipfile
from pathlib import Path

import numpy as np
import pyarrow.parquet
import pytest
from openpyxl import Workbook

from sbert_studio.data.accounts import LeftOut, RowAccount, account_of
from sbert_studio.data.corpus import corpus_from_table
from sbert_studio.data.doctor.diagnosis import diagnose
from sbert_studio.data.examples import build_examples
from sbert_studio.data.findings import Finding
from sbert_studio.data.loading.table import Table, read_table, table_from_columns
from sbert_studio.data.schema.inference import infer_roles
from sbert_studio.data.splits.splitting import split
from sbert_studio.errors import StudioError

_WORDS = ["cat", "dog", "mat", "park", "red", "blue", "fast", "slow", "hello", "world", "bank", "card", "lost", "found", "river"]
_FORMATS = ("csv", "tsv", "jsonl", "json", "xlsx", "txt")


def _sentence(random: np.random.Generator) -> str:
    return " ".join(random.choice(_WORDS, random.integers(3, 9))) + "."


def _rows(random: np.random.Generator, number: int) -> list[list[str] | None]:
    """Pairs with a score, among them rows that are blank (None), half blank, or whose score is none."""
    rows: list[list[str] | None] = []
    for _ in range(number):
        row = [_sentence(random), _sentence(random), f"{random.uniform(0, 5):.1f}"]
        kind = random.integers(0, 12)
        if kind == 0:
            rows.append(None)
            continue
        if kind in (1, 2):
            row[int(kind) - 1] = ""
        if kind == 3:
            row[2] = str(random.choice(["high", "", "nan", "77", "−", "n/a"]))
        if kind == 4:
            row = ["", "", ""]
        rows.append(row)
    while rows and rows[-1] is None:  # blank rows that end a file are no rows
        rows.pop()
    return (
        [[_sentence(random), _sentence(random), f"{place % 6}"] for place in range(12)]
        + rows
        + [["The end is near.", "It ends here.", "3.5"]]
    )


def _write(path: Path, rows: list[list[str] | None]) -> None:
    names = ["sentence1", "sentence2", "score"]
    if path.suffix in (".csv", ".tsv"):
        with path.open("w", newline="", encoding="utf-8") as target:
            writer = csv.writer(target, delimiter="\t" if path.suffix == ".tsv" else ",")
            writer.writerow(names)
            for row in rows:
                writer.writerow(row) if row else target.write("\r\n")
    elif path.suffix == ".jsonl":
        path.write_text("\n".join(json.dumps(dict(zip(names, row, strict=True))) if row else "" for row in rows), encoding="utf-8")
    elif path.suffix == ".json":
        path.write_text(json.dumps([dict(zip(names, row or ["", "", ""], strict=True)) for row in rows]), encoding="utf-8")
    elif path.suffix == ".xlsx":
        from openpyxl import Workbook

        book = Workbook()
        for number, row in enumerate([names, *rows], start=1):
            for place, cell in enumerate(row or (), start=1):
                book.active.cell(number, place, cell or None)
        book.save(path)
    else:
        path.write_text("\n".join(row[0] if row else "" for row in rows), encoding="utf-8")


def _once(account: RowAccount) -> None:
    rows = [row for reason in account.reasons for row in reason.rows]
    assert len(rows) == len(set(rows)), "no row is left out for two reasons"
    assert account.used + account.held_out + account.left_out == account.read
    assert RowAccount.from_json(json.loads(json.dumps(account.to_json()))) == account


@pytest.mark.parametrize("suffix", _FORMATS)
@pytest.mark.parametrize("seed", range(6))
def test_every_row_of_a_file_is_accounted_for_once(tmp_path: Path, suffix: str, seed: int) -> None:
    random = np.random.default_rng(seed)
    rows = _rows(random, int(random.integers(5, 80)))
    path = tmp_path / f"rows.{suffix}"
    _write(path, rows)
    table = read_table(path)
    # One workbook cannot tell a row of blank cells at its end; none of these ends in one.
    corpus = corpus_from_table(table, table.columns[0])
    _once(corpus.account)
    assert corpus.account.read == len(rows)
    if suffix == "txt":
        return
    account = diagnose(table).account
    _once(account)
    assert account.read == len(rows)
    examples, findings = build_examples(table, infer_roles(table))
    learned, held_out = split(examples, 0.2)
    whole = account_of(table, findings, learned.lines, held_out.lines)
    _once(whole)
    assert (whole.read, whole.used, whole.held_out) == (len(rows), len(learned), len(held_out))


@pytest.mark.parametrize("suffix", _FORMATS)
def test_the_places_of_a_corpus_are_those_of_the_rows_below_the_header(tmp_path: Path, suffix: str) -> None:
    random = np.random.default_rng(3)
    rows = _rows(random, 60)
    path = tmp_path / f"rows.{suffix}"
    _write(path, rows)
    corpus = corpus_from_table(read_table(path), None if suffix == "txt" else "sentence1")
    places, total = corpus.places()
    assert total == len(rows)
    assert [(place, text) for place, text in zip(places.tolist(), corpus.texts, strict=True)] == [
        (place, row[0]) for place, row in enumerate(rows) if row and row[0]
    ]


def test_a_quoted_cell_of_several_lines_is_one_row_of_its_corpus(tmp_path: Path) -> None:
    path = tmp_path / "lines.csv"
    path.write_text('text,topic\n"one\n\ntwo, three",a\n\nfour is here,b\n', encoding="utf-8")
    places, total = corpus_from_table(read_table(path)).places()
    assert (places.tolist(), total) == ([0, 2], 3)


def test_why_a_row_was_left_out_shows_what_stood_there() -> None:
    texts = {"a": ["one"] * 8, "b": ["two"] * 8}
    labels = table_from_columns("labels.csv", {**texts, "label": ["yes", "no", "yes", "no", "-", "none", "-", "no"]})
    scores = table_from_columns("scores.csv", {**texts, "score": ["1", "2", "3", "5", "4", "high", "−", "77"]})
    found = diagnose(labels).account
    assert found.reasons == (LeftOut("the label says that there is none: '-', 'none'", (6, 7, 8)),)
    assert "3 left out: " in found.in_words() and "'-', 'none' (3: rows 6, 7, 8)" in found.in_words()
    whys = {reason.why: reason.rows for reason in diagnose(scores, _as_scores()).account.reasons}
    assert whys == {"the score is not a number, such as 'high', '−'": (7, 8), "the score lies outside 0–5, such as '77'": (9,)}


def _as_scores():  # type: ignore[no-untyped-def]
    from sbert_studio.data.schema.roles import Roles

    return Roles("scored_pairs", ("a", "b"), "score", low=0.0, high=5.0)


def test_rows_left_out_by_a_mend_stay_in_the_account() -> None:
    table: Table = table_from_columns("t.csv", {"text": [f"sentence {number} is here" for number in range(9)]})
    left = table.without_lines([3, 4]).without_lines([4, 7])
    account = corpus_from_table(left).account
    assert account == RowAccount(9, 6, 0, (LeftOut("left out as asked", (3, 4, 7)),))


def test_a_row_counts_once_and_what_nothing_names_is_told_as_such() -> None:
    table = table_from_columns("t.csv", {"text": list("abcdef")}, [2, 2, 3, 5, 7, 8])
    twice = [Finding("warning", "…", (4, 5), left_out="blank"), Finding("warning", "…", (5, 6), left_out="no text")]
    found = account_of(table, twice, [2, 2], [2, 3], otherwise="shared")
    left = (LeftOut("blank", (4, 5)), LeftOut("no text", (6,)), LeftOut("shared", (7, 8)))
    assert found == RowAccount(7, 1, 1, left, examples=2)
    told = [Finding("warning", "read with gaps", (3, 7))]
    assert account_of(table, told, table.lines) == RowAccount(5, 5, examples=6)


def test_rows_that_holding_out_costs_are_told_by_number() -> None:
    account = RowAccount(9, 7, 0, (LeftOut("blank", (4, 5)),))
    rows = np.array([2, 3, 6, 7, 8, 9, 10])
    found = account.divided(rows, rows[:4], rows[4:6], "shares a text")
    assert found == RowAccount(9, 4, 2, (LeftOut("blank", (4, 5)), LeftOut("shares a text", (10,))))
    _once(found)


@pytest.mark.parametrize("form", ["jsonl", "parquet"])
def test_lists_spread_over_several_examples_are_counted_as_both(tmp_path: Path, form: str) -> None:
    rows = [{"query": f"how do I pay bill {at}", "pos": [f"paying bill {at}", f"bill {at} by card", f"settle {at}"]} for at in range(20)]
    path = tmp_path / f"pairs.{form}"
    if form == "jsonl":
        path.write_text("\n".join(json.dumps(row) for row in rows), encoding="utf-8")
    else:
        pyarrow.parquet.write_table(pyarrow.Table.from_pylist(rows), path)
    account = diagnose(read_table(path)).account
    assert (account.read, account.used, account.examples) == (20, 20, 60)
    assert account.in_words() == "20 rows read, 20 used (60 examples), 0 left out"
    assert RowAccount.from_json(account.to_json()) == account


@pytest.mark.parametrize("above", ["Survey of March", "Umfrage;Stand Mai", "调查"])
def test_what_stands_above_a_table_is_no_row_of_it(tmp_path: Path, above: str) -> None:
    book = Workbook()
    for row in ([above], ["sentence1", "sentence2", "score"], *([f"a man {at} walks", f"a man {at} runs", at % 6] for at in range(30))):
        book.active.append(row)
    book.save(tmp_path / "pairs.xlsx")
    table = read_table(tmp_path / "pairs.xlsx")
    assert account_of(table, [], table.lines).read == len(table) == 30
    assert any("before the table" in note.message for note in table.notes)


@pytest.mark.parametrize(("old", "new"), [('r="4"', 'r="3"'), ('r="4"', 'r="2"')])
def test_a_sheet_whose_row_numbers_do_not_rise_is_refused_with_the_row(tmp_path: Path, old: str, new: str) -> None:
    book = Workbook()
    for row in (["sentence1", "sentence2", "score"], *([f"a man {at} walks", f"a man {at} runs", at % 6] for at in range(9))):
        book.active.append(row)
    book.save(tmp_path / "whole.xlsx")
    with zipfile.ZipFile(tmp_path / "whole.xlsx") as whole, zipfile.ZipFile(tmp_path / "torn.xlsx", "w") as torn:
        for name in whole.namelist():
            part = whole.read(name).decode("utf-8")
            torn.writestr(name, part.replace(f"<row {old}", f"<row {new}") if name.endswith("sheet1.xml") else part)
    with pytest.raises(StudioError, match="not in order") as refused:
        read_table(tmp_path / "torn.xlsx")
    assert list(refused.value.rows) == [int(new[3])]
    assert len(read_table(tmp_path / "whole.xlsx")) == 9
