"""Batches put together ahead are those that would be put together when asked for."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from sbert_studio.data.convert import convert
from sbert_studio.data.dev_file import build_dev_examples
from sbert_studio.data.examples import Examples, build_examples
from sbert_studio.data.loading.table import table_from_columns
from sbert_studio.data.schema.inference import infer_roles
from sbert_studio.data.split import find_pair_classes, split_examples
from sbert_studio.errors import StudioError
from sbert_studio.evaluation.evaluate import evaluate_examples
from sbert_studio.evaluation.report import describe_score
from sbert_studio.losses import build_loss
from sbert_studio.losses.base import KnownPositives
from sbert_studio.models.io.load import load_folder
from sbert_studio.training import events, loop, trainer
from sbert_studio.training.advisor import advise
from sbert_studio.training.artifacts import adapter_base
from sbert_studio.training.evaluator import Evaluator
from sbert_studio.training.events import Evaluated, Finished, Notice, Saved, Started, Step, Stopped, Throughput
from sbert_studio.training.prepare import fit_head
from sbert_studio.training.steps import Processes
from sbert_studio.training.trainer import train

from .test_advisor import MINILM
from .tiny import (
    Told,
    bare_sentences,
    labelled_pairs,
    labelled_texts,
    never,
    positive_pairs,
    scored_pairs,
    small_spec,
    tiny_encoder,
    weights,
)

pytestmark = pytest.mark.slow


def test_the_loss_goes_down_and_the_held_out_score_up(tmp_path: Path) -> None:
    told = Told()
    spec = small_spec(epochs=4, learning_rate=8e-3, dropout=0.0)
    outcome = train(spec, scored_pairs(96), told, never, encoder=tiny_encoder(), folder=tmp_path, dev=scored_pairs(60, seed=7))
    losses = [event.loss for event in told.of(Step)]
    assert isinstance(told[0], Started)
    assert isinstance(told[-1], Finished)
    assert told.of(Step)[0].step == 1
    assert told.of(Step)[-1].step == told[0].steps == outcome.steps == 48
    assert losses[-1] < 0.5 * losses[0]
    assert outcome.after["score"] > outcome.before["score"]
    assert outcome.before["metric"] == "cosine_spearman"
    assert outcome.pairs_per_second > 0


def test_the_best_checkpoint_is_the_one_that_is_kept(tmp_path: Path) -> None:
    """A rate far too high ruins the model in the end; what is saved must score as the best evaluation said."""
    told, dev = Told(), scored_pairs(60, seed=7)
    spec = small_spec(epochs=6, learning_rate=0.05, warmup_ratio=0.6, evaluations_per_epoch=2, blend=False)
    outcome = train(spec, scored_pairs(64), told, never, encoder=tiny_encoder(), folder=tmp_path, dev=dev)
    judged = told.of(Evaluated)[1:]
    best = max(judged, key=lambda event: event.score)
    assert best.step < judged[-1].step
    assert [event for event in judged if event.best][-1] == best
    assert outcome.after["score"] == best.score
    encoder = load_folder(outcome.model)
    left, right = (encoder.encode(column) for column in dev.texts)
    cosines = (left * right).sum(1)
    ranks = [np.argsort(np.argsort(values)) for values in (cosines, dev.targets)]
    assert np.corrcoef(*ranks)[0, 1] == pytest.approx(best.score, abs=0.02)  # ties broken otherwise
    assert [path.name for path in (tmp_path / "checkpoints").iterdir()] == [f"step-{best.step:09d}"]


@pytest.mark.parametrize("kind", ["scored_pairs", "labelled_pairs", "positive_pairs", "labelled_texts", "sentences"])
def test_auto_trains_on_every_kind_of_examples(tmp_path: Path, kind: str) -> None:
    examples = {
        "scored_pairs": scored_pairs,
        "labelled_pairs": labelled_pairs,
        "positive_pairs": positive_pairs,
        "labelled_texts": labelled_texts,
        "sentences": bare_sentences,
    }[kind](32)
    told = Told()
    outcome = train(small_spec(loss="auto", epochs=1), examples, told, never, encoder=tiny_encoder(), folder=tmp_path)
    assert outcome.status == "finished"
    assert load_folder(outcome.model).encode(["cat dog"]).shape == (1, 32)
    if kind == "sentences":
        assert outcome.after == {}
        assert any("last weights" in event.message for event in told.of(Notice))
    else:
        assert told[0].dev_rows > 0
        assert outcome.after["rows"] == told[0].dev_rows


def test_stop_keeps_the_best_and_the_last(tmp_path: Path) -> None:
    told = Told()

    def stop() -> bool:
        return len(told.of(Evaluated)) >= 2 and told.of(Step)[-1].step >= 11

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(events, "_SHOWN_EVERY", 0.0)
        outcome = train(
            small_spec(epochs=4), scored_pairs(), told, stop, encoder=tiny_encoder(), folder=tmp_path, dev=scored_pairs(40, seed=5)
        )
    assert isinstance(told[-1], Stopped)
    assert outcome.status == "stopped"
    assert outcome.steps == 11
    assert sorted(path.name for path in (tmp_path / "checkpoints").iterdir()) == ["best-000000008", "step-000000008", "step-000000011"]
    assert outcome.after["score"] == told.of(Evaluated)[1].score
    assert load_folder(outcome.model).dim == 32


def test_a_run_stopped_before_it_was_judged_is_judged_then_and_not_resumed_on_other_data(tmp_path: Path) -> None:
    told = Told()
    outcome = train(
        small_spec(), scored_pairs(), told, lambda: len(told.of(Step)) > 0, encoder=tiny_encoder(), folder=tmp_path, dev=scored_pairs(40, 5)
    )
    assert outcome.steps < 8
    assert outcome.after["score"] == told.of(Evaluated)[-1].score
    told = Told()
    train(small_spec(), scored_pairs(), told, lambda: len(told.of(Step)) > 0, encoder=tiny_encoder(), folder=tmp_path)
    with pytest.raises(StudioError, match="different settings or data"):
        train(small_spec(), scored_pairs(seed=9), Told(), never, encoder=tiny_encoder(), folder=tmp_path, resume=True)


def test_a_finished_run_that_is_resumed_says_again_how_it_ended(tmp_path: Path) -> None:
    first = train(small_spec(), scored_pairs(24), Told(), never, encoder=tiny_encoder(), folder=tmp_path)
    told = Told()
    second = train(small_spec(), scored_pairs(24), told, never, encoder=tiny_encoder(), folder=tmp_path, resume=True)
    assert second == first
    assert [type(event) for event in told] == [Finished]
    card = (first.model / "README.md").read_text(encoding="utf-8").replace("\\", "")
    assert all(describe_score(scores) in card for scores in (first.before, first.after))


def test_an_adapter_names_the_weights_it_was_trained_on_without_a_path_of_this_machine(tmp_path: Path) -> None:
    assert adapter_base("all-MiniLM-L6-v2") == "sentence-transformers/all-MiniLM-L6-v2"
    assert adapter_base("run-0123456789") == "run-0123456789"
    assert adapter_base(str(tmp_path)) == tmp_path.name
    local = tiny_encoder()
    local.base = None
    spec = small_spec(model=str(tmp_path), method="lora", epochs=1)
    outcome = train(spec, scored_pairs(16), Told(), never, encoder=local, folder=tmp_path / "run")
    written = [path.read_text() for path in (outcome.adapter / "adapter_config.json", outcome.model / "README.md")]
    assert json.loads(written[0])["base_model_name_or_path"] == tmp_path.name
    assert not any(str(tmp_path) in text for text in written)


def test_the_softmax_head_learns_and_stays_with_the_checkpoint(tmp_path: Path) -> None:
    from safetensors.torch import load_file

    outcome = train(small_spec(loss="softmax"), labelled_pairs(24), Told(), never, encoder=tiny_encoder(), folder=tmp_path)
    (checkpoint,) = (tmp_path / "checkpoints").iterdir()
    head = load_file(checkpoint / "objective.safetensors")
    assert head["head.weight"].shape == (3, 96)
    assert not any("head" in name for name in weights(outcome.model))


@pytest.mark.parametrize("activation", ["gelu", "tanh", "identity"])
def test_pooling_projection_and_matryoshka_reach_the_saved_model(activation: str, tmp_path: Path) -> None:
    spec = small_spec(loss="cosine", pooling="cls", projection=16, activation=activation, matryoshka="8,4", epochs=1)
    outcome = train(spec, scored_pairs(16), Told(), never, encoder=tiny_encoder(normalize=False), folder=tmp_path)
    encoder = load_folder(outcome.model)
    assert (encoder.dim, encoder.pooling.mode, encoder.config.activation) == (16, "cls", activation)
    (dense,) = encoder.layers
    assert dense.linear.bias is not None and dense.linear.bias.any()
    batch = encoder.collate(encoder.tokenize(["cat dog", "the red river"]))
    with torch.no_grad():
        first = encoder.backbone(**batch).last_hidden_state[:, 0]
        layer = torch.nn.functional.linear(first, dense.linear.weight, dense.linear.bias)
        expected = {"gelu": torch.nn.functional.gelu, "tanh": torch.tanh, "identity": lambda vectors: vectors}[activation](layer)
        torch.testing.assert_close(encoder(batch), expected)


def test_a_loss_that_is_not_finite_is_skipped_and_ends_the_run_after_five(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from sbert_studio.losses.cosine import CosineSimilarityLoss

    real, calls = CosineSimilarityLoss.compute, iter(range(1000))
    bad = {2, 3, *range(9, 99)}

    def sometimes(self: CosineSimilarityLoss, columns: object, targets: object, ids: object) -> torch.Tensor:
        loss = real(self, columns, targets, ids)  # type: ignore[arg-type]
        return loss * float("nan") if next(calls) in bad else loss

    monkeypatch.setattr(CosineSimilarityLoss, "compute", sometimes)
    told, encoder = Told(), tiny_encoder()
    with pytest.raises(StudioError, match="5 times in a row, up to step 14") as caught:
        train(small_spec(epochs=4), scored_pairs(), told, never, encoder=encoder, folder=tmp_path, dev=scored_pairs(20, 5))
    assert "rate" in caught.value.hint
    assert [event.message.split(";")[0] for event in told.of(Notice)][:2] == [
        f"the loss of step {step} was not a finite number" for step in (3, 4)
    ]
    assert all(torch.isfinite(parameter).all() for parameter in encoder.parameters())
    assert told.of(Saved)


def test_memory_that_runs_out_halves_the_rows_at_a_time_with_the_same_result(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from sbert_studio.models.transformer import TransformerEncoder

    spec = small_spec(loss="cosent", dropout=0.0, epochs=1)
    plain = train(spec, scored_pairs(24), Told(), never, encoder=tiny_encoder(), folder=tmp_path / "plain")
    real = TransformerEncoder.forward

    def narrow(self: TransformerEncoder, batch: dict[str, torch.Tensor]) -> torch.Tensor:
        if torch.is_grad_enabled() and len(batch["input_ids"]) > 6:
            raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2 GiB")
        return real(self, batch)

    monkeypatch.setattr(TransformerEncoder, "forward", narrow)
    told = Told()
    tight = train(spec, scored_pairs(24), told, never, encoder=tiny_encoder(), folder=tmp_path / "tight")
    assert told.notices("memory ran out at step 1; from now on, 2 rows are processed at a time, with the same result")
    for name, value in weights(plain.model).items():
        torch.testing.assert_close(weights(tight.model)[name], value, atol=2e-5, rtol=1e-3)


def test_a_full_disk_ends_the_run_with_the_last_good_checkpoint_intact(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import errno

    from sbert_studio.training import checkpoints

    real, written = checkpoints.write_tensors, iter(range(1000))

    def fill(path: Path, tensors: dict[str, torch.Tensor]) -> str:
        if next(written) == 4:  # the second file of the second checkpoint
            path.write_bytes(b"half")
            raise OSError(errno.ENOSPC, "No space left on device")
        return real(path, tensors)

    spec, examples = small_spec(checkpoint_every=3), scored_pairs(32)
    with monkeypatch.context() as patch:
        patch.setattr(checkpoints, "write_tensors", fill)
        with pytest.raises(StudioError, match="disk became full"):
            train(spec, examples, Told(), never, encoder=tiny_encoder(), folder=tmp_path / "run")
    assert [path.name for path in (tmp_path / "run" / "checkpoints").iterdir()] == ["step-000000003"]
    resumed = train(spec, examples, Told(), never, encoder=tiny_encoder(), folder=tmp_path / "run", resume=True)
    whole = train(spec, examples, Told(), never, encoder=tiny_encoder(), folder=tmp_path / "whole")
    assert all(torch.equal(value, weights(resumed.model)[name]) for name, value in weights(whole.model).items())


CPU = torch.device("cpu")


@pytest.mark.slow
def test_steps_that_are_queued_ahead_of_their_losses_change_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As on a GPU: a step's loss is looked at once four more are queued, and all before what is judged, written or ended."""
    monkeypatch.setattr(Throughput, "is_due", lambda _: True)

    def tune(folder: Path) -> tuple[Told, dict[str, torch.Tensor]]:
        told = Told()
        train(small_spec(epochs=2, checkpoint_every=3), scored_pairs(40), told, never, encoder=tiny_encoder(), folder=folder)
        return told, weights(folder / "model")

    plain, expected = tune(tmp_path / "plain")
    monkeypatch.setattr(loop, "queue_depth", lambda _: 4)
    ahead, found = tune(tmp_path / "ahead")
    assert all(torch.equal(found[name], value) for name, value in expected.items())
    assert [(step.step, step.loss) for step in ahead.of(Step)] == [(step.step, step.loss) for step in plain.of(Step)]
    assert [type(event) for event in ahead if not isinstance(event, Step)] == [
        type(event) for event in plain if not isinstance(event, Step)
    ]
    for saved in ahead.of(Saved):
        before = ahead[: ahead.index(saved)]
        assert Told(before).of(Step)[-1].step == saved.step, "all that a checkpoint holds was looked at"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("objective", "rows", "epochs", "rate"), [("supcon", 240, 3, 3e-3), ("batch_hard", 480, 6, 1e-3), ("supcon+prototypes", 240, 3, 3e-3)]
)
def test_a_run_draws_categories_together(tmp_path: Path, objective: str, rows: int, epochs: int, rate: float) -> None:
    examples, told = labelled_texts(rows), Told()
    spec = small_spec(loss=objective, epochs=epochs, batch_size=16, learning_rate=rate, dev_fraction=0.3)
    outcome = train(spec, examples, told, never, encoder=tiny_encoder(), folder=tmp_path)
    losses = [event.loss for event in told.of(Step)]
    assert losses[-1] < losses[0]
    assert outcome.after["metric"] == "nearest_neighbour_accuracy" and outcome.after["task"] == "categories"
    assert outcome.before["score"] < 0.9 and outcome.after["score"] > outcome.before["score"] + 0.03
    low, high = outcome.after["gain_interval"]
    assert low < outcome.after["score"] - outcome.before["score"] < high
    assert outcome.after["known_rows"] == len(examples) - told[0].dev_rows
    _, held = split_examples(examples, spec.dev_fraction, spec.seed)
    learned, _ = split_examples(examples, spec.dev_fraction, spec.seed)
    again = evaluate_examples(load_folder(outcome.model), held, reference=learned)
    assert again.scores["nearest_neighbour_accuracy"] == pytest.approx(outcome.after["score"], abs=0.05)


