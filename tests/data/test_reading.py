"""Tables are read by their names, their values and the untuned model; what these leave open is asked, and nothing is misread in silence."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from sbert_studio.data.choices.column_choices import ColumnChoices, parse_order, read_roles
from sbert_studio.data.columns.detection import Reading
from sbert_studio.data.columns.roles import Roles
from sbert_studio.data.doctor.diagnosis import diagnose
from sbert_studio.data.evidence.similarity import Similar, SimilarBy
from sbert_studio.data.examples import build_examples
from sbert_studio.data.questions import Option
from sbert_studio.data.splits.held_out import build_like
from sbert_studio.data.tables import Table, table_from_columns
from sbert_studio.errors import StudioError
from sbert_studio.models.catalog import Catalog
from sbert_studio.workspace import Workspace

SAMPLES = Path(__file__).resolve().parents[2] / "assets" / "samples"
TEXTS = ("sentence1", "sentence2")


@pytest.fixture(scope="session")
def similar(tmp_path_factory: pytest.TempPathFactory) -> Similar:
    """The bundled model's cosines, each text encoded once for all tests."""
    encoder = Catalog(Workspace(tmp_path_factory.mktemp("home")), device="cpu").load("all-MiniLM-L6-v2")
    return SimilarBy(encoder.encode)


def sample(name: str) -> dict[str, list[str]]:
    """Every second row of a set that comes along: enough to be read with certainty, and half to encode."""
    with (SAMPLES / name).open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))[::2]
    return {column: [row[column] for row in rows] for column in rows[0]}


def pairs(most: float = 1.5, least: float = 4.0) -> tuple[list[str], list[str], list[float]]:
    """Own-written pairs that are clearly alike or clearly not."""
    found = sample("scored_pairs.csv")
    rows = list(zip(found["sentence1"], found["sentence2"], map(float, found["score"]), strict=True))
    kept = [row for row in rows if row[2] <= most or row[2] >= least]
    return [row[0] for row in kept], [row[1] for row in kept], [row[2] for row in kept]


def two_words(no: str, yes: str, column: str = "label") -> Table:
    a, b, scores = pairs()
    return table_from_columns("t.csv", {"sentence1": a, "sentence2": b, column: [yes if score > 3 else no for score in scores]})


def scored(column: str, write: object = None, **more: Sequence[str]) -> Table:
    found = sample("scored_pairs.csv")
    cells = [write(float(score)) if callable(write) else score for score in found["score"]]
    return table_from_columns("t.csv", {**{name: found[name] for name in TEXTS}, column: cells, **more})


def answered(option: Option) -> ColumnChoices:
    return ColumnChoices(**{name: tuple(value) if isinstance(value, list) else value for name, value in option.choice.items()})


def kinds_of_questions(reading: Reading) -> list[str]:
    return [question.name for question in reading.questions]


@pytest.mark.parametrize(
    ("no", "yes"),
    [
        ("not_equivalent", "equivalent"),
        ("mismatch", "match"),
        ("no match", "match"),
        ("unique", "duplicate"),
        ("incorrect", "correct"),
        ("unrelated", "identical"),
        ("non-entailment", "entailment"),
        ("nein", "ja"),
        ("ungleich", "gleich"),
        ("pas équivalent", "équivalent"),
        ("distinto", "equivalente"),
        ("неэквивалентно", "эквивалентно"),
        ("不等价", "等价"),
        ("別物", "同義"),
        ("different", "not different"),
        ("wug", "blick"),
        ("blick", "wug"),
        ("✗", "✓"),
    ],
)
def test_two_words_in_any_language_stand_in_the_right_order_or_are_asked_for(similar: Similar, no: str, yes: str) -> None:
    table = two_words(no, yes)
    reading = read_roles(table, similar=similar)
    assert (reading.roles.kind, reading.roles.labels, reading.roles.ordered) == ("labelled_pairs", (no, yes), True)
    blind = read_roles(table)
    assert blind.roles.labels == (no, yes) or kinds_of_questions(blind) == ["order"], "without a model it is known or asked"


