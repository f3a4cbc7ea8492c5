"""The proposed answer of a question is what names and evidence favour; where they disagree, or are silent, there is none."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from sbert_studio.data.choices.column_choices import read_roles
from sbert_studio.data.columns.reading import Reading
from sbert_studio.data.tables import Table, table_from_columns

WORDS = [f"{first}{last}" for first in ("ri", "sto", "clo", "gree") for last in ("ver", "ne", "ud", "mos")]


def _similar(first: Sequence[str], second: Sequence[str]) -> np.ndarray:
    pairs = [(set(a.split()), set(b.split())) for a, b in zip(first, second, strict=True)]
    return np.array([len(a & b) / max(1, len(a | b)) for a, b in pairs])


def _texts(rows: int, seed: int = 1) -> tuple[list[str], list[str], np.ndarray]:
    """Pairs, and the share of words that stayed the same, in [0, 1]."""
    generator = np.random.default_rng(seed)
    a = [generator.choice(WORDS, 6, replace=False).tolist() for _ in range(rows)]
    share = generator.random(rows)
    b = [
        [word if generator.random() < kept else str(generator.choice(WORDS)) for word in text] for text, kept in zip(a, share, strict=True)
    ]
    return [" ".join(text) for text in a], [" ".join(text) for text in b], share


def _table(target: str, cells: Sequence[str], rows: int = 200) -> Table:
    a, b, _ = _texts(rows)
    return table_from_columns("t.csv", {"sentence1": a, "sentence2": b, target: list(cells)})


def _turned() -> list[str]:
    """Scores of 0 to 5, noisy, of which the lowest are the most alike."""
    noise = np.random.default_rng(3).random(200)
    return [f"{5 - 3 * one - 2 * more:.1f}" for one, more in zip(_texts(200)[2], noise, strict=True)]


def _favoured(reading: Reading, name: str) -> dict[str, object] | None:
    question = next(one for one in reading.questions if one.name == name)
    return None if question.proposed is None else dict(question.options[question.proposed].choice)


@pytest.mark.parametrize(
    ("name", "favoured"),
    [("value", {"scale": [5.0, 0.0]}), ("score", None), ("similarity", None), ("相似度", None)],
)
def test_scores_that_stand_against_the_model_are_proposed_the_other_way_round_unless_their_name_says_otherwise(
    name: str, favoured: object
) -> None:
    reading = read_roles(_table(name, _turned()), similar=_similar)
    assert _favoured(reading, "scale") == favoured


def test_a_distance_that_no_model_confirms_is_proposed_as_its_name_says() -> None:
    cells = [f"{value:.1f}" for value in np.random.default_rng(5).random(200) * 5]
    for similar in (_similar, None):
        found = _favoured(read_roles(_table("distance", cells), similar=similar), "scale")
        assert found is not None and found["scale"][0] > found["scale"][1]  # type: ignore[index]


def test_labels_whose_words_and_evidence_disagree_have_no_proposed_order() -> None:
    share = _texts(200)[2]
    reading = read_roles(_table("label", ["different" if one > 0.5 else "same" for one in share]), similar=_similar)
    assert _favoured(reading, "order") is None


def test_labels_of_no_language_are_proposed_as_the_model_orders_them_or_not_at_all() -> None:
    share = _texts(60)[2]
    noisy = np.random.default_rng(4).random(60) < 0.38
    labels = ["zorg" if (one > 0.5) != flip else "blip" for one, flip in zip(share, noisy, strict=True)]
    assert _favoured(read_roles(_table("label", labels, 60), similar=_similar), "order") == {"order": ["blip", "zorg"]}
    by_chance = np.random.default_rng(7).permutation(["zorg", "blip"] * 100).tolist()
    for similar in (_similar, None):
        assert _favoured(read_roles(_table("label", by_chance), similar=similar), "order") is None


def test_a_proposed_answer_travels_as_plain_data() -> None:
    from sbert_studio.services.training_questions import question_from_json

    (question,) = read_roles(_table("value", _turned()), similar=_similar).questions
    assert question.proposed == 1 and question_from_json(question.to_json()) == question


def test_the_rows_that_are_shown_have_texts() -> None:
    scores = _turned()
    table = _table("closeness", scores)
    ends = [float(score) < 1 or float(score) > 4 for score in scores]
    a, b = (["" if end else text for end, text in zip(ends, table.column(name), strict=True)] for name in ("sentence1", "sentence2"))
    reading = read_roles(table_from_columns("t.csv", {"sentence1": a, "sentence2": b, "closeness": scores}), similar=_similar)
    assert reading.questions and all(all(shown.texts) for shown in reading.questions[0].rows)