def test_the_held_out_texts_stand_in_proportion_and_no_text_is_on_both_sides() -> None:
    examples = labelled_texts(400)
    few = replace(examples, targets=np.where(np.arange(400) < 2, 4, examples.targets), labels=(*examples.labels, "rare"))
    learned, held = split_examples(few, 0.1, 12)
    assert learned.targets is not None and held.targets is not None
    assert not {*learned.texts[0]} & {*held.texts[0]}
    shares = np.bincount(held.targets, minlength=5) / np.bincount(few.targets, minlength=5)  # type: ignore[arg-type]
    assert (np.abs(shares[:4] - 0.1) < 0.03).all()
    assert shares[4] == 0, "two texts of a category are all learned from"


def test_the_judge_lays_texts_beside_the_learned_ones_and_pairs_beside_nothing() -> None:
    learned, held = split_examples(labelled_texts(100), 0.2, 3)
    assert Evaluator(held, train_rows=learned)(tiny_encoder())["known_rows"] == len(learned)
    assert Evaluator(positive_pairs(20), train_rows=positive_pairs(64)).known is None


def test_the_advisor_learns_categories_from_siblings() -> None:
    advice = advise(labelled_texts(400), info=MINILM)
    assert (advice.spec.loss, advice.spec.batch_size, advice.spec.learning_rate, advice.spec.epochs) == (
        "supcon+prototypes",
        32,
        2e-4,
        3.0,
    )
    assert any("should be close together" in reason for reason in advice.reasons)
    assert all(reason.endswith(".") for reason in advice.reasons)