def test_known_words_against_the_model_are_asked_and_each_answer_is_taken(similar: Similar) -> None:
    table = two_words("yes", "no")  # turned round
    reading = read_roles(table, similar=similar)
    assert not reading.certain
    (question,) = reading.questions
    assert [option.answer for option in question.options] == ["yes", "the other way round", "they have no order"]
    assert {shown.read_as for shown in question.rows} == {"most alike", "least alike"}
    assert all(shown.value and len(shown.texts) == 2 for shown in question.rows)
    found = [read_roles(table, answered(option), similar=similar) for option in question.options]
    assert [(one.roles.labels, one.roles.ordered, one.certain) for one in found] == [
        (("no", "yes"), True, True),
        (("yes", "no"), True, True),
        (("no", "yes"), False, True),
    ]
    assert question.options[1].flag == "--order yes,no"
    assert read_roles(table, ColumnChoices(as_read=True), similar=similar).certain


@pytest.mark.slow
def test_ordered_classes_are_ordered_by_words_and_model(similar: Similar) -> None:
    for names in (("low", "medium", "high"), ("niedrig", "mittel", "hoch"), ("rot", "gelb", "grün"), ("低", "中", "高")):
        table = scored("label", lambda score, names=names: names[int(min(score, 4.9) * 3 / 5)])
        reading = read_roles(table, similar=similar)
        assert (reading.roles.labels, reading.certain) == (names, True), names
    unknown = read_roles(scored("label", lambda score: ("tav", "rek", "sof")[int(min(score, 4.9) * 3 / 5)]), similar=similar)
    assert unknown.roles.labels == ("tav", "rek", "sof")
    assert kinds_of_questions(unknown) == ["order"], "three unknown classes may be those of inference"


@pytest.mark.slow
def test_inference_labels_are_believed_in_any_language_and_numbers_are_not(similar: Similar) -> None:
    found = sample("nli_pairs.csv")
    for names in (("contradiction", "neutral", "entailment"), ("Widerspruch", "neutral", "Folgerung"), ("矛盾", "中立", "蕴含")):
        cells = [names[("contradiction", "neutral", "entailment").index(label)] for label in found["label"]]
        reading = read_roles(table_from_columns("t.csv", {**found, "label": cells}), similar=similar)
        assert (reading.roles.labels, reading.certain) == (names, True)


def test_relations_have_no_order(similar: Similar) -> None:
    names = ["cause", "part-of", "is-a", "example"]
    cells = [names[at % 4] for at in range(len(sample("scored_pairs.csv")["score"]))]
    reading = read_roles(table_from_columns("t.csv", {**sample("scored_pairs.csv"), "relation": cells}), ColumnChoices(target="relation"))
    assert (reading.roles.kind, reading.roles.ordered, reading.certain) == ("labelled_pairs", False, True)


ROWS = len(sample("scored_pairs.csv")["score"])
BESIDE = {
    "date": [f"2023-{1 + at % 12:02d}-{1 + at % 28:02d}" for at in range(ROWS)],
    "comment": [["", "checked", "ask the team about this one"][at % 3] for at in range(ROWS)],
    "annotator": [["Anna", "Tom", "Mia"][at % 3] for at in range(ROWS)],
    "sim_std": [f"{at * 37 % 100 / 80:.2f}" for at in range(ROWS)],
    "year": [str(1998 + at * 7 % 27) for at in range(ROWS)],
    "user_id": [str(1254 + at * 7919 % 97601) for at in range(ROWS)],
    "split": [["train", "dev"][at % 2] for at in range(ROWS)],
}


@pytest.mark.parametrize(
    "column", ["human_score", "sim_mean", "Bewertung", "puntuación", "оценка", "类似得分", "How similar are they?", "dolor"]
)
def test_a_score_is_found_under_any_name_beside_other_columns(similar: Similar, column: str) -> None:
    reading = read_roles(scored(column, **BESIDE), similar=similar)
    assert (reading.roles.kind, reading.roles.texts, reading.roles.target, reading.certain) == ("scored_pairs", TEXTS, column, True)
    assert "not learned from" in " ".join(reading.why), "what is left aside is said"


@pytest.mark.parametrize("column", ["date", "comment", "annotator", "year", "user_id", "split"])
def test_what_stands_beside_question_and_answer_is_no_target(similar: Similar, column: str) -> None:
    a, b, scores = pairs(most=-1, least=3.0)
    table = table_from_columns("t.csv", {"question": a, "answer": b, column: BESIDE[column][: len(scores)]})
    reading = read_roles(table, similar=similar)
    assert (reading.roles.kind, reading.roles.texts, reading.certain) == ("positive_pairs", ("question", "answer"), True)


