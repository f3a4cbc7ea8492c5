"""Parquet files read like JSON files of the same rows; numbers and dates keep what they say."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from data.loading.files import contents, read_parquet

_TEXTS = ["one two", "three four", "five six"]
_FAR, _FAR_TEXT = 2**45, "1116918-05-14T19:20:32.000"


def test_the_column_names_count_as_row_one(tmp_path: Path) -> None:
    table = read_parquet(tmp_path, {"text": ["a", None], "score": [4.5, 5.0], "tags": [["x"], []]})
    assert contents(table) == [("a", "4.5", "x"), ("", "5", "")]
    assert table.lines.tolist() == [2, 3]


def test_lists_and_structs_are_spread_as_those_of_json(tmp_path: Path) -> None:
    table = read_parquet(tmp_path, {"query": ["q1", "q2"], "pos": [["p1", "p2"], ["p3"]], "neg": [["n1", "n2"], ["n3"]]})
    assert contents(table) == [("q1", "p1", "n1", "n2"), ("q1", "p2", "n1", "n2"), ("q2", "p3", "n3", "")]
    assert table.lines.tolist() == [2, 2, 3]
    assert contents(read_parquet(tmp_path, {"translation": [{"en": "hello", "de": "hallo"}]})) == [("hello", "hallo")]


def test_a_number_of_32_bits_has_the_digits_that_it_was_given(tmp_path: Path) -> None:
    import numpy as np

    table = read_parquet(tmp_path, {"text": list("abc"), "score": np.array([0.1, 4.2, 5.0], np.float32)})
    assert table.column("score") == ["0.1", "4.2", "5"]


def test_dictionaries_read_like_plain_columns(tmp_path: Path) -> None:
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
