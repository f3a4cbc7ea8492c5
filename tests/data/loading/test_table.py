"""Tables from compressed files, archives, Parquet and annotation tools, and what every table can do."""

from __future__ import annotations

import bz2
import csv
import gzip
import lzma
import zipfile
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from data.loading.files import contents, read, read_parquet, write_book

from sbert_studio.data.loading.table import read_table, table_from_columns
from sbert_studio.errors import StudioError


def test_selected_rows_keep_their_numbers() -> None:
    table = table_from_columns("t", {"text": list("abcde")})
    assert table.select([3, 0]).lines.tolist() == [5, 2]
    assert table.without_lines([3, 4]).column("text") == ["a", "d", "e"] and table.head(2) == [["a"], ["b"]]
    assert table.with_column("n", list("12345")).select([4]).head(1) == [["e", "5"]]
    with pytest.raises(StudioError, match="text"):
        table.column("c")


def test_a_lazy_column_reads_like_the_list_of_its_cells() -> None:
    cells = [f"text {n}" for n in range(20_000)]
    column = table_from_columns("t", {"text": cells}).texts("text")
    order = np.random.default_rng(0).permutation(len(cells))
    twice = column.at(order).at(np.array([5, 0]))
    for lazy, whole in ((column, cells), (column.at(order), [cells[at] for at in order]), (twice, [cells[order[5]], cells[order[0]]])):
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


_TEXT = "split\tsentence1\tsentence2\ntrain\ta cat\tthe cat\ntest\ta dog\ta hound\n"
_ROWS = [("train", "a cat", "the cat"), ("test", "a dog", "a hound")]


@pytest.mark.parametrize(("suffix", "compress"), [("gz", gzip.compress), ("bz2", bz2.compress), ("xz", lzma.compress)])
def test_a_compressed_table_is_read(tmp_path: Path, suffix: str, compress: object) -> None:
    assert callable(compress)
    table = read(tmp_path, compress(_TEXT.encode()), f"pairs.tsv.{suffix}")
    assert (table.name, table.columns, contents(table)) == (f"pairs.tsv.{suffix}", ("split", "sentence1", "sentence2"), _ROWS)
    lines = read(tmp_path, compress(b'["a cat", "a tom"]\n["a dog", "a pet"]\n'), f"pairs.jsonl.{suffix}")
    assert contents(lines) == [("a cat", "a tom"), ("a dog", "a pet")]


def _zip(path: Path, *names: str) -> Path:
    with zipfile.ZipFile(path, "w") as archive:
        for name in names:
            archive.writestr(name, _TEXT)
    return path


def test_archives_are_read_within_limits_and_members_never_lead_outside(tmp_path: Path) -> None:
    assert contents(read_table(_zip(tmp_path / "a.zip", "folder/pairs.tsv", "__MACOSX/._pairs.tsv"))) == _ROWS
    assert len(read_table(write_book(tmp_path / "b.xlsx", S=[["text"], ["one text"]]).rename(tmp_path / "b.zip"))) == 1
    with pytest.raises(StudioError, match=r"2 files: a\.tsv, b\.tsv"):
        read_table(_zip(tmp_path / "c.zip", "a.tsv", "b.tsv"))
    assert contents(read_table(_zip(tmp_path / "a.zip", "../../outside.tsv"))) == _ROWS
    assert not list(tmp_path.parent.glob("outside.tsv"))
    with pytest.raises(StudioError, match="damaged archive"):
        read(tmp_path, gzip.compress(_TEXT.encode())[:-12], "a.tsv.gz")
    with pytest.raises(StudioError, match=r"exceeds the maximum of .* when unpacked"):
        read(tmp_path, gzip.compress(b"text\n" + b"some words\n" * 500_000), "b.csv.gz", max_bytes=1 << 20)


NOT_TABLES = {
    "empty.csv": (b"", "empty"),
    "blank.csv": (b"\n \n\n", "no text"),
    "bom.csv": (b"\xef\xbb\xbf", "no text"),
    "header.csv": (b"sentence1,sentence2,score\n", "no rows"),
    "noise.csv": (bytes(range(256)) * 40, "binary"),
    "noise.xlsx": (b"PK\x03\x04" + bytes(range(256)), "workbook"),
    "noise.parquet": (b"PAR1" + bytes(range(256)) + b"PAR1", "Parquet"),
    "text.parquet": (b"hello, this is text\n", "text.parquet is not a Parquet file"),
    "noise2.parquet": (bytes(range(256)) * 40, "binary"),
    "picture.csv": (b"\x89PNG\r\n\x1a\n" + bytes(100), "PNG"),
    "old.xls": (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(100), "Excel"),
    "page.xls": (b"<html><table><tr><td>text</td></tr></table></html>", "web page"),
    "zeros.csv": (bytes(5000), "binary"),
    "empty.jsonl": (b"\n\n", "no"),
    "empty.txt": (b"  \n\n", "no text"),
    "objects.jsonl": (b"[]\n", "no rows|no text"),
    **{
        f"letter{suffix}": (
            head + bytes(100),
            f"letter{suffix} is a document in a format that is not read. hint: save it as docx",
        )
        for suffix, head in ((".docm", b"PK\x03\x04"), (".odt", b"PK\x03\x04"), (".pptx", b"PK\x03\x04"), (".doc", b"\xd0\xcf\x11\xe0"))
    },
    "letter.rtf": (b"{\\rtf1 some words}", "letter.rtf is a document in a format that is not read"),
    "nlu.yml": (b"nlu:\n- intent: gate\n  examples: |\n    - open the gate\n", "YAML"),
}


