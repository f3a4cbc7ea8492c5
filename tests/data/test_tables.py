"""Files of every format and encoding become the same table, and each row keeps its spreadsheet number."""

from __future__ import annotations

import csv
import json
from datetime import datetime
from itertools import pairwise
from pathlib import Path

import pytest

from sbert_studio.data.loading.table import Table, read_table, table_from_columns
from sbert_studio.errors import StudioError

ROWS = [
    ("A plane is taking off.", "An air plane is taking off.", "5.000"),
    ("Ein Mädchen trägt einen Mantel – grün.", "Ein Mädchen trägt einen Hut.", "2.4"),
    ("Cafés are closed", "The naïve café is open", "1.0"),
]
CHINESE = [
    ("一架飞机要起飞了。", "一架飞机正在起飞。", "5"),
    ("一个男人在吹一支大笛子。", "一个人在吹长笛。", "3.8"),
    ("一个女人在切洋葱", "他在做饭", "0"),
]
NAMES = ("sentence1", "sentence2", "score")


def text_of(rows: list[tuple[str, ...]], delimiter: str = ",", end: str = "\n") -> str:
    quoted = [[f'"{cell}"' if delimiter in cell or '"' in cell else cell for cell in row] for row in [NAMES, *rows]]
    return end.join(delimiter.join(row) for row in quoted) + end


def contents(table: Table) -> list[tuple[str, ...]]:
    return list(zip(*(table.column(name) for name in table.columns), strict=True))


@pytest.mark.parametrize("codec", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "cp1252"])
@pytest.mark.parametrize("delimiter", [",", "\t", ";"])
def test_western_text_reads_the_same_in_every_encoding_and_delimiter(tmp_path: Path, codec: str, delimiter: str) -> None:
    path = tmp_path / "pairs.csv"
    path.write_bytes(text_of(ROWS, delimiter).encode(codec))
    table = read_table(path)
    assert table.columns == NAMES
    assert contents(table) == ROWS
    assert table.lines.tolist() == [2, 3, 4]


@pytest.mark.parametrize("codec", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "gb18030"])
@pytest.mark.parametrize("copies", [1, 2000])
def test_chinese_text_reads_the_same_in_every_encoding(tmp_path: Path, codec: str, copies: int) -> None:
    path = tmp_path / "pairs.csv"
    path.write_bytes(text_of(CHINESE * copies, end="\r\n").encode(codec))
    table = read_table(path)
    assert table.columns == NAMES
    assert contents(table) == CHINESE * copies


def test_german_umlauts_before_letters_are_not_taken_for_chinese(tmp_path: Path) -> None:
    path = tmp_path / "de.csv"
    rows = [("für über Bäume", "schöne Grüße", "1"), ("Übung", "Äpfel öffnen", "2")] * 50
    path.write_bytes(text_of(rows).encode("cp1252"))
    table = read_table(path)
    assert contents(table) == rows
    assert any("Windows-1252" in note.message for note in table.notes)


def test_utf8_with_one_broken_byte_stays_utf8_and_names_the_row(tmp_path: Path) -> None:
    path = tmp_path / "zh.csv"
    data = text_of(CHINESE * 20).encode()
    lines = data.split(b"\n")
    lines[4] = lines[4].replace("一".encode(), b"\xe4\xb8", 1)
    path.write_bytes(b"\n".join(lines))
    table = read_table(path)
    assert contents(table)[0] == CHINESE[0]
    assert [note.rows for note in table.notes] == [(5,)]
    assert "\ufffd" in table.column("sentence1")[3]


def test_a_row_is_numbered_by_record_whatever_line_breaks_its_quotes_hold(tmp_path: Path) -> None:
    path = tmp_path / "quoted.csv"
    path.write_text('text,label\n"one\ntwo\nthree",a\nfour,b\n\n"five\r\nsix",c\n', encoding="utf-8", newline="")
    table = read_table(path)
    assert contents(table) == [("one\ntwo\nthree", "a"), ("four", "b"), ("five\r\nsix", "c")]
    assert table.lines.tolist() == [2, 3, 5]
    assert [(note.message, note.rows) for note in table.notes] == [("1 row without any cell, left out", (4,))]


def test_short_and_long_rows_are_kept_and_named(tmp_path: Path) -> None:
    path = tmp_path / "ragged.csv"
    path.write_text("sentence1,sentence2,score\na b,c d,1\nonly one\nx,y,2,z, w\np,q,3,,\n", encoding="utf-8")
    table = read_table(path)
    assert contents(table) == [("a b", "c d", "1"), ("only one", "", ""), ("x", "y", "2,z, w"), ("p", "q", "3")]
    assert {note.rows for note in table.notes} == {(3,), (4,)}
    assert all(note.mend is not None and note.mend.name == "drop_rows" for note in table.notes)


