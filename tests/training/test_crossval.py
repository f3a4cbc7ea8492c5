"""Small files judged in folds, blends with the untuned weights, the strength dial, the alarms."""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from tiny_studio import cut, sentences

from sbert_studio.data.examples import Examples
from sbert_studio.data.retrieval import build_set
from sbert_studio.data.samples import ASSETS
from sbert_studio.data.split import connected_rows, has_single_target, make_folds, split_examples
from sbert_studio.errors import StudioError
from sbert_studio.evaluation.bootstrap import MIN_CLUSTERS
from sbert_studio.evaluation.encoding import encode_columns, similarities
from sbert_studio.models.io.load import load_folder
from sbert_studio.training import evaluator
from sbert_studio.training.alarms import check_below_chance, check_forgetting
from sbert_studio.training.blend import set_strength
from sbert_studio.training.crossval import FoldScores, pool_folds
from sbert_studio.training.estimate import estimate_run
from sbert_studio.training.evaluator import Evaluator, hold_out
from sbert_studio.training.events import Asks, Evaluated, Event, Finished, Notice, Part, PartEnded, Phase, Started, to_json
from sbert_studio.training.members import plan_curve, plan_folds
from sbert_studio.training.spec import TrainSpec
from sbert_studio.training.trainer import TrainingOutcome, run_identity, train
from sbert_studio.training.trials import run_trials

from .tiny import SHORT, SHORT_ROWS, WORDS, Told, labelled_pairs, load, never, scored_pairs, small_spec, stops_after, tiny_encoder, weights


def run(spec: TrainSpec, folder: Path, told: Told | None = None, should_stop: Callable[[], bool] = never, **more: Any) -> TrainingOutcome:
    given: dict[str, Any] = {"examples": scored_pairs(64), **more}
    return run_trials(
        spec, given.pop("examples"), told if told is not None else Told(), should_stop, load=load, folder=folder, **given
    )  # fmt: skip


@dataclass(frozen=True)
class Judged:
    """A run that was left alone: its folder, how it ended, what it told and when, and how long it took by the clock."""

    folder: Path
    outcome: TrainingOutcome
    told: Told
    times: list[float]
    took: float


FEW, FOLDED = scored_pairs(30), small_spec(checkpoint_every=2)
"""Five folds of six steps, then eight steps on all rows."""


@pytest.fixture(scope="module")
def folded(tmp_path_factory: pytest.TempPathFactory) -> Judged:
    """A run of ``FOLDED`` on ``FEW``. Read only."""
    folder, told, times = tmp_path_factory.mktemp("folded"), Told(), list[float]()

    def hear(event: Event) -> None:
        told(event)
        times.append(time.perf_counter())

    began = time.perf_counter()
    outcome = run_trials(FOLDED, FEW, hear, never, load=load, folder=folder)
    return Judged(folder, outcome, told, times, time.perf_counter() - began)