@pytest.mark.parametrize("name", NOT_TABLES)
def test_a_file_that_is_not_a_table_is_refused(tmp_path: Path, name: str) -> None:
    data, words = NOT_TABLES[name]
    with pytest.raises(StudioError, match=words):
        read(tmp_path, data, name)


def test_missing_files_folders_and_large_files_are_refused(tmp_path: Path) -> None:
    with pytest.raises(StudioError, match="no file"):
        read_table(tmp_path / "absent.csv")
    with pytest.raises(StudioError, match="folder"):
        read_table(tmp_path)
    with pytest.raises(StudioError, match="the maximum is"):
        read(tmp_path, "text\n" + "some words\n" * 1000, max_bytes=1000)


_TEXTS = ["one two", "three four", "five six"]
_FAR, _FAR_TEXT = 2**45, "1116918-05-14T19:20:32.000"


def test_parquet_rows_lists_and_numbers_are_read_as_those_of_other_formats(tmp_path: Path) -> None:
    table = read_parquet(tmp_path, {"text": ["a", None], "score": [4.5, 5.0], "tags": [["x"], []]})
    assert contents(table) == [("a", "4.5", "x"), ("", "5", "")]
    assert table.lines.tolist() == [2, 3]
    table = read_parquet(tmp_path, {"query": ["q1", "q2"], "pos": [["p1", "p2"], ["p3"]], "neg": [["n1", "n2"], ["n3"]]})
    assert contents(table) == [("q1", "p1", "n1", "n2"), ("q1", "p2", "n1", "n2"), ("q2", "p3", "n3", "")]
    assert table.lines.tolist() == [2, 2, 3]
    assert contents(read_parquet(tmp_path, {"translation": [{"en": "hello", "de": "hallo"}]})) == [("hello", "hallo")]
    import numpy as np

    table = read_parquet(tmp_path, {"text": list("abc"), "score": np.array([0.1, 4.2, 5.0], np.float32)})
    assert table.column("score") == ["0.1", "4.2", "5"]
    import pyarrow as pa

    texts = [None if index % 7 == 0 else f"text {index % 900}" for index in range(10_000)]
    assert read_parquet(tmp_path, {"text": pa.array(texts).dictionary_encode()}).column("text") == [text or "" for text in texts]
    assert read_parquet(tmp_path, {"text": texts}).column("text") == [text or "" for text in texts]


def _times(kind: str) -> tuple[Any, list[str]]:
    import pyarrow as pa

    held = {
        "seconds": (pa.array([0, _FAR, None], pa.timestamp("s")), ["1970-01-01T00:00:00", _FAR_TEXT, ""]),
        "micro": (pa.array([-(2**62), 0, 0], pa.timestamp("us")), ["-144169-06-28T09:59:32.612096", *["1970-01-01T00:00:00"] * 2]),
        "day": (pa.array([2**30, -(2**30), 0], pa.date32()), ["2941775-04-07", "-2937836-09-26", "1970-01-01"]),
        "milli": (pa.array([2**30 * 86_400_000] * 3, pa.date64()), ["2941775-04-07"] * 3),
        "long": (pa.array([2**62, None, 1], pa.duration("s")), ["4611686018427387904 seconds", "", "0:00:01"]),
        "late": (pa.array([2**62, 0, 0], pa.int64()).view(pa.time64("us")), ["4611686018427387904 microseconds", *["00:00:00"] * 2]),
        "zone": (
            pa.array([0, None, 1], pa.timestamp("us", tz="Mars/Phobos")),
            ["1970-01-01T00:00:00.000000+00:00", "", "1970-01-01T00:00:00.000001+00:00"],
        ),
        "list": (pa.array([[_FAR], [0], []], pa.list_(pa.timestamp("s"))), [_FAR_TEXT, "1970-01-01T00:00:00", ""]),
        "struct": (
            pa.array([{"when": _FAR}, None, {"when": 0}], pa.struct([("when", pa.timestamp("s"))])), [_FAR_TEXT, "", "1970-01-01T00:00:00"],
        ),
        "map": (pa.array([[("a", _FAR)], [], None], pa.map_(pa.string(), pa.timestamp("s"))), [f'[["a", "{_FAR_TEXT}"]]', "", ""]),
    }  # fmt: skip
    return held[kind]


@pytest.mark.parametrize("kind", ["seconds", "micro", "day", "milli", "long", "late", "zone", "list", "struct", "map"])
def test_dates_and_times_that_python_cannot_represent_stay_as_texts_and_are_noted(tmp_path: Path, kind: str) -> None:
    column, texts = _times(kind)
    table = read_parquet(tmp_path, {"text": _TEXTS, kind: column})
    assert table.column(table.columns[1]) == texts
    (note,) = [note for note in table.notes if "date or time" in note.message]
    assert repr(kind) in note.message
    assert note.rows and set(note.rows) <= {2, 3, 4}