def test_a_second_positive_is_no_negative_though_it_stands_beside_another_anchor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """(a, p), (a, q), (b, q): where a and b meet in a batch, q is no negative of a. The run tells the objective of all rows."""
    known: list[KnownPositives] = []
    made = KnownPositives.from_rows
    monkeypatch.setattr(trainer.KnownPositives, "from_rows", lambda *values: known.append(made(*values)) or known[-1])
    pairs = Examples("positive_pairs", (("cat", "cat", "dog", "red"), ("mat", "fast", "fast", "blue")), None, np.arange(4))
    spec = small_spec(loss="in_batch", dev_fraction=0, epochs=1, batch_size=2)
    train(spec, pairs, Told(), never, encoder=tiny_encoder(), folder=tmp_path)
    (relation,) = known
    # Ids in the order of the texts: cat dog red mat fast blue, whatever numbers they have.
    ids = {text: place for place, text in enumerate(dict.fromkeys(text for column in pairs.texts for text in column))}
    held = relation.contains(torch.tensor([ids["cat"], ids["red"]]), torch.tensor([ids["mat"], ids["fast"], ids["blue"], ids["dog"]]))
    assert held.tolist() == [[True, True, False, False], [False, False, True, False]]


def test_pairs_made_of_categories_are_siblings_in_training_and_judging() -> None:
    texts = tuple(f"{topic} {place}" for topic in ("cat dog", "river stone", "bread milk") for place in ("red", "blue", "fast", "slow"))
    names = tuple(topic for topic in ("a", "b", "c") for _ in range(4))
    sentences = Examples("sentences", (texts,), None, np.arange(12), (), names)
    pairs = convert(sentences, "classes_to_pairs")
    classes = find_pair_classes(pairs)
    assert classes is not None and len(set(classes.tolist())) == 3
    topics = Examples("positive_pairs", (texts, tuple(f"answer {text}" for text in texts)), None, np.arange(12), (), names)
    assert find_pair_classes(topics) is None, "topics of questions are no classes"

    ring = np.arange(12).reshape(3, 4)
    relation = KnownPositives.from_rows(np.stack([ring.ravel(), np.roll(ring, -1, axis=1).ravel()]), np.repeat([0, 1, 2], 4))
    assert relation.contains(torch.tensor([0]), torch.tensor([2, 5, 10])).tolist() == [[True, False, False]]


