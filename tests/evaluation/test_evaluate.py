from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from sbert_studio.data.examples import build_examples
from sbert_studio.data.loading.table import Table, read_table, table_from_columns
from sbert_studio.data.schema.inference import infer_roles
from sbert_studio.errors import StudioError
from sbert_studio.evaluation.comparison import Comparison, EvaluationFile, compare_models, evaluate_model
from sbert_studio.evaluation.encoding import similarities
from sbert_studio.evaluation.evaluate import SCORED_KINDS, choose_task, evaluate, evaluate_examples, main_score, with_reference
from sbert_studio.evaluation.tasks import get_task
from sbert_studio.evaluation.tasks.geometry import alignment, anisotropy, resampled_anisotropy, uniformity
from sbert_studio.evaluation.tasks.sts import evaluate_by_group
from sbert_studio.evaluation.tasks.transfer import evaluate_senteval, evaluate_senteval_split, pair_features
from sbert_studio.models.base import PairScorer

LEFT = ["a red apple fell", "the cat sat down", "we paid the bill", "it rains a lot", "she reads old books", "he drove too fast"]


RIGHT = ["a red apple fell down", "the cat sat", "snow is white", "it rains so hard today", "old dogs sleep", "nobody called back yet"]


OTHER = ["blue whales sing", "taxes went up", "we paid the bill twice", "green tea", "the moon is full", "a quick nap"]


def table(**columns: list[str]) -> Table:
    return table_from_columns("set", columns)


TABLES = {
    "sts": table(sentence1=LEFT, sentence2=RIGHT, score=["4.8", "4.5", "0.2", "3.1", "1.0", "0.0"]),
    "pairs": table(sentence1=LEFT, sentence2=RIGHT, label=["1", "1", "0", "1", "0", "0"]),
    "triplets": table(anchor=LEFT, positive=RIGHT, negative=OTHER),
    "retrieval": table(anchor=LEFT, positive=RIGHT),
    "categories": table(text=[*LEFT, *RIGHT, *OTHER], category=["x", "y"] * 9),
}


@pytest.mark.parametrize("task", list(TABLES))
def test_the_task_is_found_from_the_columns_and_scored(task: str, encoder) -> None:
    assert choose_task(TABLES[task], "auto", None)[0].name == task
    report = evaluate(encoder, TABLES[task])
    assert report.task == task and report.rows == len(TABLES[task])
    name, score = main_score(report)
    assert 0 <= score <= 1 and name
    assert len(encoder.calls) == 1
    assert report.to_json().keys() >= {"task", "rows", *report.scores}


def test_ordered_classes_clusters_and_known_texts_are_judged(encoder) -> None:
    nli = table(premise=LEFT, hypothesis=RIGHT, label=["entailment", "entailment", "contradiction", "neutral", "neutral", "contradiction"])
    report = evaluate(encoder, nli)
    assert report.task == "sts"
    assert report.scores["cosine"]["spearman"] > 0.8
    texts = [f"refund money card {place}" for place in range(8)] + [f"river boat water {place}" for place in range(8)]
    report = evaluate(encoder, table(text=texts, topic=["a"] * 8 + ["b"] * 8), "clustering")
    assert report.task == "clustering" and report.scores["v_measure"] == pytest.approx(1)
    train, test = questions(60), questions(30, 1)
    found = evaluate(encoder, test, "categories", reference=train)
    assert found.scores["known_rows"] == 60 and "compared with the 60 rows of 0.csv" in found.notes
    assert evaluate(encoder, test, "categories").scores["known_rows"] == 0, "beside each other"


def test_bare_sentences_and_single_partners_cannot_judge_a_model(encoder) -> None:
    sentences = table(text=LEFT)
    examples, _ = build_examples(sentences, infer_roles(sentences))
    assert examples.kind not in SCORED_KINDS
    with pytest.raises(StudioError, match="sentences"):
        evaluate_examples(encoder, examples)
    task = get_task("retrieval")
    for rows in (1, 5):
        left = texts(rows)
        with pytest.raises(StudioError, match=r"every row of pairs\.csv has the same second text"):
            task.read(table_from_columns("pairs.csv", {"question": left, "answer": ["w1 w2"] * rows}))
    assert len(task.read(table_from_columns("pairs.csv", {"question": texts(2), "answer": texts(2, 1)})).examples) == 2


