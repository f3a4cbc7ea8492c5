"""A held-out file follows the schema of the training file, or is refused; nothing is guessed."""

from __future__ import annotations

import numpy as np
import pytest
from data.schema.synthetic import make_table, overlap, pair_table, pairs

from sbert_studio.data.dev_file import build_dev_examples
from sbert_studio.data.doctor.diagnosis import diagnose
from sbert_studio.data.loading.table import Table
from sbert_studio.data.schema.inference import infer_schema
from sbert_studio.data.schema.roles import Roles, SchemaOverrides
from sbert_studio.errors import StudioError

ROWS = 120
SHARE = pairs(None, ROWS)[1]
IS_SIMILAR = (SHARE > 0.5).astype(int).tolist()


def labelled(no: str, yes: str, names: tuple[str, str, str] = ("one", "two", "label")) -> Table:
    columns, _ = pairs(None, ROWS)
    return make_table(dict(zip(names, (*columns.values(), [(no, yes)[one] for one in IS_SIMILAR]), strict=True)))


def scored(name: str = "score", top: float = 5, *, is_reversed: bool = False) -> Table:
    return pair_table(name, [f"{top * (1 - one if is_reversed else one):.2f}" for one in SHARE])


@pytest.mark.parametrize("names", [("x", "y", "etikett"), ("one", "two", "label")])
def test_labels_are_never_put_in_alphabetical_order(names: tuple[str, str, str]) -> None:
    dev, table = labelled("glorp", "blarg", names), labelled("no", "yes")
    found = diagnose(table, dev=dev)
    assert found.dev_examples is None
    assert all(words in found.errors[0].message for words in ("blarg, glorp", "(no, yes)", "rename them", "do not use the file"))
    known = diagnose(table, dev=dev, similar=overlap)
    assert any("labels glorp, blarg are mapped to no, yes: " in one.message for one in known.findings)
    assert known.dev_examples is not None and known.dev_examples.targets is not None
    assert known.dev_examples.targets.tolist() == IS_SIMILAR


@pytest.mark.parametrize("names", [("x", "y", "verdict"), ("one", "two", "label")])
def test_known_words_correspond_to_the_labels_of_the_training_file(names: tuple[str, str, str]) -> None:
    roles = infer_schema(labelled("wug", "blick"), SchemaOverrides(order=("wug", "blick"))).roles
    examples, _ = build_dev_examples(labelled("0", "1", names), roles)
    assert examples.targets is not None and examples.targets.tolist() == IS_SIMILAR


def test_other_categories_are_refused() -> None:
    roles = Roles("labelled_texts", ("text",), "topic", labels=("art", "sport"), ordered=False)
    dev = make_table({"text": [f"a text of number {row}" for row in range(40)], "topic": ["wug", "blick"] * 20})
    with pytest.raises(StudioError, match="cannot be mapped to those of the training file"):
        build_dev_examples(dev, roles)


def test_scores_follow_the_scale_of_the_training_file_or_are_refused_if_reversed() -> None:
    reversed_roles = infer_schema(scored("distance"), SchemaOverrides(scale=(5.0, 0.0))).roles
    assert build_dev_examples(scored("score"), reversed_roles)[0].targets == pytest.approx(1 - SHARE, abs=0.01)
    for column in ("score", "wert"):
        found = diagnose(scored(), dev=scored(column, is_reversed=True), similar=overlap)
        assert found.dev_examples is None and "held-out file cannot be used" in found.errors[0].message
        assert diagnose(scored(), dev=scored(column), similar=overlap).dev_examples is not None


def test_another_scale_loses_no_row_and_two_scales_are_refused_with_their_rows() -> None:
    found = diagnose(scored(), dev=scored(top=100))
    assert found.dev_examples is not None and len(found.dev_examples) == len(found.examples)
    assert found.dev_examples.targets == pytest.approx(found.examples.targets, abs=0.01)
    assert any("those of the training file on 0–5" in one.message for one in found.findings)
    cells = [f"{5 * one * (20 if place % 3 == 0 else 1):g}" for place, one in enumerate(SHARE)]
    with pytest.raises(StudioError, match="off the training file's scale 0–5") as caught:
        build_dev_examples(pair_table("score", cells), Roles("scored_pairs", ("one", "two"), "score", 0.0, 5.0))
    assert caught.value.rows == tuple(place + 2 for place, cell in enumerate(cells) if float(cell) > 5)
    assert "do not use the file" in caught.value.hint


def test_nothing_is_offered_that_would_make_a_guess_come_true() -> None:
    noise = np.random.default_rng(3).random(ROWS)
    table = pair_table("note", [f"{5 - 2 * one - 3 * more:.1f}" for one, more in zip(SHARE, noise, strict=True)])
    found = diagnose(table, similar=overlap)
    assert found.questions and not found.offers
    assert all(finding.fix is None for finding in found.findings if "dissimilar to itself" in finding.message)
    answered = diagnose(table, SchemaOverrides(scale=(5.0, 0.0)), similar=overlap)
    assert answered.offers and not answered.questions
