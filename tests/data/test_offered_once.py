"""What findings and conversions offer adds up: each row is offered once, and none is lost without a word."""

from __future__ import annotations

import numpy as np

from sbert_studio.data.conversion.conversions import converted
from sbert_studio.data.doctor.diagnosis import diagnose, mend
from sbert_studio.data.examples import build_examples
from sbert_studio.data.loading.table import Table, table_from_columns
from sbert_studio.data.schema.inference import infer_schema


def _table() -> Table:
    """Rows 4 and 5 are one text in two categories; row 6 repeats row 4."""
    texts = ["lost my card", "new card please", "where is my card", "where is my card", "where is my card"]
    texts += [f"text number {number} of many" for number in range(40)]
    categories = ["lost", "new", "lost", "new", "lost", *(("lost", "new")[number % 2] for number in range(40))]
    return table_from_columns("t.csv", {"text": texts, "category": categories})


def _dropped(diagnosis) -> list[int]:
    mends = [one.mend for one in diagnosis.findings if one.mend is not None and one.mend.name == "drop_rows"]
    return [row for one in mends for row in one.values["rows"]]


def test_each_row_is_offered_to_be_left_out_once_and_a_mend_updates_the_rest() -> None:
    found = diagnose(_table())
    offered = _dropped(found)
    assert offered and len(offered) == len(set(offered))
    both = [one for one in found.findings if "categories" in one.message or "repeating" in one.message]
    assert len(both) == 2, "both say what they have found"
    assert sum(one.mend is not None for one in both) == 1
    (first,) = (one for one in both if one.mend is not None)
    after = diagnose(mend(_table(), first.mend))
    assert "repeating" not in " ".join(one.message for one in after.findings)


def test_a_conversion_tells_of_the_rows_that_it_cannot_carry() -> None:
    anchors = [f"anchor {number // 2}" for number in range(20)]
    others = [f"other {number}" for number in range(20)]
    labels = ["1" if number % 2 else "0" for number in range(20)]
    table = table_from_columns(
        "pairs.csv",
        {"sentence1": [*anchors, "alone", "alone too"], "sentence2": [*others, "p", "q"], "label": [*labels, "1", "0"]},
    )
    examples, _ = build_examples(table, infer_schema(table).roles)
    made = converted(examples, "pairs_to_triplets", "pairs.csv")
    assert len(made) == 10
    (note,) = made.notes
    assert "22 usable rows" in note.message and "2 rows left behind" in note.message and "22, 23" in note.message
    offer = next(one for one in diagnose(table, infer_schema(table).roles).offers if one.name == "pairs_to_triplets")
    assert (offer.rows, offer.left) == (10, 2) and offer.in_words().endswith("10 rows, 2 left behind")
    whole = converted(examples.take(np.arange(20)), "pairs_to_triplets", "pairs.csv")
    assert "none left behind" in whole.notes[0].message
