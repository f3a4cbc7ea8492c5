"""The helpers of the benchmark's rows of triplets, folds and ranking times, on tiny inputs."""

from __future__ import annotations

import csv
import time
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from reproduction import ROWS, datasets, report
from reproduction.datasets import DERIVED_FILES, prepare
from reproduction.report import render
from reproduction.results import Results
from reproduction.rows import FOLDS, Row, Sets
from reproduction.runner import Places, evaluate_model, fold_scores, run_once, run_rows
from reproduction.speeds import compare_times, measure_ranking_times, scorer
from tiny_studio import WORDS

ROOT = Path(__file__).parents[2]


def write(path: Path, names: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([names, *rows])


def texts_of(path: Path) -> list[list[str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.reader(file))[1:]


@pytest.fixture
def places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Places:
    monkeypatch.setenv("SBERT_STUDIO_HOME", str(tmp_path / "home"))
    (tmp_path / "work").mkdir()
    return Places(tmp_path / "sets", tmp_path / "work")


@pytest.fixture
def nli(places: Places) -> Places:
    names = ("premise", "hypothesis", "label")
    train = [("p1", "e1", "entailment"), ("p1", "c1", "contradiction"), ("p1", "n1", "neutral"), ("p1", "e2", "entailment")]
    train += [("p2", "e3", "entailment"), ("t1", "leak", "entailment"), ("t1", "leak too", "contradiction")]
    test = [
        (f"t{place}", f"{kind} {place}", label) for place in range(30) for kind, label in (("yes", "entailment"), ("no", "contradiction"))
    ]
    write(places.data / "snli/train.csv", names, train)
    write(places.data / "snli/test.csv", names, test)
    sick = [("a", "b", 4, "entailment"), ("d", "a", 3, "contradiction")]
    write(places.data / "sick/train.csv", ("sentence1", "sentence2", "score", "label"), sick)
    return places


def test_triplets_and_candidates_hold_no_premise_or_text_that_is_judged(nli: Places) -> None:
    prepare(["nli-triplets.csv", "nli-pairs.csv", "nli-triplets-test.csv"], nli.data, nli.work)
    triplets = texts_of(nli.work / "nli-triplets.csv")
    assert triplets == [["p1", "e1", "c1"], ["p1", "e2", "c1"], ["a", "b", "d"]], "SICK's contradiction (d, a) holds of (a, d)"
    pairs = {tuple(row) for row in texts_of(nli.work / "nli-pairs.csv")}
    assert {(a, p, "1") for a, p, _ in triplets} | {(a, n, "0") for a, _, n in triplets} <= pairs
    assert not {(a, p, "0") for a, p, _ in triplets} & pairs
    assert len(texts_of(nli.work / "nli-triplets-test.csv")) == 30
    prepare(["nli-candidates.csv"], nli.data, nli.work)
    rows = texts_of(nli.work / "nli-candidates.csv")
    assert len(rows) == 30
    for premise, right, contradiction, *others in rows:
        number = premise[1:]
        assert (right, contradiction) == (f"yes {number}", f"no {number}")
        assert len(others) == datasets.CANDIDATES - 2 == len(set(others))
        assert not [text for text in others if text.endswith(f" {number}")]


def test_triplets_of_classes_are_of_the_same_class_and_of_another(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [{"text": f"{label}{place}", "label": label} for label in "abc" for place in range(40)] + [{"text": "d0", "label": "d"}]
    triplets = datasets.class_triplets(rows, "label", 1_000)
    assert len(triplets) == len({anchor for anchor, _, _ in triplets}) == 120, "the only text of its class has no positive"
    assert all(anchor[0] == positive[0] != negative[0] and anchor != positive for anchor, positive, negative in triplets)
    assert len({positive for _, positive, _ in triplets}) > 60
    following = sum(negative == anchor for (_, _, negative), (anchor, _, _) in pairwise(triplets))
    assert following < 10, "the order of the anchors does not decide the negatives"
    assert datasets.class_triplets(rows, "label", 7) == triplets[:7], "the same again"


def test_intents_that_are_judged_unseen_are_not_trained_on(places: Places) -> None:
    for part in ("train", "test"):
        rows = [(f"{part} {label} {place}", f"intent{label}") for label in range(9) for place in range(5)]
        write(places.data / f"banking77/{part}.csv", ("text", "category"), rows)
    prepare([name for name in DERIVED_FILES if name.startswith("banking77")], places.data, places.work)

    def intents(name: str) -> set[str]:
        return {text.split()[1] for row in texts_of(places.work / name) for text in row}

    assert intents("banking77-unseen-triplets-test.csv") == {"0", "3", "6"}
    assert intents("banking77-some-triplets.csv") == {"1", "2", "4", "5", "7", "8"}
    assert intents("banking77-triplets.csv") == intents("banking77-triplets-test.csv") == set("012345678")


def test_sections_sentences_and_topics(places: Places, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(datasets, "TRIPLETS", 4)
    names = ("Sentence1", "Sentence2", "Sentence3", "Article Title", "Article Link")
    for part in ("train", "test"):
        write(places.data / f"wikisections/{part}.csv", names, [(f"a{n}", f"p{n}", f"n{n}", "t", "l") for n in range(9)])
    pairs = [(f"s{n}", f"s{n + 1}", n % 6) for n in range(9)]
    write(places.data / "stsb/train.csv", ("sentence1", "sentence2", "score"), pairs)
    write(places.data / "sick/train.csv", ("sentence1", "sentence2", "score"), pairs)
    monkeypatch.setattr(datasets, "TOPIC_PAIRS", 3)
    for topic in datasets.TOPICS:
        write(places.data / f"sts14/{topic}.csv", ("sentence1", "sentence2", "score"), pairs)
    made = ["wikisections-triplets.csv", "wikisections-triplets-test.csv", "stsb-sentences.csv", "sick-sentences.csv", "sts14-topics.csv"]
    prepare(made, places.data, places.work)
    triplets = texts_of(places.work / made[0])
    assert len(triplets) == 4
    assert all([text[0] for text in row] == ["a", "p", "n"] and len({text[1:] for text in row}) == 1 for row in triplets)
    assert len(texts_of(places.work / made[1])) == 9
    assert sorted(text for (text,) in texts_of(places.work / made[2])) == sorted(f"s{n}" for n in range(10))
    topics = [row[3] for row in texts_of(places.work / made[4])]
    assert topics == [topic for topic in datasets.TOPICS for _ in range(3)]


def test_a_row_whose_set_is_absent_is_skipped_with_the_reason(places: Places, capsys: pytest.CaptureFixture[str]) -> None:
    places.data.mkdir()
    results = Results(places.work / "results.json")
    rows = [ROWS["facets-folds"], ROWS["triplets-sections"], ROWS["triplets-nli"]]
    assert [row.missing_sets(places.data) for row in rows] == [["afs"], ["wikisections"], ["sick", "snli"]]
    assert run_rows(rows, places, results) == 0
    assert results.rows == {}
    told = capsys.readouterr().err
    assert "facets-folds: skipped, the folder of sets lacks afs" in told
    assert "triplets-nli: skipped, the folder of sets lacks sick, snli" in told
    (places.data / "afs").mkdir()
    assert ROWS["facets-folds"].missing_sets(places.data) == []
    assert "not run: needs the set Argument Facet Similarity" in render(results)


def _triplet_file(path: Path, rows: int, negatives: int) -> None:
    random = np.random.default_rng(1)

    def text(first: int) -> str:
        return " ".join([WORDS[first], *random.permutation(WORDS)[:2]])

    lines = []
    for place in range(rows):
        topic = place % 5
        lines.append((text(topic), text(topic), *(text(5 + (topic + other) % 10) for other in range(negatives))))
    write(path, ("anchor", "positive", *(f"negative{place}" for place in range(1, negatives + 1))), lines)


@pytest.mark.slow
@pytest.mark.parametrize("architecture", ["siamese", "cross", "poly"])
def test_triplets_are_judged_by_the_share_whose_positive_is_above_every_negative(
    places: Places, tiny_model: Path, architecture: str
) -> None:
    for name, negatives in (("train.csv", 1), ("test.csv", 3)):
        _triplet_file(places.work / name, 40, negatives)
    write(places.work / "pairs.csv", ("sentence1", "sentence2", "label"), _labelled(places.work / "train.csv"))
    how = {"siamese": "train.csv --loss triplet", "poly": "train.csv --loss in_batch"}
    how["cross"] = "pairs.csv --loss binary_cross_entropy"
    command = (
        f"train WORK/{how[architecture]} --model {tiny_model} --set architecture={architecture} --set evaluation=split --epochs 1 "
        "--set blend=no --set accept_alarm=both --seed SEED --out OUT"
    )
    row = Row("small", "Small", "triplets", (command,), sets=Sets("", "test.csv", task="triplets", folder="WORK"), seeds=(1,))
    assert row.shell_commands[1] == "sbert-studio evaluate OUT --data WORK/test.csv --task triplets"
    run = run_once(row, 1, places)
    assert set(run["test"]) == {"accuracy", "rows"}
    assert run["test"]["rows"] == 40
    assert 0 < run["test"]["accuracy"] < 1, "neither chance nor a ceiling decides"


def _labelled(path: Path) -> list[tuple[str, str, int]]:
    return [pair for anchor, near, far in texts_of(path) for pair in ((anchor, near, 1), (anchor, far, 0))]


@pytest.mark.slow
def test_an_accuracy_that_the_rows_do_not_give_is_refused(places: Places, tiny_model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _triplet_file(places.work / "test.csv", 40, 1)
    sets = Sets("", "test.csv", task="triplets", folder="WORK")
    right = evaluate_model(str(tiny_model), places.work / "test.csv", sets)
    monkeypatch.setattr("reproduction.runner.sbert_studio", lambda *_: {"rows": 40, "accuracy": right["accuracy"] - 0.2})
    with pytest.raises(ValueError, match="by evaluate"):
        evaluate_model(str(tiny_model), places.work / "test.csv", sets)


@pytest.mark.slow
def test_the_first_seeds_of_each_row_are_run_first(places: Places) -> None:
    pairs = [(" ".join(WORDS[n : n + 4]), " ".join(WORDS[n : n + 1 + n % 3]), n % 3) for n in range(15)]
    write(places.data / "stsb/train.csv", ("sentence1", "sentence2", "score"), pairs)
    command = "fit DATA/stsb/train.csv --kind tfidf --set dim=2 --set min_count=1 --seed SEED --out OUT"
    sets = Sets("stsb/train.csv", "", top=2.0)
    rows = [Row(name, name, "comparison", (f"{command} --common {name}",), sets=sets, seeds=(4, 5, 6)) for name in "01"]
    results = Results(places.work / "results.json")
    assert run_rows(rows, places, results, seeds=1) == 0
    assert [results.remaining_seeds(row) for row in rows] == [[5, 6], [5, 6]]
    assert run_rows(rows[:1], places, results) == 0
    assert [results.remaining_seeds(row) for row in rows] == [[], [5, 6]]


@pytest.mark.slow
def test_folds_are_kept_as_their_means_untuned_and_tuned(places: Places, tiny_model: Path) -> None:
    random, rows = np.random.default_rng(3), []
    for place in range(90):
        same, topic = place % 6, "abc"[place // 30]
        left = [str(word) for word in random.permutation(WORDS)[:6]]
        other = [word for word in random.permutation(WORDS) if word not in left]
        rows.append((" ".join(left), " ".join([*left[:same], *other[: 6 - same]]), same, topic))
    write(places.work / "topics.csv", ("sentence1", "sentence2", "score", "topic"), rows)
    command = (
        f"train WORK/topics.csv --model {tiny_model} --loss cosine --folds 3 --group topic --set by_group=yes --epochs 1 "
        "--set blend=no --set accept_alarm=both --seed SEED --out OUT"
    )
    row = Row("small", "Small", "folds", (command,), sets=FOLDS, seeds=(1,))
    results = Results(places.work / "results.json")
    assert run_rows([row], places, results) == 0
    (run,) = results.runs(row)
    for part in ("untuned", "test"):
        assert run[part]["rows"] == 90
        assert run[part]["sd"] > 0
    assert run["test"]["spearman"] != run["untuned"]["spearman"]
    assert report._folds([run], "test") == f"{100 * run['test']['spearman']:.2f} ± {100 * run['test']['sd']:.2f}"


def test_a_training_without_folds_gives_no_cross_validated_score() -> None:
    scores = {"metric": "cosine_spearman", "score": 0.5, "sd": 0.1, "each": [0.4, 0.6]}
    answer = {"before": scores, "after": {**scores, "score": 0.7}, "accounts": {"data": {"used": 9}}}
    assert fold_scores(answer)["test"] == {"spearman": 0.7, "sd": 0.1, "rows": 9}
    for wrong in ({**scores, "each": [0.4]}, {**scores, "metric": "accuracy"}, {}):
        with pytest.raises(ValueError, match="no Spearman"):
            fold_scores({**answer, "after": wrong})


def test_times_are_compared_by_the_round_and_the_slow_one_asks_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("reproduction.speeds._SLOW_QUERY", 0.02)
    calls = {"fast": 0, "slow": 0}

    def takes(name: str, seconds: float) -> object:
        def score(_query: str) -> None:
            calls[name] += 1
            end = time.process_time() + seconds
            while time.process_time() < end:
                pass

        return score

    found = compare_times({"fast": takes("fast", 0.002), "slow": takes("slow", 0.03)}, ["a", "b", "c"], rounds=3)  # type: ignore[dict-item]
    assert calls == {"fast": 1 + 3 * 3, "slow": 1 + 3}
    assert found["fast"]["ratio"] == 1.0
    assert found["fast"]["milliseconds"] >= 2
    assert found["slow"]["milliseconds"] >= 30
    low, high = found["slow"]["ratios"]
    assert 1 < low <= found["slow"]["ratio"] <= high


@pytest.mark.slow
def test_each_kind_of_model_scores_all_candidates_and_its_time_is_kept_and_shown(places: Places, tiny_model: Path) -> None:
    from sbert_studio.services import Studio

    catalog = Studio(allow_folders=True).catalog
    encoder = catalog.load_any(str(tiny_model))
    poly = catalog.load_trainable_poly_encoder(str(tiny_model), codes=4, allow_folders=True)
    candidates = [f"{left} {right}" for left in WORDS[:4] for right in WORDS[4:9]]
    vectors = encoder.encode(["red fast", *candidates])
    assert scorer(encoder, candidates)("red fast").ravel() == pytest.approx(vectors[1:] @ vectors[0], abs=1e-5)
    direct = poly.predict([("red fast", candidate) for candidate in candidates])
    assert scorer(poly, candidates)("red fast").ravel() == pytest.approx(direct, abs=1e-5)

    rows = [replace(ROWS[name], candidates=len(candidates)) for name in ("timed-bi", "timed-poly")]
    results = Results(places.work / "results.json")
    models = {"timed-bi": encoder, "timed-poly": poly}
    measure_ranking_times(rows, [*candidates, "one query", "another"], lambda row: models[row.name], results)
    assert set(results.speeds) == set(models)
    line = next(line for line in report._times(rows, results) if "`timed-poly`" in line)
    assert f"{results.speeds['timed-poly']['ratio']:,.2f}" in line
    with pytest.raises(ValueError, match="too few"):
        measure_ranking_times(rows, candidates, lambda row: models[row.name], results)
