"""Tables keep row numbers, refuse unknown columns, and read public sets as the csv module does."""

from __future__ import annotations

import csv
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from data.loading.files import contents

from sbert_studio.data.loading.table import read_table, table_from_columns
from sbert_studio.errors import StudioError


def test_an_unknown_column_is_refused_with_the_existing_ones() -> None:
    with pytest.raises(StudioError, match="a, b"):
        table_from_columns("t", {"a": ["1"], "b": ["2"]}).column("c")


def test_selected_rows_keep_their_numbers() -> None:
    table = table_from_columns("t", {"text": list("abcde")})
    assert table.select([3, 0]).lines.tolist() == [5, 2]
    assert table.without_lines([3, 4]).column("text") == ["a", "d", "e"]
    assert table.head(2) == [["a"], ["b"]]
    assert table.with_column("n", list("12345")).select([4]).head(1) == [["e", "5"]]


def test_a_lazy_column_reads_like_the_list_of_its_cells() -> None:
    cells = [f"text {n}" for n in range(20_000)]
    column = table_from_columns("t", {"text": cells}).texts("text")
    order = np.random.default_rng(0).permutation(len(cells))
    for lazy, whole in ((column, cells), (column.at(order), [cells[at] for at in order])):
        assert list(lazy) == whole
        assert lazy[-1] == whole[-1]
        for part in (slice(5, 9), slice(19_990, None), slice(None, None, 4_000), slice(3, 3), slice(12, 2, -3)):
            assert lazy[part] == whole[part]


def test_progress_ends_at_the_size_of_the_file(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text("text,label\n" + "some words here,x\n" * 50_000, encoding="utf-8")
    calls: list[tuple[int, int]] = []
    read_table(path, progress=lambda done, total: calls.append((done, total)))
    size = path.stat().st_size
    assert calls[-1] == (size, size)
    assert len(calls) > 2
    assert all(before[0] <= after[0] <= after[1] == size for before, after in pairwise(calls))


@pytest.mark.parametrize(
    ("file", "rows", "columns"),
    [
        ("stsb/train.csv", 5749, ("sentence1", "sentence2", "score")),
        ("sick/train.csv", 4500, ("sentence1", "sentence2", "score", "label")),
        ("mrpc/train.csv", 3576, ("sentence1", "sentence2", "label")),
        ("snli/test.csv", 1254, ("premise", "hypothesis", "label")),
        ("banking77/train.csv", 10003, ("text", "category")),
        ("stsb-zh/dev.csv", 1458, ("sentence1", "sentence2", "score")),
        ("trec/test.csv", 500, ("text", "label")),
    ],
)
def test_public_sets_read_as_the_csv_module_reads_them(real_data: Path, file: str, rows: int, columns: tuple[str, ...]) -> None:
    table = read_table(real_data / file)
    with (real_data / file).open(encoding="utf-8", newline="") as source:
        expected = list(csv.reader(source))
    assert (len(table), table.columns) == (rows, columns)
    assert contents(table) == [tuple(row) for row in expected[1:]]
    assert table.lines.tolist() == list(range(2, rows + 2))
    assert table.notes == ()
