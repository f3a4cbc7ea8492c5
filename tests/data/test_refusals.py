"""Files that are no tables, damaged ones and arbitrary bytes end in a table or in words, never in a traceback."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from sbert_studio.data.loading.table import read_table, table_from_columns
from sbert_studio.errors import StudioError

BAD_FILES = {
    "empty.csv": (b"", "empty"),
    "blank.csv": (b"\n \n\n", "no text"),
    "bom.csv": (b"\xef\xbb\xbf", "no text"),
    "header.csv": (b"sentence1,sentence2,score\n", "no rows"),
    "noise.csv": (bytes(range(256)) * 40, "binary"),
    "noise.xlsx": (b"PK\x03\x04" + bytes(range(256)), "workbook"),
    "noise.parquet": (b"PAR1" + bytes(range(256)) + b"PAR1", "Parquet"),
    "picture.csv": (b"\x89PNG\r\n\x1a\n" + bytes(100), "PNG"),
    "old.xls": (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(100), "Excel"),
    "page.xls": (b"<html><table><tr><td>text</td></tr></table></html>", "web page"),
    "zeros.csv": (bytes(5000), "binary"),
    "empty.jsonl": (b"\n\n", "no"),
    "empty.txt": (b"  \n\n", "no text"),
    "objects.jsonl": (b"[]\n", "no rows|no text"),
}


@pytest.mark.parametrize("name", BAD_FILES)
def test_a_file_that_is_no_table_is_refused_in_words(tmp_path: Path, name: str) -> None:
    data, words = BAD_FILES[name]
    path = tmp_path / name
    path.write_bytes(data)
    with pytest.raises(StudioError, match=words):
        read_table(path)


def test_any_bytes_give_a_table_or_a_clear_error(tmp_path: Path) -> None:
    generator = np.random.default_rng(7)
    alphabets = [bytes(range(256)), b'ab,;\t"\n\r', b'a\0,"\n\xe4\xbd\xa0', b'{}[]":,\n1a', "é你\u3000,\"\n'".encode("utf-16")]
    for attempt in range(300):
        alphabet = np.frombuffer(alphabets[attempt % len(alphabets)], dtype=np.uint8)
        data = generator.choice(alphabet, size=int(generator.integers(1, 400))).tobytes()
        for suffix in (".csv", ".txt", ".jsonl", ".tsv"):
            path = tmp_path / f"any{suffix}"
            path.write_bytes(data)
            try:
                table = read_table(path)
            except StudioError:
                continue
            assert len(table) == len(table.lines) > 0
            assert (np.diff(table.lines) >= 0).all()


@pytest.mark.parametrize("suffix", [".xlsx", ".parquet"])
def test_a_damaged_workbook_or_parquet_file_gives_a_table_or_a_clear_error(tmp_path: Path, suffix: str) -> None:
    import pyarrow.parquet as pq
    from openpyxl import Workbook

    sound, path = tmp_path / f"sound{suffix}", tmp_path / "damaged.csv"
    if suffix == ".xlsx":
        book = Workbook()
        for row in [("text", "label"), ("some words", "a"), ("more words", "b"), ("last words", "c")]:
            book.active.append(row)
        book.save(sound)
    else:
        pq.write_table(table_from_columns("t", {"text": ["some words"] * 50})._data, sound)
    data = np.frombuffer(sound.read_bytes(), dtype=np.uint8)
    path.write_bytes(data.tobytes())
    assert len(read_table(path)) in (3, 50)
    generator = np.random.default_rng(3)
    for attempt in range(120):
        broken = data[: generator.integers(8, len(data))].copy() if attempt % 2 else data.copy()
        spots = generator.integers(4, len(broken), size=attempt % 7 + 1)
        broken[spots] = generator.integers(0, 256, size=len(spots))
        path.write_bytes(broken.tobytes())
        try:
            read_table(path)
        except StudioError:
            continue


def test_missing_files_folders_and_large_files_are_refused(tmp_path: Path) -> None:
    with pytest.raises(StudioError, match="no file"):
        read_table(tmp_path / "absent.csv")
    with pytest.raises(StudioError, match="folder"):
        read_table(tmp_path)
    path = tmp_path / "large.csv"
    path.write_text("text\n" + "some words\n" * 1000, encoding="utf-8")
    with pytest.raises(StudioError, match="at most"):
        read_table(path, max_bytes=1000)