def test_a_head_is_fitted_to_the_untuned_vectors_where_there_is_one() -> None:
    encoder, examples, spec = tiny_encoder(), labelled_pairs(), small_spec(loss="softmax")
    before = {name: weight.clone() for name, weight in encoder.state_dict().items()}
    objective = build_loss("softmax", {}, dim=encoder.dim, labels=3)
    columns = [torch.from_numpy(encoder.encode(column)) for column in examples.texts]
    targets = torch.from_numpy(examples.targets)
    untouched = objective.compute(columns, targets, None).item()
    assert fit_head(spec, objective, encoder, examples, Processes(CPU))
    loss = objective.compute(columns, targets, None)
    assert loss.item() < 0.8 * untouched
    loss.backward()
    weight = objective.head.weight  # type: ignore[union-attr]
    assert torch.allclose(weight.grad, -2e-4 * weight, atol=1e-3), "the gradient is that of the decay alone"
    assert all(torch.equal(weight, before[name]) for name, weight in encoder.state_dict().items()), "the encoder is as it was"
    encoder, examples = tiny_encoder(), labelled_pairs()
    plain = build_loss("softmax", {"probe": "no"}, dim=encoder.dim, labels=3)
    head = plain.head.weight.clone()  # type: ignore[union-attr]
    assert not fit_head(small_spec(loss="softmax"), plain, encoder, examples, Processes(CPU))
    assert torch.equal(plain.head.weight, head)  # type: ignore[union-attr]
    assert not fit_head(small_spec(), build_loss("cosine", {}, dim=encoder.dim), encoder, examples, Processes(CPU))


@pytest.mark.slow
def test_labels_may_be_judged_by_scores(tmp_path: Path) -> None:
    """A held-out file of another kind picks the best moment by its own measure."""
    pairs = scored_pairs(60, seed=7)
    table = table_from_columns(
        "scores.csv",
        {"sentence1": pairs.texts[0], "sentence2": pairs.texts[1], "score": [f"{5 * score:.2f}" for score in pairs.targets]},
        pairs.lines,
    )
    words = [labelled_pairs().labels[index] for index in labelled_pairs().targets]
    labels = table_from_columns(
        "labels.csv",
        {"premise": labelled_pairs().texts[0], "hypothesis": labelled_pairs().texts[1], "label": words},
        labelled_pairs().lines,
    )
    roles = infer_roles(labels)
    examples, dev = build_examples(labels, roles)[0], build_dev_examples(table, roles)[0]
    assert (examples.kind, dev.kind) == ("labelled_pairs", "scored_pairs")
    told = Told()
    outcome = train(small_spec(loss="softmax", epochs=0.5), examples, told, never, encoder=tiny_encoder(), folder=tmp_path, dev=dev)
    assert outcome.before["metric"] == "cosine_spearman"
    assert told.of(Evaluated)[0].scores["task"] == "sts"