def test_rows_left_out_are_named_in_the_notes(encoder) -> None:
    half = table(sentence1=[*LEFT, ""], sentence2=[*RIGHT, "x"], score=["4", "5", "0", "3", "1", "0", "2"])
    report = evaluate(encoder, half)
    assert report.rows == 6 and report.notes
    classed = table(text=[*LEFT, *RIGHT], category=["x", "y"] * 5 + ["x", ""])
    report = evaluate(encoder, classed, "transfer")
    assert report.rows == 11 and "row 13" in report.to_json()["notes"][0]
    account = report.account.to_json()
    assert account == {"read": 12, "used": 11, "held_out": 0, "left_out": 1, "reasons": [{"why": "no text or no class", "rows": [13]}]}
    account = evaluate(encoder, half).account
    assert (account.read, account.used) == (7, 6) and account.reasons[0].rows == (8,)
    assert evaluate(encoder, half).notes == ("1 row with text on one side only, skipped (row 8)",)


@pytest.mark.parametrize(
    ("task", "data", "said"),
    [
        ("nonsense", TABLES["sts"], "no evaluation"),
        ("sts", TABLES["triplets"], "no column of scores"),
        ("triplets", TABLES["retrieval"], "triplets"),
        ("clustering", table(text=LEFT), "classes"),
        ("auto", table(sentence1=LEFT, sentence2=RIGHT, score=["0.5"] * 6), "same score"),
        ("transfer", table(text=LEFT, category=["x"] * 6), "class"),
    ],
)
def test_what_does_not_fit_is_refused_with_a_reason(task: str, data: Table, said: str, encoder) -> None:
    with pytest.raises(StudioError, match=said):
        evaluate(encoder, data, task)
    assert encoder.calls == []


def test_real_sets_are_recognised(real_data: Path) -> None:
    for path, task in (("stsb/dev.csv", "sts"), ("mrpc/test.csv", "pairs"), ("snli/test.csv", "sts"), ("trec/test.csv", "categories")):
        data = read_table(real_data / path)
        assert choose_task(data.select(np.arange(300)), "auto", None)[0].name == task, path


def test_two_labels_without_an_order_are_never_ranked(encoder) -> None:
    from dataclasses import replace

    from sbert_studio.data.examples import build_examples
    from sbert_studio.data.schema.inference import infer_schema
    from sbert_studio.data.schema.roles import SchemaOverrides

    labels = ["agrees", "quotes"] * 12
    data = table(sentence1=[f"{text} {n}" for n, text in enumerate(LEFT * 4)], sentence2=RIGHT * 4, label=labels)
    roles = infer_schema(data, SchemaOverrides(kind="labelled_pairs", target="label", order=())).roles
    assert not roles.ordered
    examples, _ = build_examples(data, roles)
    report = evaluate_examples(encoder, examples)
    assert report.task == "classes" and not any("spearman" in name or "average_precision" in name for name in report.scores)
    assert evaluate(encoder, data, roles=roles).task == "classes"
    for task in ("sts", "pairs"):
        with pytest.raises(StudioError, match="no order"):
            evaluate(encoder, data, task, roles=roles)
    assert evaluate_examples(encoder, replace(examples, ordered=True)).task == "pairs"


WORDS = [f"w{place}" for place in range(30)]


def texts(rows: int, seed: int = 0) -> list[str]:
    rng = np.random.default_rng(seed)
    return [" ".join(rng.choice(WORDS, 5)) for _ in range(rows)]


def questions(rows: int, seed: int = 0) -> Table:
    """Texts whose class is told by a word, mostly."""
    rng = np.random.default_rng(seed + 50)
    classes = [["who", "where", "when"][place] for place in rng.integers(0, 3, rows)]
    cue = [name if rng.random() < 0.7 else "hm" for name in classes]
    return table_from_columns(f"{seed}.csv", {"text": [f"{a} {b}" for a, b in zip(cue, texts(rows, seed), strict=True)], "label": classes})


def paraphrases(rows: int, seed: int = 0) -> Table:
    rng = np.random.default_rng(seed)
    left, other = texts(rows, seed), texts(rows, seed + 1)
    same = rng.random(rows) < 0.6
    right = [" ".join(a.split()[:4] + b.split()[:1]) if s else b for a, b, s in zip(left, other, same, strict=True)]
    return table_from_columns("pairs.csv", {"sentence1": left, "sentence2": right, "label": ["1" if s else "0" for s in same]})


