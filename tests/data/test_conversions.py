"""Conversions give the examples that a plain reading of the rows would."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from sbert_studio.data.conversion.conversions import convert, examples_to_table, offers, pairs_to_triplets, scored_to_labelled
from sbert_studio.data.examples import Examples, build_examples
from sbert_studio.data.loading.table import read_table
from sbert_studio.data.schema.inference import infer_roles
from sbert_studio.errors import StudioError

NLI = ("contradiction", "neutral", "entailment")


def labelled(rows: list[tuple[str, str, int]], labels: tuple[str, ...] = NLI) -> Examples:
    a, b, ids = zip(*rows, strict=True)
    return Examples("labelled_pairs", (a, b), np.array(ids), np.arange(2, len(rows) + 2), labels)


def scored(rows: list[tuple[str, str, float]]) -> Examples:
    a, b, scores = zip(*rows, strict=True)
    return Examples("scored_pairs", (a, b), np.array(scores, dtype=np.float32), np.arange(2, len(rows) + 2))


def sentences(texts: list[str], groups: list[str]) -> Examples:
    return Examples("sentences", (tuple(texts),), None, np.arange(2, len(texts) + 2), (), tuple(groups))


def rows_of(examples: Examples) -> list[tuple[str, ...]]:
    return list(zip(*examples.texts, strict=True))


def test_premises_with_entailment_and_contradiction_become_triplets() -> None:
    examples = labelled([("p", "yes1", 2), ("p", "maybe", 1), ("p", "no1", 0), ("p", "no2", 0), ("q", "yes2", 2), ("no1", "p", 2)])
    triplets = convert(examples, "nli_to_triplets")
    assert rows_of(triplets) == [("p", "yes1", "no1"), ("p", "yes1", "no2")]
    assert triplets.lines.tolist() == [2, 2]
    assert (triplets.kind, triplets.targets) == ("triplets", None)


def test_pairs_that_share_a_text_on_either_side_become_triplets() -> None:
    examples = labelled([("a", "like a", 1), ("unlike a", "a", 0), ("b", "like b", 1)], ("0", "1"))
    assert rows_of(pairs_to_triplets(examples)) == [("a", "like a", "unlike a")]


def test_scores_give_triplets_only_where_they_differ_clearly() -> None:
    examples = scored([("a", "b", 0.6), ("a", "c", 0.2), ("a", "d", 0.4), ("e", "f", 1.0), ("e", "g", 0.5)])
    assert rows_of(pairs_to_triplets(examples)) == [("a", "b", "c")]


def test_scores_become_labels_at_the_edges() -> None:
    examples = scored([("a", "b", 0.0), ("a", "c", 0.5), ("a", "d", 0.49), ("a", "e", 1.0)])
    assert scored_to_labelled(examples).targets.tolist() == [0, 1, 0, 1]  # type: ignore[union-attr]
    three = scored_to_labelled(examples, (0.3, 0.9), ("low", "middle", "high"))
    assert (three.labels, three.targets.tolist()) == (("low", "middle", "high"), [0, 1, 1, 2])  # type: ignore[union-attr]
    with pytest.raises(StudioError):
        scored_to_labelled(examples, (0.9, 0.3))


def test_positive_pairs_are_those_of_the_last_class() -> None:
    examples = labelled([("a", "b", 2), ("c", "d", 0), ("e", "f", 2)])
    assert rows_of(convert(examples, "labelled_to_positive")) == [("a", "b"), ("e", "f")]


def test_sentences_of_a_class_are_paired_in_a_ring() -> None:
    pairs = convert(sentences(["a1", "b1", "a2", "a3", "a1", "c1", "b2"], ["a", "b", "a", "a", "a", "c", "b"]), "classes_to_pairs")
    assert rows_of(pairs) == [("a1", "a2"), ("a2", "a3"), ("a3", "a1"), ("b1", "b2")]
    assert pairs.groups == ("a", "a", "a", "b")


def test_only_what_fits_is_offered() -> None:
    assert [offer.name for offer in offers(sentences(["a", "b"], ["x", "x"]))] == ["classes_to_pairs"]
    assert [offer.name for offer in offers(labelled([("p", "y", 2), ("p", "n", 0)]))] == ["nli_to_triplets", "labelled_to_positive"]
    assert [offer.name for offer in offers(scored([("a", "b", 0.1)]))] == ["scored_to_labelled"]
    with pytest.raises(StudioError, match="no conversion"):
        convert(scored([("a", "b", 0.1)]), "anything")
    with pytest.raises(StudioError):
        convert(scored([("a", "b", 0.1)]), "nli_to_triplets")


@pytest.mark.parametrize("name", ["nli_to_triplets", "labelled_to_positive", None])
def test_converted_examples_read_back_from_their_table_as_the_same(real_data: Path, tmp_path: Path, name: str | None) -> None:
    table = read_table(real_data / "snli" / "train.csv")
    examples, _ = build_examples(table, infer_roles(table))
    wanted = convert(examples, name) if name else examples
    path = tmp_path / "converted.parquet"
    examples_to_table(wanted, "converted").to_parquet(path)
    back = read_table(path)
    again, findings = build_examples(back, infer_roles(back))
    assert findings == ()
    assert (again.kind, again.texts, again.digest) == (wanted.kind, wanted.texts, wanted.digest)


def test_nli_triplets_hold_what_the_file_says(real_data: Path) -> None:
    table = read_table(real_data / "snli" / "train.csv")
    examples, _ = build_examples(table, infer_roles(table))
    said = {(a, b): label for a, b, label in zip(table.column("premise"), table.column("hypothesis"), table.column("label"), strict=True)}
    triplets = convert(examples, "nli_to_triplets")
    assert len(triplets) > 300
    assert all((said[a, p], said[a, n]) == ("entailment", "contradiction") for a, p, n in rows_of(triplets))
