"""What is done to a map, step by step, and undone."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from sbert_studio.errors import StudioError
from sbert_studio.explore.map_edits import (
    AssignEdit,
    EditHistory,
    LabelEdit,
    MergeEdit,
    NameEdit,
    RemoveEdit,
    RenameEdit,
    SplitEdit,
    edits_from_json,
    edits_to_json,
)

IDS = np.array([0, 0, 0, 1, 1, -1])


def begun() -> EditHistory:
    return EditHistory.create(IDS, {0: "cards", 1: "bread"})


def test_each_step_makes_a_new_whole_and_undo_leads_back() -> None:
    start = begun()
    steps = [
        LabelEdit((0, 3), "urgent"),
        RenameEdit(0, "bank cards"),
        RemoveEdit((1,)),
        MergeEdit((0, 1)),
        LabelEdit((3,), "later"),
    ]
    seen = [start]
    for step in steps:
        seen.append(seen[-1].then(step))
    assert start.now.labels == ("",) * 6 and not start.now.removed.any() and start.now.names[0] == "cards"
    assert seen[-1].now.labels == ("urgent", "", "", "later", "", "")
    assert seen[-1].now.clusters() == [(0, "bank cards", 4), (-1, "outliers", 1)]
    back = seen[-1]
    for before in reversed(seen[:-1]):
        back = back.undo()
        assert back.now.labels == before.now.labels and back.now.clusters() == before.now.clusters()
        assert np.array_equal(back.now.removed, before.now.removed)
    with pytest.raises(StudioError, match="nothing to undo"):
        back.undo()


def test_labels_tell_the_rows_that_are_left_and_clusters_are_split() -> None:
    edits = begun().then(LabelEdit((4, 0, 2), "  a   name ")).then(LabelEdit((5,), "b")).then(RemoveEdit((0,)))
    assert [(label, rows.tolist()) for label, rows in edits.now.labelled()] == [("a name", [2, 4]), ("b", [5])]
    edits = begun().then(SplitEdit(0, ((0, 2), (1,)), ("bread", "cards")))
    assert edits.now.clusters() == [(0, "bread (2)", 2), (1, "bread", 2), (2, "cards", 1), (-1, "outliers", 1)]
    assert edits.now.ids.tolist() == [0, 2, 0, 1, 1, -1]
    assert IDS.tolist() == [0, 0, 0, 1, 1, -1]


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: LabelEdit((), "x"), "no text was selected"),
        (lambda: LabelEdit((0,), " \n "), "a name must have"),
        (lambda: LabelEdit((0,), "x" * 81), "a name must have"),
        (lambda: RemoveEdit((0, 1, 2, 3, 4, 5)), "no texts would be left"),
        (lambda: RenameEdit(7, "x"), "no longer exists"),
        (lambda: RenameEdit(-1, "x"), "no longer exists"),
        (lambda: RenameEdit(0, "bread"), "another topic is called"),
        (lambda: MergeEdit((0, 0)), "only one topic"),
        (lambda: MergeEdit((0, 9)), "no longer exists"),
        (lambda: SplitEdit(0, ((0,), (1,)), ("a", "b")), "not the parts"),
        (lambda: SplitEdit(0, ((0, 1), (1, 2)), ("a", "b")), "not the parts"),
        (lambda: SplitEdit(0, ((0, 1, 2), ()), ("a", "b")), "not the parts"),
    ],
)
def test_a_step_that_makes_no_sense_is_refused_in_words(make, words: str) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(StudioError, match=words):
        begun().then(make())


def test_edits_are_written_as_json_and_read_back() -> None:
    steps = (LabelEdit((0, 1), "a"), RenameEdit(0, "b"), MergeEdit((0, 1)), SplitEdit(0, ((0,), (1, 2)), ("x", "y")), RemoveEdit((5,)))
    values = edits_to_json(steps)
    assert json.loads(json.dumps(values)) == values and edits_from_json(values, 6) == steps
    assert values[3] == {"do": "split", "cluster": 0, "parts": [[0], [1, 2]], "names": ["x", "y"]}
    assert EditHistory.create(IDS, {0: "a", 1: "b"}, ["x", *[""] * 5]).then(steps[0]).undo().now.labels[0] == "x"


@pytest.mark.parametrize(
    "bad",
    [
        {},
        ["x"],
        [{"do": "jump"}],
        [{"do": "label", "rows": [6], "name": "a"}],
        [{"do": "label", "rows": [True], "name": "a"}],
        [{"do": "label", "rows": [0], "name": 3}],
        [{"do": "rename", "cluster": None, "name": "a"}],
        [{"do": "split", "cluster": 0, "parts": [[0], [1]], "names": ["a"]}],
        [{"do": "name", "clusters": [0], "names": "a", "broad": [], "broad_names": []}],
    ],
)
def test_values_that_are_no_edits_are_refused(bad: Any) -> None:
    with pytest.raises(StudioError, match="not a list of map edits"):
        edits_from_json(bad, 6)


def test_names_hold_no_control_characters_and_something_to_be_seen() -> None:
    unseen = "\0\x01\x1b\x7f\x9f\u202a\u202e\u2066\u2069\ud800"
    assert LabelEdit((0,), f"ur{unseen}gent \u202e\tcard\0").name == "urgent card"
    assert RenameEdit(0, f"{unseen} bank cards").name == "bank cards"
    assert LabelEdit((0,), "\u0646\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645").name.count("\u200c") == 1, "Persian is written with it"
    for nothing in (unseen, "\u200b", " \u2067 ", ""):
        with pytest.raises(StudioError, match="visible characters"):
            RenameEdit(0, nothing)


def test_outliers_are_assigned_and_clusters_named_and_undo_takes_both_back() -> None:
    edits = begun().then(AssignEdit((5,), (1,)))
    assert edits.now.clusters() == [(0, "cards", 3), (1, "bread", 3)] and "1 text" in edits.steps[0].describe()
    assert edits.undo().now.clusters() == begun().now.clusters()
    again = edits_from_json(json.loads(json.dumps(edits_to_json(edits.steps))), len(IDS))
    assert again == edits.steps
    for rows, clusters in (((), ()), ((5,), ()), ((5,), (7,)), ((5,), (-1,)), ((0,), (1,))):
        with pytest.raises(StudioError):
            begun().then(AssignEdit(rows, clusters))
    step = NameEdit((0, 1), ("things", " things "), (2,), ("everything",))
    edits = begun().then(step)
    assert edits.now.clusters()[:2] == [(0, "things", 3), (1, "things (2)", 2)] and edits.now.broad_names == {2: "everything"}
    assert "2 topics" in step.describe() and edits.undo().now.clusters() == begun().now.clusters() and not edits.undo().now.broad_names
    assert edits_from_json(json.loads(json.dumps(edits_to_json((step,)))), len(IDS)) == (step,)
    kept = begun().then(RenameEdit(1, "things")).then(NameEdit((0,), ("things",)))
    assert kept.now.names[1] == "things" and kept.now.names[0] == "things (2)", "a cluster that is not named keeps its name"
    for bad in (((), ()), ((0,), ()), ((0,), ("a",), (2,)), ((0,), ("\x07",)), ((7,), ("a",))):
        with pytest.raises(StudioError):
            begun().then(NameEdit(*bad))
