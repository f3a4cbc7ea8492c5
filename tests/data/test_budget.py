"""A small file that repeats one text, or holds it in one cell, is refused before it takes the memory of what it unfolds to."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from data.test_bounds import workbook

from sbert_studio.data.readers import columns
from sbert_studio.data.readers.nested import columnar
from sbert_studio.data.tables import read_table
from sbert_studio.errors import StudioError

Measure = Callable[[Path], tuple[int, str]]

_TEXT = "some words of a sentence " * 4
_ROWS = 300


def _parquet(path: Path, values: Any) -> Path:
    import pyarrow as pa
    import pyarrow.parquet as pq

    pq.write_table(pa.table({"text": values, "label": [index % 3 for index in range(len(values))]}), path)
    return path


def _folded(text: str, times: int) -> Any:
    import pyarrow as pa

    return pa.DictionaryArray.from_arrays(pa.array([0] * times, pa.int32()), pa.array([text]))


def _written(path: Path) -> Path:
    """A file of 300 rows that hold 100 characters of text each."""
    if path.name == "nested.parquet":
        return _parquet(path, [[_TEXT[:50], _TEXT[50:]]] * _ROWS)
    if path.name == "map.parquet":
        import pyarrow as pa

        return _parquet(path, pa.array([[("k", _TEXT)]] * _ROWS, pa.map_(pa.string(), pa.string())))
    if path.suffix == ".parquet":
        return _parquet(path, _folded(_TEXT, _ROWS) if path.stem == "folded" else [_TEXT] * _ROWS)
    if path.suffix == ".xlsx":
        cells = "".join(f'<row r="{row}"><c r="A{row}" t="s"><v>1</v></c></row>' for row in range(2, _ROWS + 2))
        strings = [b"<si><t>text</t></si>", f"<si><t>{_TEXT}</t></si>".encode()]
        return workbook(path, rows='<row r="1"><c r="A1" t="s"><v>0</v></c></row>' + cells, strings=strings)
    lines = {
        ".csv": ["text,label", *[f"{_TEXT},a"] * _ROWS],
        ".txt": [_TEXT] * _ROWS,
        ".jsonl": [json.dumps({"text": _TEXT})] * _ROWS,
        ".json": [json.dumps([{"text": _TEXT}] * _ROWS)],
    }
    path.write_text("\n".join(lines[path.suffix]), encoding="utf-8")
    return path


_KINDS = ["a.csv", "a.txt", "a.jsonl", "a.json", "a.xlsx", "a.parquet", "folded.parquet", "nested.parquet", "map.parquet"]


@pytest.mark.parametrize("name", _KINDS)
def test_texts_that_come_to_more_than_the_budget_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    path = _written(tmp_path / name)
    whole = len(read_table(path))
    assert whole == _ROWS
    monkeypatch.setattr(columns, "MOST_CHARACTERS", 20_000, raising=False)
    with pytest.raises(StudioError, match=r"characters by row \d+; at most 20,000 are read") as caught:
        read_table(path)
    assert caught.value.hint
    monkeypatch.setattr(columns, "MOST_CHARACTERS", 40_000, raising=False)
    assert len(read_table(path)) == whole


def test_gaps_and_many_batches_of_folded_texts_read_as_they_were_written(tmp_path: Path) -> None:
    import pyarrow as pa

    texts = [None if index % 7 == 0 else f"text {index % 900}" for index in range(10_000)]
    table = read_table(_parquet(tmp_path / "gaps.parquet", pa.array(texts).dictionary_encode()))
    assert table.column("text") == [text or "" for text in texts]
    assert table.column("text") == read_table(_parquet(tmp_path / "plain.parquet", texts)).column("text")


@pytest.mark.process
@pytest.mark.slow
def test_a_dictionary_that_unfolds_to_a_terabyte_is_refused_in_little_memory(tmp_path: Path, measure: Measure) -> None:
    mebibytes, said = measure(_parquet(tmp_path / "bomb.parquet", _folded("word " * 200_000, 1_000_000)))
    assert "at most 500,000,000 are read" in said
    assert mebibytes < 500


def test_a_quoted_cell_of_many_lines_below_a_header_is_refused_and_not_read_line_by_line(tmp_path: Path) -> None:
    path = tmp_path / "cell.csv"
    path.write_text('sentence1,sentence2,score\n"' + "word\n" * 400_000 + '",b,3\na dog,a hound,4\n', encoding="utf-8")
    with pytest.raises(StudioError, match="a cell holds") as caught:
        read_table(path)
    assert caught.value.rows == (2,)


def test_more_rows_than_are_read_are_refused_before_they_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = _written(tmp_path / "a.parquet")
    monkeypatch.setattr(columnar, "MOST_ROWS", _ROWS - 1)
    with pytest.raises(StudioError, match=f"has {_ROWS:,} rows; at most {_ROWS - 1:,} are read"):
        read_table(path)


def test_few_rows_of_a_large_column_are_unpacked_one_by_one() -> None:
    assert columnar._few([30_000_000, 10], 40) == 4
    assert columnar._few([1 << 30], 40) == 1
    assert columnar._few([1 << 30], 1_000_000) == columnar._few([1 << 16], 40) == 256