@pytest.fixture
def probe(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A general probe in words that the tiny model knows: pairs score as they share words."""
    pairs = scored_pairs(60, seed=90)
    path = tmp_path / "general.csv"
    lines = [f"en,{a},{b},{5 * score:.2f}" for a, b, score in zip(*pairs.texts, pairs.targets, strict=True)]  # type: ignore[arg-type]
    path.write_text("language,sentence1,sentence2,score\n" + "\n".join(lines) + "\n", encoding="utf-8")
    monkeypatch.setattr(evaluator, "PAIRS", path)
    evaluator._load_pairs.cache_clear()
    yield path
    evaluator._load_pairs.cache_clear()


def turned(examples: Examples) -> Examples:
    top = 1.0 if examples.targets.dtype.kind == "f" else len(examples.labels) - 1
    return replace(examples, targets=(top - examples.targets).astype(examples.targets.dtype))


@pytest.mark.slow
def test_a_small_file_is_judged_on_all_of_its_rows_and_learned_whole(tmp_path: Path, folded: Judged) -> None:
    outcome, told = folded.outcome, folded.told
    assert [event.title for event in told.of(Part)] == [*(f"fold {number} of 5" for number in range(1, 6)), "all rows"]
    assert outcome.after["rows"] == outcome.before["rows"] == len(FEW)
    assert outcome.after["folds"] == 5 == len(outcome.after["by_fold"])
    low, high = outcome.after["gain_interval"]
    assert -1 < outcome.after["nested"] < 1
    assert low <= outcome.after["score"] - outcome.before["score"] <= high
    assert [mark["strength"] for mark in outcome.after["strengths"]] in ([0, 0.25, 0.5, 0.75, 1], [0, 1])
    most = outcome.before["score"] if outcome.after["strength"] == 0 else outcome.after["nested"]
    assert outcome.after["score"] <= most <= max(mark["score"] for mark in outcome.after["strengths"]) + 1e-9
    assert outcome.after["tried"] == 6  # the untuned model, three blends, and the weights after each of two epochs
    assert told.of(Started)[-1].rows == told.of(Started)[-1].dev_rows == len(FEW)
    assert [type(event) for event in told if isinstance(event, Finished | Asks)] == [Finished]
    assert isinstance(told[-1], Finished)
    assert not (folded.folder / "parts").exists()
    assert load_folder(outcome.model).dim == 32
    again = run(FOLDED, shutil.copytree(folded.folder, tmp_path / "run"), examples=FEW)
    assert again.after == outcome.after, "resumed, it only tells how it ended"


@pytest.mark.slow
def test_the_time_of_a_run_in_folds_is_that_of_all_of_it(folded: Judged) -> None:
    assert folded.times[-2] - folded.times[0] <= folded.outcome.seconds <= folded.took, "judging counts too"
    phases = [event.title for event in folded.told.of(Phase)]
    assert phases[0] == "evaluating the base model" and "evaluating on the held-out rows" in phases


@pytest.mark.slow
def test_stopped_in_folds_and_at_the_end_it_goes_on_to_the_same_model(tmp_path: Path, folded: Judged) -> None:
    """Stopped before any step, in the first fold, in the third, and on all rows."""
    for steps, begun in ((0, [0]), (2, [0]), (13, [2, 0, 0]), (19, [3, 0, 0, 0])):
        told = Told()
        halted = run(FOLDED, tmp_path, told, stops_after(steps), examples=FEW)
        assert halted.status == "stopped" and halted.seconds > 0
        assert [event.step for event in told.of(Started)] == begun
        # What holds only until it goes on is told as such, so that it does not stand above a model that is finished.
        assert all(note.passing for note in told.of(Notice) if "there is no model yet" in note.message)
    told = Told()
    resumed = run(FOLDED, tmp_path, told, examples=FEW)
    assert [event.step for event in told.of(Started)] == [4]
    assert resumed.after == folded.outcome.after
    one, other = weights(folded.outcome.model), weights(resumed.model)
    assert all(torch.equal(one[name], other[name]) for name in one)


@pytest.mark.slow
def test_a_rehearsal_counts_the_steps_of_the_folds_and_of_the_training_on_all_rows(folded: Judged) -> None:
    found = estimate_run(FOLDED, FEW, encoder=tiny_encoder())
    assert (found.folds, found.steps) == (5, folded.told.of(Started)[-1].run_steps)


@pytest.mark.slow
def test_rows_are_split_where_folds_would_say_less(tmp_path: Path) -> None:
    told, spec = Told(), small_spec(epochs=0.2)
    run(spec.replace(evaluation="split"), tmp_path / "split", told)
    run(spec, tmp_path / "dev", told, dev=scored_pairs(30, seed=7))
    shared = replace(scored_pairs(64), texts=(tuple(["cat dog"] * 60 + list(scored_pairs(64).texts[0][60:])), scored_pairs(64).texts[1]))
    run(spec, tmp_path / "shared", told, examples=shared)
    assert told.of(Part) == []
    with pytest.raises(StudioError, match="cannot be combined with"):
        run(small_spec(evaluation="folds"), tmp_path / "both", dev=scored_pairs(30, seed=7))


def test_pooled_scores_weigh_rows_and_have_an_interval_with_a_width() -> None:
    rng = np.random.default_rng(1)
    drawn = [rng.normal(0.5, 0.05, 1000), rng.normal(0.8, 0.05, 1000)]
    folds = [
        FoldScores({"metric": "m", "task": "sts", "rows": rows, "score": score, "cosine": {"spearman": score}}, one)
        for rows, score, one in ((10, 0.5, drawn[0]), (30, 0.8, drawn[1]))
    ]
    found = pool_folds(folds, [one - 0.1 for one in drawn])
    assert found["score"] == found["cosine"]["spearman"] == pytest.approx(0.725)
    assert found["rows"] == 40
    assert found["gain_interval"] == pytest.approx([0.1, 0.1])
    spread = found["interval"][1] - found["interval"][0]
    assert spread == pytest.approx(3.92 * 0.05 * np.sqrt(0.25**2 + 0.75**2), rel=0.1), "folds are drawn apart"

    def found(metric: str, apart: int) -> dict[str, Any]:
        right = {"metric": metric, "task": "categories", "rows": 28, "score": 1.0}
        return pool_folds([FoldScores(right, np.ones(1000), apart)] * 5)

    low, high = found("nearest_neighbour_accuracy", 28)["interval"]
    assert (low, high) == (pytest.approx(140 / (140 + 1.959964**2)), 1.0), "Wilson's, by hand"
    assert found("nearest_neighbour_accuracy", 7)["interval"][0] == pytest.approx(35 / (35 + 1.959964**2)), "copies tell no more"
    assert found("v_measure", 28)["interval"] == [1.0, 1.0]


@pytest.mark.slow
def test_folds_of_texts_with_a_category_tell_an_interval_with_a_width(tmp_path: Path) -> None:
    texts = [f"{a} {b} {c}" for words in (WORDS[:3], WORDS[-3:]) for a in words for b in words for c in words[:2]]
    kinds = np.repeat(np.arange(2), len(texts) // 2)
    examples = Examples("labelled_texts", (tuple(texts),), kinds, np.arange(len(texts)) + 2, ("one", "other"), ordered=False)
    outcome = run(small_spec(loss="supcon", epochs=0.5), tmp_path, examples=examples)
    low, high = outcome.after["interval"]
    assert outcome.after["score"] == pytest.approx(1) and low < 0.98 < high


@pytest.mark.slow
def test_the_model_never_gets_worse_on_the_held_out_rows(tmp_path: Path) -> None:
    """A rate that ruins the model: what is kept is the untuned one, to the bit."""
    spec, given = small_spec(epochs=1, learning_rate=0.5, loss="cosent"), {"examples": scored_pairs(40), "dev": scored_pairs(40, 7)}
    outcome = run(spec, tmp_path, **given)
    assert outcome.after["strength"] == 0
    assert outcome.after["score"] == outcome.before["score"]
    kept, untuned = load_folder(outcome.model).state_dict(), tiny_encoder().state_dict()
    assert all(torch.equal(kept[name], untuned[name]) for name in untuned)
    card = (outcome.model / "README.md").read_text()
    assert "No gain: the base model is kept" in card
    tuned = run(spec.replace(blend=False), tmp_path / "off", **given)
    assert tuned.after["score"] < tuned.before["score"]


@pytest.mark.slow
@pytest.mark.parametrize("method", ["full", "lora"])
def test_strength_is_set_without_training(tmp_path: Path, method: str) -> None:
    spec, dev = small_spec(method=method, epochs=1, learning_rate=1e-2), scored_pairs(30, seed=7)
    outcome = run(spec, tmp_path, examples=scored_pairs(40), dev=dev)
    marks = {mark["strength"]: mark["score"] for mark in outcome.after["strengths"]}
    assert list(marks) == [0, 0.25, 0.5, 0.75, 1]
    for value, score in marks.items():
        after = set_strength(tmp_path, spec, value, load=tiny_encoder)
        assert after["strength"] == value
        assert after["score"] == score
        assert Evaluator(dev)(load_folder(tmp_path / "model"))["score"] == pytest.approx(score, abs=1e-5)
    between = set_strength(tmp_path, spec, 0.6, load=tiny_encoder)
    assert between["interpolated"] and "gain_interval" in outcome.after and "gain_interval" not in between
    assert min(marks[0.5], marks[0.75]) <= between["score"] <= max(marks[0.5], marks[0.75])
    assert "0.6 (0: base model, 1: fine-tuned)" in (tmp_path / "model" / "README.md").read_text().replace("\\", "")
    kept = json.loads((tmp_path / "outcome.json").read_text())["after"]
    assert kept["strength"] == 0.6
    back = set_strength(tmp_path, spec, outcome.after["strength"], load=tiny_encoder)
    assert back == json.loads(json.dumps(outcome.after)), "turned back, it tells all that the run ended with, the interval too"
    with pytest.raises(StudioError, match="the strength 2 is out of range"):
        set_strength(tmp_path, spec, 2, load=tiny_encoder)
    with pytest.raises(StudioError, match="the projection is new"):
        set_strength(tmp_path, small_spec(projection=16), 0.5, load=tiny_encoder)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("more", "rows"),
    [({}, scored_pairs(60)), ({"evaluation": "split"}, scored_pairs(120)), ({"evaluation": "split"}, labelled_pairs(120))],
)
def test_rows_that_say_the_opposite_are_asked_about_before_the_first_step(tmp_path: Path, more: dict[str, Any], rows: Examples) -> None:
    told, spec = Told(), small_spec(**more, epochs=0.2, loss="cosent", dev_fraction=0.4)
    outcome = run(spec, tmp_path, told, examples=turned(rows))
    assert outcome.status == "asks"
    assert isinstance(told[-1], Asks)
    assert outcome.question["name"] == "alarm"
    assert outcome.steps == 0
    assert not outcome.model.exists()
    assert {row["read_as"] for row in outcome.question["rows"]} == {"most similar", "least similar"}
    if rows.labels:
        assert outcome.question["options"][0]["flag"] == "--order entailment,neutral,contradiction"
    assert run(spec, tmp_path, examples=turned(rows)).status == "asks", "resumed without an answer it asks again"
    answered = run(spec.replace(accept_alarm="below_chance"), tmp_path, examples=turned(rows))
    assert answered.status in ("finished", "asks")
    assert answered.question.get("options", [{}])[0].get("choice") != {"accept_alarm": "below_chance"}
    assert run(spec, tmp_path / "right", examples=rows).status == "finished"


@pytest.mark.slow
@pytest.mark.parametrize(("of", "rows"), [(scored_pairs, 8), (labelled_pairs, 14), (scored_pairs, 16)])
def test_a_few_rows_that_say_the_opposite_are_asked_about(tmp_path: Path, of: Callable[..., Examples], rows: int) -> None:
    few, spec = plain_rows(of, rows), small_spec(epochs=0.5, loss="cosent")
    assert run(spec, tmp_path / "turned", examples=turned(few)).status == "asks"
    assert run(spec, tmp_path / "right", examples=few).status == "finished"
    answered = run(spec.replace(accept_alarm="below_chance"), tmp_path / "turned", examples=turned(few))
    assert answered.status == "finished"


@pytest.mark.parametrize("architecture", ["siamese", "cross"])
def test_rows_of_which_none_are_held_out_are_asked_about(tmp_path: Path, architecture: str) -> None:
    spec = small_spec(dev_fraction=0, architecture=architecture, **({} if architecture == "cross" else {"loss": "cosent"}))
    outcome = run(spec, tmp_path, examples=turned(scored_pairs(100)))
    assert outcome.status == "asks"
    assert outcome.steps == 0


@lru_cache
def by_nearness(of: Callable[..., Examples]) -> tuple[Examples, np.ndarray]:
    """400 rows, and the places of the 120 that the untuned model ranks nearest to where their score does."""
    many = of(400)
    left, right = encode_columns(tiny_encoder(), many.texts[:2])
    top = 1.0 if many.targets.dtype.kind == "f" else len(many.labels) - 1
    ranks = np.asarray(similarities(left, right)["cosine"]).argsort().argsort() / (len(many) - 1)
    return many, np.argsort(abs(ranks - many.targets / top))[:120]


def plain_rows(of: Callable[..., Examples], rows: int) -> Examples:
    """Rows of which the untuned model is as sure as it is of plain sentences: of many the most and the least alike."""
    many, near = by_nearness(of)
    order = near[np.argsort(many.targets[near], kind="stable")]  # type: ignore[index]
    return many.take(order[np.linspace(0, len(order) - 1, rows).astype(np.int64)])


@pytest.mark.slow
def test_a_model_that_forgets_while_it_gains_is_asked_about(tmp_path: Path, probe: Path) -> None:
    """Rows whose scores follow one word, and the probe's the opposite of it: what gains here is lost there."""
    pairs = scored_pairs(120)
    has = [[WORDS[0] in text.split() or WORDS[1] in text.split() for text in column] for column in pairs.texts]
    odd = replace(pairs, targets=np.array([float(a != b) for a, b in zip(*has, strict=True)], np.float32))
    spec = small_spec(epochs=6, learning_rate=6e-3, loss="cosine", accept_alarm="below_chance", evaluation="split")
    told = Told()
    outcome = run(spec, tmp_path / "run", told, examples=odd)
    assert outcome.status == "asks"
    assert outcome.question["options"][0]["choice"] == {"accept_alarm": "general"}
    again = run(spec, tmp_path / "run", examples=odd)
    assert again.status == "asks", "without an answer it asks again"
    assert run(spec.replace(accept_alarm="both"), tmp_path / "run", examples=odd).status == "finished"


@pytest.mark.slow
def test_what_it_costs_elsewhere_is_measured_before_and_after(tmp_path: Path, probe: Path) -> None:
    outcome = run(small_spec(epochs=1), tmp_path / "run", examples=FEW)
    assert outcome.before["general"]["rows"] == 60 == outcome.after["general"]["rows"]
    assert all("general" in mark for mark in outcome.after["strengths"])
    known = evaluator.GeneralProbe.build(load_folder(outcome.model))
    assert known.untuned["score"] == pytest.approx(outcome.after["general"]["score"], abs=1e-5)
    assert "everyday pairs" in (outcome.model / "README.md").read_text()


def test_an_untuned_model_is_asked_once(probe: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(evaluator, "_CACHE", {})
    asked: list[object] = []
    plain = evaluator.pair_similarities
    monkeypatch.setattr(evaluator, "pair_similarities", lambda encoder, *columns: asked.append(encoder) or plain(encoder, *columns))
    first, again, other = (evaluator.GeneralProbe.build(encoder) for encoder in (tiny_encoder(), tiny_encoder(), tiny_encoder(seed=5)))
    assert first is not None and again is not None and first.untuned == again.untuned
    assert len(asked) == 2 and other is not None and other.untuned != first.untuned


def test_a_loss_of_retrieval_raises_the_alarm_even_where_everyday_pairs_stay(probe: Path) -> None:
    texts = {text: " ".join(reversed(text.split())) for text in sentences(80)}
    data = build_set("reversed", texts, {text: text for text in texts}, [(text, text, 1.0) for text in texts])
    watched = evaluator.GeneralProbe.build(tiny_encoder(), data)
    same, collapsed = watched(tiny_encoder()), tiny_encoder()
    low, high = same["retrieval"]["change_interval"]
    assert low == -high < 0, "no query differs, but others may"
    with torch.no_grad():
        for parameter in collapsed.parameters():
            parameter.zero_()
    fallen = watched(collapsed)
    assert fallen["retrieval"]["score"] < 0.1 < watched.untuned["retrieval"]["score"] - fallen["retrieval"]["score"]
    before, now = {"score": 0.4, "general": watched.untuned}, {"score": 0.5, "general": {**same, "retrieval": fallen["retrieval"]}}
    assert check_forgetting(small_spec(), before, {**now, "general": same}) is None
    question = check_forgetting(small_spec(), before, now)
    assert question is not None and "nDCG@10" in question.why
    assert check_forgetting(small_spec(accept_alarm="general"), before, now) is None


def test_the_written_pairs_are_many_and_graded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(evaluator, "PAIRS", ASSETS / "probe" / "general.csv")
    parts = {part.language: part for part in evaluator._load_pairs.__wrapped__()}
    assert len(parts["en"].scores) >= 120
    assert len(parts["zh"].scores) >= 80
    for part in parts.values():
        assert part.scores.min() >= 0
        assert part.scores.max() <= 5
        assert len(set(zip(part.left, part.right, strict=True))) == len(part.scores)


def test_runs_of_the_first_version_keep_their_identity() -> None:
    examples = scored_pairs(8)
    spec = small_spec(checkpoint_every=3)
    assert run_identity(spec, examples) == run_identity(spec.replace(accept_alarm="both", checkpoint_every=0), examples)
    assert run_identity(spec, examples) != run_identity(spec.replace(evaluation="folds"), examples)
    assert run_identity(small_spec(), examples) == "8a81314f807cf4d222e7bf3fa2b79c85"
    assert run_identity(small_spec(evaluation="folds"), examples) == "237f70e60adc3fd8c51ecaec535c02ee"
    staged = small_spec(first=small_spec(epochs=1).to_json())
    assert run_identity(staged, examples) == "db4ce39fd98dbcdcf783f0fa484d49ae"
    assert run_identity(staged, examples) != run_identity(small_spec(first=small_spec(epochs=1, activation="tanh").to_json()), examples)


SPEC, SPEC_ROWS = small_spec(epochs=1, evaluations_per_epoch=3, accept_alarm="both"), scored_pairs(24)
"""Four folds of three steps each, then three steps on all rows."""


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> dict[str, torch.Tensor]:
    folder = tmp_path_factory.mktemp("whole")
    run(SPEC, folder, examples=SPEC_ROWS)
    return weights(folder / "model")


@pytest.fixture(scope="module")
def stopped(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run that was stopped in its second fold, after two of three evaluations. Copy before use."""
    folder = tmp_path_factory.mktemp("stopped")
    assert run(SPEC, folder, should_stop=stops_after(5), examples=SPEC_ROWS).status == "stopped"
    return folder


def same(folder: Path, whole: dict[str, torch.Tensor]) -> bool:
    found = weights(folder / "model")
    return set(found) == set(whole) and all(torch.equal(found[name], whole[name]) for name in whole)


def test_a_fold_that_was_stopped_after_an_evaluation_goes_on_from_its_step(
    tmp_path: Path, stopped: Path, whole: dict[str, torch.Tensor]
) -> None:
    folder, told = shutil.copytree(stopped, tmp_path / "run"), Told()
    run(SPEC, folder, told, examples=SPEC_ROWS)
    assert [event.step for event in told.of(Started)] == [2, 0, 0, 0]  # the second fold, the others, all rows
    assert not [event.message for event in told.of(Notice) if "damaged" in event.message]
    assert same(folder, whole)


@pytest.mark.parametrize("kind", ["json", "npy"])
def test_a_fold_whose_evaluations_are_damaged_begins_anew(kind: str, tmp_path: Path, stopped: Path, whole: dict[str, torch.Tensor]) -> None:
    folder, told = shutil.copytree(stopped, tmp_path / "run"), Told()
    done = sorted(folder.glob(f"parts/*/marks/*.{kind}"))
    assert done
    cut(done[0])
    assert run(SPEC, folder, told, examples=SPEC_ROWS).status == "finished"
    assert any("starts over" in event.message for event in told.of(Notice))
    assert same(folder, whole)


def test_what_was_kept_of_the_untuned_model_is_made_again(tmp_path: Path, whole_run: Path, stopped_run: Path) -> None:
    folder = shutil.copytree(stopped_run, tmp_path / "run")
    cut(folder / "untuned.npy")
    done = train(SHORT, SHORT_ROWS, Told(), never, encoder=tiny_encoder(), folder=folder, resume=True)
    expected = json.loads((whole_run / "outcome.json").read_text(encoding="utf-8"))["after"]["gain_interval"]
    assert list(done.after["gain_interval"]) == expected


def test_folds_are_as_many_as_groups_and_labels_allow() -> None:
    pairs = scored_pairs(99)
    grouped = Examples(
        kind=pairs.kind, texts=pairs.texts, targets=pairs.targets, lines=pairs.lines, groups=tuple(f"g{row % 3}" for row in range(99))
    )
    assert len(plan_folds(small_spec(by_group=True), grouped, None)) == 3
    with pytest.raises(StudioError):
        plan_folds(small_spec(evaluation="folds"), scored_pairs(3), None)
    examples = rare(100, 3)
    (left, right), yes = map(list, examples.texts), np.flatnonzero(examples.targets)
    for place in yes.tolist():
        left[place] = "cat dog cat"
    shared = replace(examples, texts=(tuple(left), tuple(right)))
    assert plan_folds(small_spec(), shared, None) == []
    if hold_out(small_spec(evaluation="folds"), shared, None)[1] is not None:
        with pytest.raises(StudioError, match="so rare"):
            plan_folds(small_spec(evaluation="folds"), shared, None)


RARE = small_spec(epochs=0.5, loss="cosent", accept_alarm="both")


def rare(rows: int, positives: int, *, seed: int = 0) -> Examples:
    """Pairs that say yes where they share the most words."""
    pairs = scored_pairs(rows, seed)
    labels = np.zeros(rows, np.int64)
    labels[np.argsort(-pairs.targets)[:positives]] = 1
    return replace(pairs, kind="labelled_pairs", targets=labels, labels=("no", "yes"), ordered=True)


@pytest.mark.parametrize("seed", range(12))
def test_a_held_out_part_has_rows_of_both_labels_where_there_are_two_of_each(seed: int) -> None:
    for positives in (2, 3, 98):
        learned, held = split_examples(rare(100, positives), 0.1, seed)
        assert not has_single_target(learned) and not has_single_target(held)
        assert 8 <= len(held) <= 10
    learned, held = split_examples(scored_pairs(20), 0.1, seed)
    assert len(held) == 2 and not has_single_target(held)


def test_a_split_that_says_something_is_drawn_as_ever() -> None:
    examples = rare(100, 40)
    assert split_examples(examples, 0.1)[1].lines.tolist() == split_examples(examples, 0.1, stratify=True)[1].lines.tolist()
    assert hold_out(small_spec(), examples, None)[2] == ""


@pytest.mark.parametrize(("positives", "number"), [(40, 5), (10, 5), (8, 4), (5, 2), (4, 2), (3, 3), (2, 2)])
def test_folds_are_fewer_where_a_label_is_rare(positives: int, number: int) -> None:
    found = plan_folds(small_spec(), rare(100, positives), None)
    assert len(found) == number
    for fold in found:
        assert fold.held is not None and not has_single_target(fold.held) and not has_single_target(fold.train_rows)


@pytest.mark.slow
def test_a_run_that_nothing_can_judge_says_so_instead_of_a_score_of_nothing(tmp_path: Path) -> None:
    told = Told()
    outcome = run(RARE, tmp_path / "alone", told, examples=rare(60, 1))
    assert outcome.status == "finished" and outcome.before == outcome.after == {}
    assert len(told.notices("the model cannot be evaluated")) == 1 and not told.of(Evaluated)
    told, dev = Told(), rare(30, 10, seed=4)
    outcome = run(RARE, tmp_path / "dev", told, examples=rare(60, 20), dev=dev.take(np.flatnonzero(dev.targets == 0)))
    assert outcome.status == "finished" and outcome.after == {}
    assert told.notices("all 20 held-out rows are labelled “no”")


@pytest.mark.slow
def test_few_rows_of_a_label_are_told_of_and_make_no_gain_sure(tmp_path: Path) -> None:
    told = Told()
    outcome = run(RARE.replace(epochs=1, evaluation="split"), tmp_path, told, examples=rare(60, 6))
    assert told.notices("only 1 of the 6 held-out rows is labelled “yes”")
    assert 0 < outcome.before["score"] <= 1 and "gain_interval" not in outcome.before
    if outcome.after["strength"]:
        assert "gain_interval" not in outcome.after
    json.dumps([outcome.to_json(), *map(to_json, told)], allow_nan=False)


@pytest.mark.slow
def test_a_run_in_fewer_folds_is_judged_by_all_of_them_and_says_why(tmp_path: Path) -> None:
    told = Told()
    outcome = run(RARE, tmp_path, told, examples=rare(40, 6))
    assert outcome.status == "finished"
    assert [event.title for event in told.of(Part)][:-1] == ["fold 1 of 3", "fold 2 of 3", "fold 3 of 3"]
    assert all(score > 0 for score in outcome.after["by_fold"])
    assert "Fewer folds than usual" in " ".join(told.of(Started)[0].reasons)
    json.dumps(outcome.to_json(), allow_nan=False)


@pytest.mark.slow
def test_of_asked_for_folds_those_without_a_score_take_no_part_in_the_mean(tmp_path: Path) -> None:
    told, examples = Told(), rare(60, 2)
    judged = [not has_single_target(held) for _, held in make_folds(examples, 4)]
    assert judged.count(True) == 2
    outcome = run(RARE.replace(folds=4), tmp_path, told, examples=examples)
    assert outcome.status == "finished"
    ended = told.of(PartEnded)
    assert [bool(event.after) for event in ended] == judged
    each = [event.after["score"] for event in ended if event.after]
    assert outcome.after["each"] == each and outcome.after["score"] == pytest.approx(np.mean(each))
    assert len(told.notices("held-out rows are labelled “no”")) == 2
    best = max((event for event in ended if event.after), key=lambda event: event.after["score"] - event.before["score"])
    assert outcome.after["kept"] == best.after, "a model that nothing judged is not the best"


def test_rows_too_few_to_show_an_order_in_every_resample_say_no_opposite() -> None:
    """Two rows in the other order: half of their resamples draw one of them twice, and show no order."""
    encoder, many = tiny_encoder(), scored_pairs(40)
    assert many.targets is not None
    left, right = encode_columns(encoder, many.texts[:2])
    near = np.argsort(similarities(left, right)["cosine"])
    two = replace(many.take(near[[0, -1]]), targets=np.array([1.0, 0.0], np.float32))
    assert Evaluator(two)(encoder)["score"] == -1
    assert check_below_chance(encoder, [two], [Evaluator(two)(encoder)]) is None
    half = many.take(np.concatenate([near[:10], near[-10:]]))
    opposite = replace(half, targets=np.linspace(1, 0, 20, dtype=np.float32))
    assert check_below_chance(encoder, [opposite], [Evaluator(opposite)(encoder)]) is not None


@pytest.mark.slow
def test_the_fewest_rows_that_are_judged_in_folds_get_a_verdict(tmp_path: Path) -> None:
    """No fold is so small that its resamples are not defined, which would leave a gain by chance without a word of doubt."""
    for number in range(20, 38):
        held = [member.held for member in plan_folds(small_spec(), scored_pairs(number), None)]
        assert held and all(fold is not None and len(fold) >= MIN_CLUSTERS for fold in held)
    after = run(small_spec(epochs=1, learning_rate=3e-3), tmp_path, examples=scored_pairs(20)).after
    low, high = after["gain_interval"]
    assert len(after["interval"]) == 2 and low <= high


@pytest.mark.slow
def test_a_handful_of_held_out_rows_is_said_to_tell_nothing(tmp_path: Path) -> None:
    told = Told()
    after = run(small_spec(epochs=1, evaluation="split", blend=False), tmp_path / "split", told, examples=scored_pairs(30)).after
    assert told.notices("3 held-out rows: too few") and "gain_interval" not in after
    more = Told()
    run(small_spec(epochs=0.5), tmp_path / "dev", more, examples=scored_pairs(30), dev=scored_pairs(40, 5))
    assert not more.notices("too few")


def test_parts_of_a_fold_that_is_named_after_its_groups_have_folders_of_their_own() -> None:
    groups = ("Politics, government and administration", "Sports, leisure and outdoor life", "Economy, finance and the labour market")
    examples = scored_pairs(240)
    examples = replace(examples, groups=tuple(groups[component % 3] for component in connected_rows(examples)))
    folds = plan_folds(TrainSpec(by_group=True), examples, None)
    names = [member.name for member in (*folds, *plan_curve(folds))]
    assert len(names) == 5 == len(set(names)) and all(len(name) <= 60 for name in names)
