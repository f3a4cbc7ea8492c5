"""An alarm's answers, as the columns of the table spell them out."""

from __future__ import annotations

from sbert_studio.data.schema.roles import Roles, parse_columns, parse_scale
from sbert_studio.runs.execution import add_alarm_options

ASKED = {
    "name": "alarm",
    "options": [
        {"answer": "swapped", "flag": "", "choice": {}},
        {"answer": "go on", "flag": "--set accept_alarm=below_chance", "choice": {"accept_alarm": "below_chance"}},
    ],
}


def test_scores_are_turned_by_their_scale() -> None:
    found = add_alarm_options(ASKED, Roles("scored_pairs", ("a", "b"), "distance", low=0.0, high=5.0))
    first = found["options"][0]
    assert (first["flag"], first["choice"]) == ("--scale 5-0", {"scale": [5.0, 0.0]})
    assert parse_scale("5-0") == (5.0, 0.0)
    assert found["options"][1:] == ASKED["options"]


def test_triplets_are_turned_by_their_columns() -> None:
    found = add_alarm_options(ASKED, Roles("triplets", ("a", "far one", "near")))
    first = found["options"][0]
    assert first["choice"] == {"columns": ["a", "near", "far one"]}
    assert first["flag"] == "--columns 'a,near,far one'"
    assert parse_columns("a,near,far one") == ("a", "near", "far one")
    assert len(found["options"]) == 2


def test_no_other_question_is_changed() -> None:
    roles = Roles("scored_pairs", ("a", "b"), "score", low=0.0, high=5.0)
    assert add_alarm_options({}, roles) == {}
    forgets = {"options": [{"answer": "go on", "flag": "", "choice": {"accept_alarm": "general"}}]}
    assert add_alarm_options(forgets, roles) == forgets


def test_labels_are_turned_only_where_they_are_those_of_the_training_file() -> None:
    turn = {"answer": "turn", "flag": "--order blarg,glorp", "choice": {"order": ["blarg", "glorp"]}}
    asked = {**ASKED, "question": "Are the targets in the right direction?", "why": "", "options": [turn, *ASKED["options"]]}
    own = add_alarm_options(asked, Roles("labelled_pairs", ("a", "b"), "label", labels=("glorp", "blarg")))
    assert own["options"] == asked["options"]
    other = add_alarm_options(asked, Roles("labelled_pairs", ("a", "b"), "label", labels=("no", "yes")))
    assert other["options"] == ASKED["options"]


def test_rows_of_the_held_out_file_are_said_to_be_those() -> None:
    roles = Roles("labelled_pairs", ("a", "b"), "label", labels=("no", "yes"))
    asked = {**ASKED, "question": "Are the targets in the right direction?"}
    assert add_alarm_options(asked, roles)["question"] == asked["question"]
    assert add_alarm_options(asked, roles, is_dev_file=True)["question"] == f"In the held-out file: {asked['question']}"
    assert add_alarm_options({}, roles, is_dev_file=True) == {}