def test_nul_characters_are_taken_out_and_their_rows_named(tmp_path: Path) -> None:
    path = tmp_path / "nul.csv"
    path.write_bytes(b"text,label\n" + b"a plain line of text,x\n" * 30 + b"with\0 a nul,y\n")
    table = read_table(path)
    assert contents(table)[-1] == ("with a nul", "y")
    assert [note.rows for note in table.notes] == [(32,)]


def _with_cell(path: Path, cell: str) -> Path:
    if path.suffix == ".jsonl":
        path.write_text(json.dumps({"text": "small"}) + "\n" + json.dumps({"text": cell}) + "\n", encoding="utf-8")
    else:
        head = "text\tlabel\nsmall\tx\n" if path.suffix == ".tsv" else "text\nsmall\n"
        path.write_text(head + cell + ("\ty\n" if path.suffix == ".tsv" else "\n"), encoding="utf-8")
    return path


@pytest.mark.parametrize("name", ["cell.csv", "cell.tsv", "cell.txt", "cell.jsonl"])
def test_a_cell_of_nearly_a_million_characters_is_read_whole(tmp_path: Path, name: str) -> None:
    big = "word " * 200_000
    assert big in read_table(_with_cell(tmp_path / name, big)).column("text")


@pytest.mark.parametrize("name", ["cell.csv", "cell.tsv", "cell.txt", "cell.jsonl"])
def test_a_longer_cell_is_refused_with_its_row(tmp_path: Path, name: str) -> None:
    path = _with_cell(tmp_path / name, "word " * 2_000_000)
    with pytest.raises(StudioError, match="characters") as caught:
        read_table(path)
    assert caught.value.rows == ((2,) if name == "cell.jsonl" else (3,))


def test_a_line_beyond_all_bounds_is_refused_with_its_number(tmp_path: Path) -> None:
    path = tmp_path / "huge.csv"
    path.write_bytes(b"text,label\n" + b"x" * (1 << 25) + b"y\n")
    with pytest.raises(StudioError, match="line 2 is longer"):
        read_table(path)


def test_plain_text_gives_a_sentence_a_line_and_notes_blank_lines(tmp_path: Path) -> None:
    path = tmp_path / "corpus.txt"
    path.write_bytes('First, with a comma.\n\n"A quote" stays; so does \u2028 this.\r\nLast one\n\n'.encode())
    table = read_table(path)
    assert contents(table) == [("First, with a comma.",), ('"A quote" stays; so does \u2028 this.',), ("Last one",)]
    assert table.lines.tolist() == [1, 3, 4]
    assert [note.rows for note in table.notes] == [(2,)]


def test_text_in_which_every_line_has_as_many_tabs_is_a_table(tmp_path: Path) -> None:
    path = tmp_path / "sts.txt"
    path.write_text("5.0\tA man sings.\tA man is singing.\n1.2\tA dog.\tA cat sleeps here.\n", encoding="utf-8")
    table = read_table(path)
    assert table.columns == ("column_1", "column_2", "column_3")
    assert contents(table)[1] == ("1.2", "A dog.", "A cat sleeps here.")
    assert table.lines.tolist() == [1, 2]