def test_reversed_scores_are_asked_for_and_distances_are_read(similar: Similar) -> None:
    reading = read_roles(scored("score", lambda score: f"{5 - score:g}"), similar=similar)
    (question,) = reading.questions
    assert (question.name, question.options[1].flag) == ("scale", "--scale 5-0")
    table = scored("distance", lambda score: f"{5 - score:g}")
    distance = read_roles(table, similar=similar)
    assert (distance.roles.low, distance.roles.high, distance.certain) == (5.0, 0.0, True)
    examples, _ = build_examples(table, distance.roles)
    truth = np.array([float(score) for score in sample("scored_pairs.csv")["score"]]) / 5
    assert examples.targets == pytest.approx(truth, abs=1e-6)


@pytest.mark.slow
def test_texts_with_a_category(similar: Similar) -> None:
    found = {column: cells[:240] for column, cells in sample("support_requests.csv").items()}
    table = table_from_columns("t.csv", {"text": found["text"], "topic": found["topic"]})
    reading = read_roles(table, similar=similar)
    assert (reading.roles.kind, reading.roles.texts, reading.roles.target, reading.certain) == ("labelled_texts", ("text",), "topic", True)
    blind = read_roles(table)
    assert (blind.roles.kind, kinds_of_questions(blind)) == ("labelled_texts", ["kind"])
    assert blind.questions[0].text.endswith("should texts of one category lie together?")
    assert read_roles(table, answered(blind.questions[0].options[1])).roles.kind == "sentences"
    aside = {name: BESIDE[name][:200] for name in ("date", "annotator")}
    alone = read_roles(table_from_columns("t.csv", {"text": found["text"][:200], **aside}), similar=similar)
    assert (alone.roles.kind, alone.certain) == ("sentences", True)


def test_swapped_triplets_are_asked_for(similar: Similar) -> None:
    a, b, _ = pairs(most=-1, least=4.0)
    table = table_from_columns("t.csv", {"anchor": a, "negative": b, "positive": b[5:] + b[:5]})
    (question,) = read_roles(table, similar=similar).questions
    assert question.options[1].choice == {"columns": ["anchor", "negative", "positive"]}


def test_a_held_out_file_follows_the_order_and_the_scale() -> None:
    roles = read_roles(two_words("wug", "blick"), ColumnChoices(order=("wug", "blick"))).roles
    a, b, scores = pairs()
    other = table_from_columns("dev.csv", {"text_a": a, "text_b": b, "verdict": ["1" if score > 3 else "0" for score in scores]})
    examples, _ = build_like(other, roles)
    assert examples.targets is not None
    assert examples.targets.tolist() == [int(score > 3) for score in scores]
    turned = read_roles(scored("distance"), ColumnChoices(scale=(5.0, 0.0))).roles
    named = table_from_columns("dev.csv", {"text_a": a, "text_b": b, "score": [f"{score:g}" for score in scores]})
    assert build_like(named, turned)[0].targets == pytest.approx(1 - np.array(scores) / 5, abs=1e-6)


def test_an_order_must_name_every_label_once() -> None:
    with pytest.raises(StudioError, match="does not name each label"):
        read_roles(two_words("wug", "blick"), ColumnChoices(order=("wug", "other")))
    with pytest.raises(StudioError, match="have no order of labels"):
        read_roles(scored("score"), ColumnChoices(order=("a", "b")))
    assert parse_order("none") == parse_order("") == ()
    assert parse_order('no, "yes, surely"') == ("no", "yes, surely")
    with pytest.raises(StudioError, match="no order"):
        parse_order("yes")


def test_noise_of_32_bits_does_not_stretch_the_scale() -> None:
    table = scored("score", lambda score: f"{score / 5 * 1.0000001192:.10f}")
    diagnosis = diagnose(table)
    assert (diagnosis.roles.low, diagnosis.roles.high, len(diagnosis.examples)) == (0.0, 1.0, ROWS)
    assert diagnosis.examples.targets is not None and diagnosis.examples.targets.max() == 1.0
    assert any("put back on it" in finding.message for finding in diagnosis.findings)


def test_a_diagnosis_says_whether_it_is_certain_and_usable() -> None:
    blind = diagnose(two_words("wug", "blick"))
    told = blind.to_json()
    assert (told["certain"], [question["name"] for question in told["questions"]]) == (False, ["order"])
    assert diagnose(two_words("wug", "blick"), ColumnChoices(as_read=True)).certain
    short = diagnose(table_from_columns("t.csv", {"sentence1": ["a man sings"], "sentence2": ["someone sings"], "score": ["5"]}))
    assert not short.usable and short.to_json()["usable"] is False


