"""The format of a file is recognised, compressed tables are read as if they were unpacked, and files that are no tables are refused."""

from __future__ import annotations

import bz2
import gzip
import lzma
import zipfile
from pathlib import Path

import pytest
from data.loading.files import contents, read, write_book

from sbert_studio.data.loading.table import read_table
from sbert_studio.errors import StudioError

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


def test_the_only_file_of_a_zip_archive_is_read(tmp_path: Path) -> None:
    assert contents(read_table(_zip(tmp_path / "a.zip", "folder/pairs.tsv", "__MACOSX/._pairs.tsv"))) == _ROWS
    assert len(read_table(write_book(tmp_path / "b.xlsx", S=[["text"], ["one text"]]).rename(tmp_path / "b.zip"))) == 1
    with pytest.raises(StudioError, match=r"2 files: a\.tsv, b\.tsv"):
        read_table(_zip(tmp_path / "c.zip", "a.tsv", "b.tsv"))


def test_a_member_that_points_outside_stays_in_the_temporary_folder(tmp_path: Path) -> None:
    assert contents(read_table(_zip(tmp_path / "a.zip", "../../outside.tsv"))) == _ROWS
    assert not list(tmp_path.parent.glob("outside.tsv"))


def test_damaged_and_huge_archives_are_refused(tmp_path: Path) -> None:
    with pytest.raises(StudioError, match="damaged archive"):
        read(tmp_path, gzip.compress(_TEXT.encode())[:-12], "a.tsv.gz")
    with pytest.raises(StudioError, match="has more than"):
        read(tmp_path, gzip.compress(b"text\n" + b"some words\n" * 500_000), "b.csv.gz", max_bytes=1 << 20)


NOT_TABLES = {
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