def arguments(rows: int = 60) -> Table:
    left, right = texts(rows), texts(rows, 1)
    scores = [len({*a.split()} & {*b.split()}) for a, b in zip(left, right, strict=True)]
    topics = [("guns", "tax", "war")[row % 3] for row in range(rows)]
    return table_from_columns("afs.csv", {"sentence1": left, "sentence2": right, "score": [str(one) for one in scores], "topic": topics})


def test_texts_are_judged_in_folds_or_by_what_was_learned_elsewhere(encoder) -> None:
    train, test = questions(90), questions(40, 1)
    alone = evaluate(encoder, train, "senteval")
    vectors = encoder.encode(train.column("text"))
    assert (alone.task, alone.rows, main_score(alone)[0]) == ("senteval", 90, "accuracy")
    assert alone.scores["accuracy"] == evaluate_senteval(vectors, train.column("label")).scores["accuracy"] and alone.scores["folds"] == 10
    taught = evaluate(encoder, test, "senteval", reference=train)
    wanted = evaluate_senteval_split((vectors, train.column("label")), (encoder.encode(test.column("text")), test.column("label")))
    assert taught.scores == wanted.scores and (taught.rows, taught.scores["train_rows"]) == (40, 90)
    assert "trained on the 90 rows of 0.csv" in taught.notes
    train, dev, test = questions(60), questions(30, 2), questions(30, 1)
    found = evaluate(encoder, test, "senteval", reference=train, dev=dev)
    columns = [(encoder.encode(one.column("text")), one.column("label")) for one in (train, test, dev)]
    wanted = evaluate_senteval_split(*columns)
    assert found.scores == wanted.scores
    test = questions(30, 1)
    renamed = table_from_columns("train.csv", {"question": questions(60).column("text"), "category": questions(60).column("label")})
    task = get_task("senteval")
    rows = with_reference(task.read(test), task, renamed)
    assert rows.reference is not None and len(rows.reference) == 60 and rows.reference.texts[0][0] == renamed.column("question")[0]


def test_pairs_are_judged_by_what_parts_and_what_joins_them(encoder) -> None:
    train, test = paraphrases(80), paraphrases(40, 7)
    found = evaluate(encoder, test, "senteval", reference=train)
    parts = []
    for one in (train, test):
        parts.append((pair_features(*(encoder.encode(one.column(name)) for name in ("sentence1", "sentence2"))), one.column("label")))
    assert found.scores == evaluate_senteval_split(*parts, positive="1").scores
    assert found.scores["accuracy"] > 0.8 and found.scores["f1"] > 0.8
    assert evaluate(encoder, test, "senteval").scores["folds"] == 10


def test_what_cannot_teach_is_refused(encoder) -> None:
    with pytest.raises(StudioError, match="single texts cannot be used to evaluate pairs"):
        evaluate(encoder, paraphrases(20), "senteval", reference=questions(20))
    strange = table_from_columns("s.csv", {"text": texts(8), "label": ["a", "b"] * 4})
    with pytest.raises(StudioError, match="none of the classes a, b"):
        evaluate(encoder, strange, "senteval", reference=questions(20))
    with pytest.raises(StudioError, match="sts evaluates a file on its own") as error:
        evaluate(encoder, arguments(), "sts", reference=questions(20))
    assert "categories, senteval" in str(error.value.hint)


class Overlap(PairScorer):
    """The number of words that two texts share."""

    labels = 1
    class_names: tuple[str, ...] = ()
    fingerprint = "0" * 16
    candidates = None

    def __init__(self) -> None:
        pass

    def predict(self, pairs: Sequence[tuple[str, str]], **_: object) -> np.ndarray:
        return np.array([len({*a.split()} & {*b.split()}) for a, b in pairs], np.float32)