def test_json_lines_keep_line_numbers_and_numbers_as_written(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text(
        '{"text": "a", "score": 5.000}\n\n{"text": "b", "more": [1, {"x": null}]}\n{"score": null, "text": true}\n', encoding="utf-8"
    )
    table = read_table(path)
    assert table.columns == ("text", "score", "more")
    assert contents(table) == [("a", "5.000", ""), ("b", "", '["1", {"x": null}]'), ("true", "", "")]
    assert table.lines.tolist() == [1, 3, 4]


@pytest.mark.parametrize(
    "text",
    ['[{"a": "x", "b": "1"}, {"a": "y", "b": "2"}]', '[\n {"a": "x", "b": 1},\n {"a": "y", "b": 2}\n]\n', '{"a": ["x", "y"], "b": [1, 2]}'],
)
def test_a_json_array_and_an_object_of_columns_read_like_lines(tmp_path: Path, text: str) -> None:
    path = tmp_path / "rows.json"
    path.write_text(text, encoding="utf-8")
    assert contents(read_table(path)) == [("x", "1"), ("y", "2")]


def test_json_lines_under_another_name_are_known_by_their_content(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text('{"text": "a, b", "label": "x"}\n{"text": "c", "label": "y"}\n', encoding="utf-8")
    assert contents(read_table(path)) == [("a, b", "x"), ("c", "y")]


def test_a_lone_surrogate_in_json_does_not_stop_the_reader(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text('{"text": "bad \\ud800 pair"}\n', encoding="utf-8")
    assert read_table(path).column("text") == ["bad \ufffd pair"]


@pytest.mark.parametrize("line", ['{"text": ', "[" * 100_000, "nonsense"])
def test_a_line_that_is_not_json_is_named(tmp_path: Path, line: str) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text('{"text": "a"}\n{"text": "b"}\n' + line + "\n", encoding="utf-8")
    with pytest.raises(StudioError) as caught:
        read_table(path)
    assert caught.value.rows == (3,)


def test_a_workbook_keeps_the_sheets_row_numbers(tmp_path: Path) -> None:
    from openpyxl import Workbook

    path = tmp_path / "pairs.xlsx"
    book = Workbook()
    sheet = book.active
    sheet.append(["sentence1", "sentence2", "score", "when"])
    sheet.append(["one", "two\nlines", 5, datetime(2024, 5, 1)])
    sheet["A5"], sheet["B5"], sheet["C5"] = "three", "=1+1", 0.25
    book.create_sheet("notes")["A1"] = "something else"
    book.save(path)
    table = read_table(path)
    assert table.lines.tolist() == [2, 5]
    assert contents(table) == [("one", "two\nlines", "5", "2024-05-01T00:00:00"), ("three", "", "0.25", "")]
    messages = [note.message for note in table.notes]
    assert any("'notes'" in message for message in messages)
    assert next(note.rows for note in table.notes if "without any cell" in note.message) == (3, 4)


def _book(path: Path, **sheets: list[list[object]]) -> Path:
    from openpyxl import Workbook

    book = Workbook()
    book.remove(book.active)
    for name, rows in sheets.items():
        sheet = book.create_sheet(name)
        for row in rows:
            sheet.append(row)
    book.save(path)
    return path


_PAIRS: list[list[object]] = [["sentence1", "sentence2", "score"], *([f"one {n} is said", f"two {n} is said", n % 6] for n in range(20))]


@pytest.mark.parametrize(
    "before",
    [
        [["Notes about this export"], ["made by HR, March"]],
        [["Author", "Jane Doe"], ["Date", "2024-05-01"], ["Version", 2]],
        [["Field", "Meaning"], ["sentence1", "the first text"], ["sentence2", "the second"], ["score", "0 to 5"]],
    ],
    ids=["remarks", "facts", "legend"],
)
def test_the_sheet_that_holds_a_table_is_read_and_named(tmp_path: Path, before: list[list[object]]) -> None:
    table = read_table(_book(tmp_path / "book.xlsx", About=before, Rows=_PAIRS))
    assert table.columns == ("sentence1", "sentence2", "score")
    assert len(table) == 20
    assert any("'Rows' was read" in note.message and "also holds 'About'" in note.message for note in table.notes)


def test_a_first_sheet_with_rows_stays_the_one_that_is_read(tmp_path: Path) -> None:
    table = read_table(_book(tmp_path / "book.xlsx", Texts=[["text"], ["one text"], ["another one"]], More=_PAIRS))
    assert table.columns == ("text",)
    numbers: list[list[object]] = [["Frage", "Anzahl"], *([f"Was ist das {n}?", n] for n in range(40))]
    assert read_table(_book(tmp_path / "other.xlsx", First=numbers, More=_PAIRS)).columns == ("Frage", "Anzahl")


def test_a_refusal_names_the_other_sheets(tmp_path: Path) -> None:
    from sbert_studio.data.corpus import corpus_from_table

    with pytest.raises(StudioError) as refused:
        read_table(_book(tmp_path / "head.xlsx", Form=[["sentence1", "sentence2"]], Zahlen=[[1], [2]]))
    assert "'Zahlen'" in refused.value.hint
    table = read_table(_book(tmp_path / "numbers.xlsx", Sums=[["a", "b"], *([n, n + 1] for n in range(40))], Texts=[["text"], ["one two"]]))
    with pytest.raises(StudioError) as refused:
        corpus_from_table(table)
    assert "'Texts'" in refused.value.hint


def test_parquet_counts_its_column_names_as_row_one(tmp_path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    path = tmp_path / "pairs.parquet"
    pq.write_table(pa.table({"text": ["a", None], "score": [4.5, 5.0], "tags": [["x"], []]}), path)
    table = read_table(path)
    assert contents(table) == [("a", "4.5", "x"), ("", "5", "")]
    assert table.lines.tolist() == [2, 3]


def test_an_unknown_column_is_refused_with_the_ones_there_are() -> None:
    table = table_from_columns("t", {"a": ["1"], "b": ["2"]})
    with pytest.raises(StudioError, match="a, b"):
        table.column("c")


def test_progress_ends_at_the_size_of_the_file(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text("text,label\n" + "some words here,x\n" * 50_000, encoding="utf-8")
    calls: list[tuple[int, int]] = []
    read_table(path, progress=lambda done, total: calls.append((done, total)))
    size = path.stat().st_size
    assert calls[-1] == (size, size)
    assert len(calls) > 2
    assert all(before[0] <= after[0] <= after[1] == size for before, after in pairwise(calls))


def test_selected_rows_keep_their_numbers() -> None:
    table = table_from_columns("t", {"text": list("abcde")})
    assert table.select([3, 0]).lines.tolist() == [5, 2]
    assert table.without_lines([3, 4]).column("text") == ["a", "d", "e"]
    assert table.head(2) == [["a"], ["b"]]
    assert table.with_column("n", list("12345")).select([4]).head(1) == [["e", "5"]]


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
