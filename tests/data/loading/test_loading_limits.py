"""Files that are not tables, damaged ones, random bytes and files beyond all bounds end in a clear error, within bounded memory."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from data.loading.files import read, read_parquet, write_book, write_raw_book

from sbert_studio.data.loading import content, parquet
from sbert_studio.data.loading.table import read_table, table_from_columns
from sbert_studio.errors import StudioError

Measure = Callable[[Path], tuple[int, str]]
_TEXT = "some words of a sentence " * 4
_ROWS = 300
_MANY = 100_000


def test_any_bytes_give_a_table_or_a_clear_error(tmp_path: Path) -> None:
    generator = np.random.default_rng(7)
    alphabets = [bytes(range(256)), b'ab,;\t"\n\r', b'a\0,"\n\xe4\xbd\xa0', b'{}[]":,\n1a', "é你\u3000,\"\n'".encode("utf-16")]
    for attempt in range(300):
        alphabet = np.frombuffer(alphabets[attempt % len(alphabets)], dtype=np.uint8)
        data = generator.choice(alphabet, size=int(generator.integers(1, 400))).tobytes()
        for suffix in (".csv", ".txt", ".jsonl", ".tsv"):
            try:
                table = read(tmp_path, data, f"any{suffix}")
            except StudioError:
                continue
            assert len(table) == len(table.lines) > 0
            assert (np.diff(table.lines) >= 0).all()


@pytest.mark.parametrize("suffix", [".xlsx", ".parquet"])
def test_a_damaged_workbook_or_parquet_file_gives_a_table_or_a_clear_error(tmp_path: Path, suffix: str) -> None:
    sound = tmp_path / f"sound{suffix}"
    if suffix == ".xlsx":
        write_book(sound, S=[["text", "label"], ["some words", "a"], ["more words", "b"], ["last words", "c"]])
    else:
        table_from_columns("t", {"text": ["some words"] * 50}).to_parquet(sound)
    data = np.frombuffer(sound.read_bytes(), dtype=np.uint8)
    assert len(read(tmp_path, data.tobytes(), "damaged.csv")) in (3, 50)
    generator = np.random.default_rng(3)
    for attempt in range(120):
        broken = data[: generator.integers(8, len(data))].copy() if attempt % 2 else data.copy()
        spots = generator.integers(4, len(broken), size=attempt % 7 + 1)
        broken[spots] = generator.integers(0, 256, size=len(spots))
        try:
            read(tmp_path, broken.tobytes(), "damaged.csv")
        except StudioError:
            continue


def _with_cell(folder: Path, kind: str, cell: str) -> Path:
    """A file whose row 3 holds a cell."""
    path = folder / f"cell.{kind}"
    texts = {
        "csv": f"text,label\nfine,a\n{cell},b\n",
        "quoted.csv": f'text,label\nfine,a\n"{cell}",b\n',
        "tsv": f"text\tlabel\nfine\ta\n{cell}\tb\n",
        "txt": f"fine\nfine too\n{cell}\n",
        "jsonl": '{"text": "fine"}\n{"text": "fine"}\n{"text": "' + cell + '"}\n',
        "json": '[{"text": "fine"}, {"text": "fine"}, {"text": "' + cell + '"}]',
    }
    if kind == "parquet":
        table_from_columns("t", {"text": ["fine", cell]}).to_parquet(path)
    else:
        path.write_text(texts[kind], encoding="utf-8")
    return path


@pytest.mark.parametrize("kind", ["csv", "tsv", "txt", "jsonl"])
def test_a_cell_of_nearly_a_million_characters_is_read_whole(tmp_path: Path, kind: str) -> None:
    big = "word " * 200_000
    assert big in read_table(_with_cell(tmp_path, kind, big)).column("text")


@pytest.mark.process
@pytest.mark.parametrize("kind", ["csv", "quoted.csv", "tsv", "txt", "jsonl", "json", "parquet"])
def test_a_cell_of_ten_million_characters_is_refused_with_its_row_in_bounded_memory(tmp_path: Path, kind: str, measure: Measure) -> None:
    mebibytes, answer = measure(_with_cell(tmp_path, kind, "word " * 2_000_000))
    assert "characters" in answer
    assert "row 3" in answer
    assert mebibytes < 200


def test_a_quoted_cell_of_many_lines_an_unclosed_quote_and_a_long_line_end_at_once(tmp_path: Path) -> None:
    with pytest.raises(StudioError, match="line 2 is longer"):
        read(tmp_path, b"text,label\n" + b"x" * (1 << 25) + b"y\n")
    assert len(read(tmp_path, 'text,label\n"never closed,a\n' + "some words of a sentence,b\n" * 20_000)) == 20_001
    with pytest.raises(StudioError, match="a cell has") as caught:
        read(tmp_path, 'sentence1,sentence2,score\n"' + "word\n" * 400_000 + '",b,3\na dog,a hound,4\n')
    assert caught.value.rows == (2,)


@pytest.mark.process
def test_rows_are_read_one_at_a_time(tmp_path: Path, measure: Measure) -> None:
    path = tmp_path / "array.json"
    texts = (f'{{"text": "number {row}, one of many texts in one long line", "label": {row % 7}}}' for row in range(_MANY))
    path.write_text(f"[{','.join(texts)}]", encoding="utf-8")
    mebibytes, answer = measure(path)
    assert answer.startswith(f"{_MANY} rows")
    assert mebibytes < 60  # as Python objects the rows would take 33 MiB beyond the 40 that reading takes
    path = tmp_path / "many.csv"
    path.write_text("text,label\n" + "".join(f'"number {row}, one of many",{row % 7}\n' for row in range(3 * _MANY)), encoding="utf-8")
    mebibytes, answer = measure(path)
    assert answer == f"{3 * _MANY} rows to line {3 * _MANY + 1}: number {3 * _MANY - 1}, one of many"
    # As Python strings the cells alone would take 24 MiB beyond the 63 that reading takes; rows kept as lists, twice as much.
    assert mebibytes < 82


def _folded(text: str, times: int) -> Any:
    import pyarrow as pa

    return pa.DictionaryArray.from_arrays(pa.array([0] * times, pa.int32()), pa.array([text]))


def _with_texts(folder: Path, kind: str) -> Path:
    """A file of 300 rows that hold 100 characters of text each."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    path = folder / f"{kind.replace(' ', '.')}"
    lines = {
        "csv": ["text,label", *[f"{_TEXT},a"] * _ROWS],
        "txt": [_TEXT] * _ROWS,
        "jsonl": [json.dumps({"text": _TEXT})] * _ROWS,
        "json": [json.dumps([{"text": _TEXT}] * _ROWS)],
    }
    columns = {
        "plain": [_TEXT] * _ROWS,
        "folded": _folded(_TEXT, _ROWS),
        "nested": [[_TEXT[:50], _TEXT[50:]]] * _ROWS,
        "map": pa.array([[("k", _TEXT)]] * _ROWS, pa.map_(pa.string(), pa.string())),
    }
    if kind in lines:
        path = path.with_suffix(f".{kind}")
        path.write_text("\n".join(lines[kind]), encoding="utf-8")
    elif kind in columns:
        path = path.with_suffix(".parquet")
        pq.write_table(pa.table({"text": columns[kind], "label": [row % 3 for row in range(_ROWS)]}), path)
    else:
        cells = "".join(f'<row r="{row}"><c r="A{row}" t="s"><v>1</v></c></row>' for row in range(2, _ROWS + 2))
        strings = [b"<si><t>text</t></si>", f"<si><t>{_TEXT}</t></si>".encode()]
        write_raw_book(path := path.with_suffix(".xlsx"), '<row r="1"><c r="A1" t="s"><v>0</v></c></row>' + cells, strings)
    return path