def test_topics_are_judged_each_by_itself(encoder) -> None:
    from sbert_studio.data.schema.roles import Roles

    table = arguments()
    roles = Roles("scored_pairs", ("sentence1", "sentence2"), "score", 0.0, 5.0, group="topic")
    found = evaluate(encoder, table, "topics", roles=roles)
    gold = np.array([float(one) for one in table.column("score")])
    vectors = [encoder.encode(table.column(name)) for name in roles.texts]
    wanted = evaluate_by_group(similarities(*vectors)["cosine"], gold, table.column("topic")).scores
    assert found.task == "topics" and set(found.scores["groups"]) == {"guns", "tax", "war"}
    assert main_score(found) == ("mean_spearman", pytest.approx(wanted["mean"]["spearman"], abs=1e-6))
    scored = evaluate(Overlap(), table, "topics", roles=roles)  # type: ignore[arg-type]
    assert main_score(scored)[1] == pytest.approx(1)
    with pytest.raises(StudioError, match="no column contains the topics"):
        evaluate(encoder, table.without_column("topic"), "topics")


def test_geometry_is_that_of_distinct_texts_and_of_pairs_that_are_alike(encoder) -> None:
    table = arguments(40)
    left, right = table.column("sentence1"), table.column("sentence2")
    left[1] = left[0]
    table = table.with_column("sentence1", left).with_column("score", ["5", "4", "3.9"] + ["0"] * 37)
    found = evaluate(encoder, table, "geometry")
    distinct = encoder.encode(list(dict.fromkeys([*left, *right])))
    assert (found.task, found.rows, main_score(found)[0]) == ("geometry", 40, "anisotropy") and found.scores["texts"] == len(distinct) < 80
    assert found.scores["anisotropy"] == pytest.approx(anisotropy(distinct).value, abs=1e-6)
    assert found.scores["uniformity"] == pytest.approx(uniformity(distinct).value, abs=1e-6)
    assert found.scores["alignment"] == pytest.approx(alignment(encoder.encode(left[:2]), encoder.encode(right[:2])).value, abs=1e-6)
    assert found.scores["positive_pairs"] == 2
    low, high = found.scores["interval"]
    assert low < high


@pytest.mark.parametrize(
    ("columns", "pairs"),
    [
        ({"text": texts(9)}, 0),
        ({"anchor": texts(9), "positive": texts(9, 1)}, 9),
        ({"anchor": texts(9), "positive": texts(9, 1), "negative": texts(9, 2)}, 9),
        ({"sentence1": texts(9), "sentence2": texts(9, 1), "label": ["1", "0", "0"] * 3}, 3),
        ({"text": texts(9), "label": ["a", "b", "c"] * 3}, 0),
    ],
)
def test_geometry_takes_any_rows(encoder, columns: dict[str, list[str]], pairs: int) -> None:
    found = evaluate(encoder, table_from_columns("t", columns), "geometry").scores
    assert found["positive_pairs"] == pairs and ("alignment" in found) == bool(pairs)


def test_resampled_anisotropy_is_that_of_the_rows_drawn() -> None:
    from sbert_studio.evaluation.bootstrap import resample_weights

    vectors = np.random.default_rng(0).normal(size=(12, 4)) + 0.5
    unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    for drawn, value in zip(next(resample_weights(12))[:5], resampled_anisotropy(vectors), strict=False):
        rows = np.repeat(np.arange(12), drawn.astype(int))
        pairs = [float(unit[a] @ unit[b]) for a in rows for b in rows if a != b]
        assert value == pytest.approx(np.mean(pairs), abs=1e-6)


def test_of_geometry_the_smaller_number_is_the_better_one(encoder) -> None:
    class Narrow(type(encoder)):  # type: ignore[misc]
        """All vectors point one way, nearly."""

        def encode(self, given: Sequence[str], **more: object) -> np.ndarray:
            return np.asarray(super().encode(given, **more) + 5)

    task = get_task("geometry")
    files = [EvaluationFile("t", task.read(table_from_columns("t", {"text": texts(60)})), task)]
    models = [evaluate_model("wide", encoder, files), evaluate_model("narrow", Narrow(), files)]
    (comparison,) = compare_models(files, [], [], models)
    assert comparison.scores[0] < comparison.scores[1] and comparison.better == "wide"
    other = Comparison("t", "file", "sts", "x", ("wide", "narrow"), (0.1, 0.2), (0.05, 0.15), 0.0)
    assert other.better == "narrow"


@pytest.mark.filterwarnings("error")
def test_of_two_texts_no_interval_is_told_and_nothing_is_warned_of() -> None:
    assert np.isnan(resampled_anisotropy(np.array([[0.3, 0.1, 0.7], [0.2, 0.9, -0.4]], np.float32))).all()