def test_nothing_is_offered_that_would_make_a_guess_come_true(similar: Similar) -> None:
    table = scored("note", lambda score: f"{5 - score:g}")
    found = diagnose(table, similar=similar)
    assert found.questions and not found.offers
    assert all(finding.mend is None for finding in found.findings if "unlike itself" in finding.message)
    turned = diagnose(table, ColumnChoices(scale=(5.0, 0.0)), similar=similar)
    assert not turned.questions
    assert turned.offers


def held_out(no: str, yes: str, *names: str) -> Table:
    a, b, scores = pairs()
    cells = [yes if score > 3 else no for score in scores]
    return table_from_columns("dev.csv", dict(zip(names, (a, b, cells), strict=True)))


@pytest.mark.parametrize("names", [("x", "y", "etikett"), (*TEXTS, "label")])
def test_labels_of_a_held_out_file_are_never_put_in_the_order_of_the_alphabet(similar: Similar, names: tuple[str, ...]) -> None:
    dev, table = held_out("glorp", "blarg", *names), two_words("no", "yes")
    found = diagnose(table, dev=dev)
    assert found.held_out is None
    assert all(words in found.errors[0].message for words in ("blarg, glorp", "are no, yes", "rename them", "leave the file out"))
    known = diagnose(table, dev=dev, similar=similar)
    assert any("labels glorp, blarg are taken for no, yes: " in one.message for one in known.findings)
    judged = known.held_out
    assert judged is not None
    assert judged.targets is not None
    assert judged.targets.tolist() == [int(score > 3) for score in pairs()[2]]


@pytest.mark.parametrize("names", [("x", "y", "verdict"), (*TEXTS, "label")])
def test_known_words_of_a_held_out_file_are_laid_upon_the_labels(names: tuple[str, ...]) -> None:
    dev = held_out("0", "1", *names)
    examples, _ = build_like(dev, read_roles(two_words("wug", "blick"), ColumnChoices(order=("wug", "blick"))).roles)
    assert examples.targets is not None
    assert examples.targets.tolist() == [int(score > 3) for score in pairs()[2]]


def test_categories_of_a_held_out_file_that_are_called_otherwise_are_refused() -> None:
    roles = Roles("labelled_texts", ("text",), "topic", labels=("art", "sport"), ordered=False)
    dev = table_from_columns("dev.csv", {"text": [f"a text of number {row}" for row in range(40)], "topic": ["wug", "blick"] * 20})
    with pytest.raises(StudioError, match="nothing tells which is which"):
        build_like(dev, roles)


@pytest.mark.parametrize("column", ["score", "wert"])
def test_scores_of_a_held_out_file_that_run_the_other_way_round_are_refused(similar: Similar, column: str) -> None:
    dev = scored(column, lambda score: f"{5 - score:g}")
    found = diagnose(scored("score"), dev=dev, similar=similar)
    assert found.held_out is None
    assert "held-out file cannot be used" in found.errors[0].message
    assert diagnose(scored("score"), dev=scored(column), similar=similar).held_out is not None


def test_a_held_out_file_on_another_scale_loses_no_row_and_says_so() -> None:
    found = diagnose(scored("score"), dev=scored("score", lambda score: f"{20 * score:g}"))
    assert found.held_out is not None
    assert len(found.held_out) == len(found.examples)
    assert found.held_out.targets == pytest.approx(found.examples.targets, abs=1e-6)
    assert any("of another scale than the training file's 0–5" in one.message for one in found.findings)


def test_a_held_out_file_of_two_scales_is_refused_with_its_rows() -> None:
    a, b, scores = pairs()
    cells = [f"{score * (20 if place % 3 == 0 else 1):g}" for place, score in enumerate(scores)]
    dev = table_from_columns("dev.csv", {"sentence1": a, "sentence2": b, "score": cells})
    with pytest.raises(StudioError, match="off the training file's scale 0–5") as caught:
        build_like(dev, Roles("scored_pairs", TEXTS, "score", 0.0, 5.0))
    assert caught.value.rows == tuple(place + 2 for place, cell in enumerate(cells) if float(cell) > 5)
    assert "leave the file out" in caught.value.hint