@pytest.mark.parametrize("kind", ["csv", "txt", "jsonl", "json", "xlsx", "plain", "folded", "nested", "map"])
def test_texts_beyond_the_limit_together_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    path = _with_texts(tmp_path, kind)
    assert len(read_table(path)) == _ROWS
    monkeypatch.setattr(content, "MOST_CHARACTERS", 20_000)
    with pytest.raises(StudioError, match=r"the texts up to row \d+ have [\d,]+ characters; the maximum per file is 20,000") as caught:
        read_table(path)
    assert caught.value.hint
    monkeypatch.setattr(content, "MOST_CHARACTERS", 40_000)
    assert len(read_table(path)) == _ROWS


@pytest.mark.process
@pytest.mark.slow
def test_a_dictionary_that_unfolds_to_a_terabyte_is_refused_in_little_memory(tmp_path: Path, measure: Measure) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    pq.write_table(pa.table({"text": _folded("word " * 200_000, 1_000_000)}), tmp_path / "bomb.parquet")
    mebibytes, answer = measure(tmp_path / "bomb.parquet")
    assert "the maximum per file is 500,000,000" in answer
    assert mebibytes < 500


def test_too_many_rows_are_refused_before_they_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parquet, "MOST_ROWS", _ROWS - 1)
    with pytest.raises(StudioError, match=f"has {_ROWS:,} rows; the maximum is {_ROWS - 1:,}"):
        read_parquet(tmp_path, {"text": [_TEXT] * _ROWS})
