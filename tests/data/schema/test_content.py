"""Cells without an answer are not texts; where they may be, they are kept and reported."""

from __future__ import annotations

import pytest

from sbert_studio.data.corpus import corpus_from_table
from sbert_studio.data.doctor.diagnosis import diagnose
from sbert_studio.data.examples import build_examples
from sbert_studio.data.loading.table import Table, table_from_columns
from sbert_studio.data.schema.content import find_missing, is_missing
from sbert_studio.data.schema.roles import Roles
from sbert_studio.evaluation.tasks.base import ClassRoles, class_row_report, labelled_texts

N = 40
A = [f"a man number {index} plays the guitar on stage" for index in range(N)]
B = [f"someone called {index} makes music for people" for index in range(N)]
_SIGNS = """
N/A n/a NULL #N/A - (empty) k.A. none nan NaN None — – <NA> [null] n.a. n.d. ? … #NV
#REF! н/д 无 なし 없음 該当なし <none>
"""
MISSING = _SIGNS.split()
MISSING += ["k. A.", "Keine Angabe", "not available", "No answer.", "sans objet", "нет данных", " N/A ", '"N/A"', "(leer)", "no data"]


def every_fifth(texts: list[str], cell: str) -> list[str]:
    return [cell if index % 5 == 0 else text for index, text in enumerate(texts)]


def pairs(cell: str) -> Table:
    return table_from_columns("file.csv", {"a": A, "b": every_fifth(B, cell), "score": [str(n % 6) for n in range(N)]})


@pytest.mark.parametrize("cell", MISSING)
def test_a_cell_without_an_answer_is_no_text(cell: str) -> None:
    table = pairs(cell)
    rows = tuple(range(2, N + 2, 5))
    found = diagnose(table)
    assert len(found.examples) == N - 8
    (told,) = [one for one in found.findings if one.skip_reason]
    assert (told.rows, repr(cell.strip()) in told.message, repr(cell.strip()) in told.skip_reason) == (rows, True, True)
    assert [(one.rows, one.why) for one in found.account.reasons] == [(rows, told.skip_reason)]
    corpus = corpus_from_table(table, "b")
    assert (corpus.account.used, corpus.account.reasons) == (N - 8, found.account.reasons)


@pytest.mark.parametrize(
    "text", ["Nothing.", "No", "a", "none of them", "N/A in the second round", "NASA", "-5", "1/2", "nan bread", "非常好"]
)
def test_a_short_text_is_a_text(text: str) -> None:
    assert not is_missing(text)
    assert len(diagnose(pairs(text)).examples) == N


@pytest.mark.parametrize(
    ("others", "cell", "kept"),
    [
        (["red", "green", "blue"], "none", True),
        (["red", "green", "blue"], "N/A", True),
        (["very good", "a bit slow", "good"], "none", True),
        (["very good", "a bit slow", "good value"], "N/A", False),
        (["this is quite a sentence", "and so is this one"], "none", False),
    ],
)
def test_a_word_among_words_is_kept_and_reported(others: list[str], cell: str, kept: bool) -> None:
    cells = [cell if n % 10 == 0 else others[n % len(others)] for n in range(60)]
    found = find_missing(cells)
    assert (len(found.kept), len(found.places)) == ((6, 0) if kept else (0, 6))
    table = table_from_columns("file.csv", {"text": cells, "b": (A * 2)[:60]})
    _, findings = build_examples(table, Roles("positive_pairs", ("text", "b")))
    (told,) = findings
    assert told.rows == tuple(range(2, 62, 10))
    assert repr(cell) in told.message
    assert ("kept as text" in told.message, bool(told.skip_reason)) == (kept, not kept)
    corpus = corpus_from_table(table, "text")
    assert len(corpus) == (60 if kept else 54)
    assert any(note.rows == told.rows for note in corpus.notes)


def test_a_further_negative_without_a_text_is_filled_like_a_blank_one() -> None:
    columns = {"anchor": A, "positive": B, "negative": A[::-1], "negative_2": every_fifth(B[::-1], "N/A")}
    examples, findings = build_examples(table_from_columns("file.csv", columns), Roles("triplets", tuple(columns)))
    assert len(examples) == N
    assert examples.texts[3][0] == A[-1]
    assert [finding.rows for finding in findings] == [tuple(range(2, N + 2, 5))]


def test_labelled_texts_are_evaluated_without_missing_ones() -> None:
    table = table_from_columns("file.csv", {"text": every_fifth(A, "n/a"), "topic": ["x", "y"] * (N // 2)})
    roles = ClassRoles("text", "topic")
    texts, _, notes = labelled_texts(table, roles)
    assert len(texts) == N - 8
    assert "rows 2, 7" in notes[0]
    assert class_row_report(table, roles).skipped == 8


def test_similarity_of_pairs_leaves_missing_texts_out_and_reports_those_it_keeps() -> None:
    from sbert_studio.services import Studio

    studio = Studio()
    found = studio.similarity.compare_file(pairs("N/A"))
    assert (len(found.rows), found.account.skipped) == (N - 8, 8)
    words = table_from_columns("file.csv", {"sentence1": ["red", "none", "blue"] * 4, "sentence2": ["rot", "keine", "blau"] * 4})
    assert any("'none'" in note for note in studio.similarity.compare_file(words).notes)
