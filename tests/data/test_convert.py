"""Conversions give the examples that a plain reading of the rows would."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sbert_studio.data.convert import convert, convert_to_table, examples_to_table, find_conversions, scored_to_labelled
from sbert_studio.data.examples import Examples, build_examples
from sbert_studio.data.loading.table import read_table
from sbert_studio.data.schema.inference import infer_roles
from sbert_studio.errors import StudioError

NLI = ("contradiction", "neutral", "entailment")


def pairs(rows: list[tuple[str, str, Any]], labels: tuple[str, ...] = ()) -> Examples:
    a, b, targets = zip(*rows, strict=True)
    values = np.array(targets, dtype=np.int64 if labels else np.float32)
    return Examples("labelled_pairs" if labels else "scored_pairs", (a, b), values, np.arange(2, len(rows) + 2), labels)


def sentences(texts: str, groups: str) -> Examples:
    return Examples("sentences", (tuple(texts.split()),), None, np.arange(2, len(texts.split()) + 2), (), tuple(groups.split()))


def rows_of(examples: Examples) -> list[tuple[str, ...]]:
    return list(zip(*examples.texts, strict=True))


@pytest.mark.parametrize(
    ("examples", "name", "rows", "lines"),
    [
        (
            pairs([("p", "yes1", 2), ("p", "maybe", 1), ("p", "no1", 0), ("p", "no2", 0), ("q", "yes2", 2), ("no1", "p", 2)], NLI),
            "nli_to_triplets",
            [("p", "yes1", "no1"), ("p", "yes1", "no2")],
            [2, 2],
        ),
        (
            pairs([("a", "like a", 1), ("unlike a", "a", 0), ("b", "like b", 1)], ("0", "1")),
            "pairs_to_triplets",
            [("a", "like a", "unlike a")],
            [2],
        ),
        (
            pairs([("a", "b", 0.6), ("a", "c", 0.2), ("a", "d", 0.4), ("e", "f", 1.0), ("e", "g", 0.5)]),
            "pairs_to_triplets",
            [("a", "b", "c")],
            [2],
        ),
        (pairs([("a", "b", 2), ("c", "d", 0), ("e", "f", 2)], NLI), "labelled_to_positive", [("a", "b"), ("e", "f")], [2, 4]),
        (pairs([("a", "b", 0.6), ("c", "d", 0.5)]), "labelled_to_positive", [("a", "b")], [2]),
        (
            sentences("a1 b1 a2 a3 a1 c1 b2", "a b a a a c b"),
            "classes_to_pairs",
            [("a1", "a2"), ("a2", "a3"), ("a3", "a1"), ("b1", "b2")],
            [2, 4, 5, 3],
        ),
        (sentences("a1 b1 a2 c1", "a b a c"), "classes_to_triplets", [("a1", "a2", "b1"), ("a2", "a1", "c1")], [2, 4]),
    ],
)
def test_a_conversion(examples: Examples, name: str, rows: list[tuple[str, ...]], lines: list[int]) -> None:
    converted = convert(examples, name)
    assert rows_of(converted) == rows and converted.lines.tolist() == lines and converted.targets is None
    assert converted.kind == ("triplets" if len(rows[0]) == 3 else "positive_pairs")


def test_scores_become_labels_at_the_edges() -> None:
    examples = pairs([("a", "b", 0.0), ("a", "c", 0.5), ("a", "d", 0.49), ("a", "e", 1.0)])
    assert scored_to_labelled(examples).targets.tolist() == [0, 1, 0, 1]  # type: ignore[union-attr]
    three = scored_to_labelled(examples, (0.3, 0.9), ("low", "middle", "high"))
    assert (three.labels, three.targets.tolist()) == (("low", "middle", "high"), [0, 1, 1, 2])  # type: ignore[union-attr]
    with pytest.raises(StudioError):
        scored_to_labelled(examples, (0.9, 0.3))


@pytest.mark.parametrize(
    ("examples", "names"),
    [
        (sentences("a b", "x x"), ["classes_to_pairs"]),
        (pairs([("p", "y", 2), ("p", "n", 0)], NLI), ["nli_to_triplets", "labelled_to_positive"]),
        (pairs([("a", "b", 0.1)]), ["scored_to_labelled"]),
    ],
)
def test_only_possible_conversions_are_offered(examples: Examples, names: list[str]) -> None:
    assert [offer.name for offer in find_conversions(examples)] == names
    for name in ("anything", "classes_to_triplets"):
        with pytest.raises(StudioError):
            convert(examples, name)


def test_rows_that_cannot_be_converted_are_reported() -> None:
    rows = [(f"anchor {row // 2}", f"other {row}", row % 2) for row in range(20)]
    examples = pairs([*rows, ("alone", "p", 1), ("alone too", "q", 0)], ("0", "1"))
    table = convert_to_table(examples, "pairs_to_triplets", "pairs.csv")
    (note,) = table.notes
    assert len(table) == 10 and "10 examples made from 22 usable rows; 2 rows not converted" in note.message and "22, 23" in note.message
    (offer,) = (one for one in find_conversions(examples) if one.name == "pairs_to_triplets")
    assert (offer.rows, offer.left) == (10, 2) and offer.describe().endswith("10 rows, 2 not converted")
    complete = convert_to_table(examples.take(np.arange(20)), "pairs_to_triplets", "pairs.csv")
    assert "every row was converted" in complete.notes[0].message


@pytest.mark.parametrize("name", ["nli_to_triplets", "labelled_to_positive", None])
def test_converted_examples_are_read_back_from_their_table(real_data: Path, tmp_path: Path, name: str | None) -> None:
    table = read_table(real_data / "snli" / "train.csv")
    examples, _ = build_examples(table, infer_roles(table))
    converted = convert(examples, name) if name else examples
    examples_to_table(converted, "converted").to_parquet(tmp_path / "converted.parquet")
    back = read_table(tmp_path / "converted.parquet")
    again, findings = build_examples(back, infer_roles(back))
    assert findings == () and (again.kind, again.texts, again.digest) == (converted.kind, converted.texts, converted.digest)
    if name == "nli_to_triplets":
        columns = (table.column(column) for column in ("premise", "hypothesis", "label"))
        label_of = {(a, b): label for a, b, label in zip(*columns, strict=True)}
        assert len(converted) > 300
        assert all((label_of[a, p], label_of[a, n]) == ("entailment", "contradiction") for a, p, n in rows_of(converted))
