from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import torch

from sbert_studio.errors import StudioError
from sbert_studio.models.io.load import load_folder
from sbert_studio.training import events
from sbert_studio.training.artifacts import adapter_base
from sbert_studio.training.events import Evaluated, Finished, Notice, Saved, Started, Step, Stopped
from sbert_studio.training.trainer import train

from .tiny import (
    Told,
    bare_sentences,
    labelled_pairs,
    labelled_texts,
    never,
    positive_pairs,
    scored_pairs,
    sentences,
    small_spec,
    tiny_encoder,
    weights,
)

pytestmark = pytest.mark.slow


def test_the_loss_goes_down_and_the_held_out_score_up(tmp_path: Path) -> None:
    told = Told()
    spec = small_spec(epochs=8, learning_rate=3e-3, dropout=0.0)
    outcome = train(spec, scored_pairs(160), told, never, encoder=tiny_encoder(), folder=tmp_path, dev=scored_pairs(60, seed=7))
    losses = [event.loss for event in told.of(Step)]
    assert isinstance(told[0], Started)
    assert isinstance(told[-1], Finished)
    assert told.of(Step)[0].step == 1
    assert told.of(Step)[-1].step == told[0].steps == outcome.steps == 160
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
    }[kind]()
    told = Told()
    outcome = train(small_spec(objective="auto", epochs=1), examples, told, never, encoder=tiny_encoder(), folder=tmp_path)
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


def test_a_run_that_is_stopped_before_it_was_judged_is_judged_then(tmp_path: Path) -> None:
    told = Told()
    outcome = train(
        small_spec(), scored_pairs(), told, lambda: len(told.of(Step)) > 0, encoder=tiny_encoder(), folder=tmp_path, dev=scored_pairs(40, 5)
    )
    assert outcome.steps < 8
    assert outcome.after["score"] == told.of(Evaluated)[-1].score


def test_a_stopped_run_that_is_resumed_ends_as_one_that_was_not(tmp_path: Path) -> None:
    spec, examples, dev = small_spec(epochs=3), scored_pairs(), scored_pairs(40, 5)
    told = Told()
    whole = train(spec, examples, Told(), never, encoder=tiny_encoder(), folder=tmp_path / "whole", dev=dev)
    train(spec, examples, told, lambda: len(told.of(Step)) > 0, encoder=tiny_encoder(), folder=tmp_path / "parts", dev=dev)
    again = Told()
    parts = train(spec, examples, again, never, encoder=tiny_encoder(), folder=tmp_path / "parts", dev=dev, resume=True)
    assert again[0].step > 0
    assert all(torch.equal(value, weights(parts.model)[name]) for name, value in weights(whole.model).items())
    assert parts.before == whole.before


def test_a_checkpoint_of_other_data_is_refused(tmp_path: Path) -> None:
    told = Told()
    train(small_spec(), scored_pairs(), told, lambda: len(told.of(Step)) > 0, encoder=tiny_encoder(), folder=tmp_path)
    with pytest.raises(StudioError, match="other settings or other data"):
        train(small_spec(), scored_pairs(seed=9), Told(), never, encoder=tiny_encoder(), folder=tmp_path, resume=True)


def test_a_finished_run_that_is_resumed_says_again_how_it_ended(tmp_path: Path) -> None:
    first = train(small_spec(), scored_pairs(), Told(), never, encoder=tiny_encoder(), folder=tmp_path)
    told = Told()
    second = train(small_spec(), scored_pairs(), told, never, encoder=tiny_encoder(), folder=tmp_path, resume=True)
    assert second == first
    assert [type(event) for event in told] == [Finished]


def test_lora_is_merged_and_its_adapter_kept(tmp_path: Path) -> None:
    spec = small_spec(model="tiny/tiny", method="lora", learning_rate=1e-2, lora_r=4)
    encoder, texts = tiny_encoder(), sentences(20)
    untuned = tiny_encoder().encode(texts)
    outcome = train(spec, scored_pairs(), Told(), never, encoder=encoder, folder=tmp_path)
    tuned = load_folder(outcome.model).encode(texts)
    assert np.abs(tuned - untuned).max() > 1e-3
    assert outcome.adapter is not None

    from sbert_studio.models.io.load import load_adapter

    unmerged = tiny_encoder()
    load_adapter(unmerged, outcome.adapter)
    np.testing.assert_allclose(unmerged.eval().encode(texts), tuned, atol=1e-5)
    assert json.loads((outcome.adapter / "adapter_config.json").read_text())["base_model_name_or_path"] == "tiny/tiny"


def test_an_adapter_names_the_weights_it_was_trained_on_without_a_path_of_this_machine(tmp_path: Path) -> None:
    assert adapter_base("all-MiniLM-L6-v2") == "sentence-transformers/all-MiniLM-L6-v2"
    assert adapter_base("run-0123456789") == "run-0123456789"
    assert adapter_base(str(tmp_path)) == tmp_path.name
    local = tiny_encoder()
    local.base = None
    spec = small_spec(model=str(tmp_path), method="lora", epochs=1)
    outcome = train(spec, scored_pairs(), Told(), never, encoder=local, folder=tmp_path / "run")
    assert outcome.adapter is not None
    written = [path.read_text() for path in (outcome.adapter / "adapter_config.json", outcome.model / "README.md")]
    assert json.loads(written[0])["base_model_name_or_path"] == tmp_path.name
    assert not any(str(tmp_path) in text for text in written)


def test_the_softmax_head_learns_and_stays_with_the_checkpoint(tmp_path: Path) -> None:
    from safetensors.torch import load_file

    outcome = train(small_spec(objective="softmax"), labelled_pairs(), Told(), never, encoder=tiny_encoder(), folder=tmp_path)
    (checkpoint,) = (tmp_path / "checkpoints").iterdir()
    head = load_file(checkpoint / "objective.safetensors")
    assert head["head.weight"].shape == (3, 96)
    assert not any("head" in name for name in weights(outcome.model))


@pytest.mark.parametrize("activation", ["gelu", "tanh", "identity"])
def test_pooling_projection_and_matryoshka_reach_the_saved_model(activation: str, tmp_path: Path) -> None:
    spec = small_spec(objective="cosine", pooling="cls", projection=16, activation=activation, matryoshka="8,4", epochs=1)
    outcome = train(spec, scored_pairs(), Told(), never, encoder=tiny_encoder(normalize=False), folder=tmp_path)
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


def test_the_card_holds_the_measured_scores(tmp_path: Path) -> None:
    outcome = train(small_spec(), scored_pairs(), Told(), never, encoder=tiny_encoder(), folder=tmp_path)
    card = (outcome.model / "README.md").read_text(encoding="utf-8")
    assert f"{outcome.after['score']:.4f}" in card
    assert f"{outcome.before['score']:.4f}" in card
    rows = [json.loads(line) for line in (tmp_path / "held_out.jsonl").read_text(encoding="utf-8").splitlines()]
    assert len(rows) == outcome.after["rows"]


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

    spec = small_spec(objective="cosent", dropout=0.0, epochs=1)
    plain = train(spec, scored_pairs(), Told(), never, encoder=tiny_encoder(), folder=tmp_path / "plain")
    real = TransformerEncoder.forward

    def narrow(self: TransformerEncoder, batch: dict[str, torch.Tensor]) -> torch.Tensor:
        if torch.is_grad_enabled() and len(batch["input_ids"]) > 6:
            raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2 GiB")
        return real(self, batch)

    monkeypatch.setattr(TransformerEncoder, "forward", narrow)
    told = Told()
    tight = train(spec, scored_pairs(), told, never, encoder=tiny_encoder(), folder=tmp_path / "tight")
    assert [event.message for event in told.of(Notice)][:1] == [
        f"memory ran out at step 1; {rows} rows are now computed at a time, with the same result" for rows in (2,)
    ]
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

    spec, examples = small_spec(checkpoint_every=3), scored_pairs()
    with monkeypatch.context() as patch:
        patch.setattr(checkpoints, "write_tensors", fill)
        with pytest.raises(StudioError, match="disk was full"):
            train(spec, examples, Told(), never, encoder=tiny_encoder(), folder=tmp_path / "run")
    assert [path.name for path in (tmp_path / "run" / "checkpoints").iterdir()] == ["step-000000003"]
    resumed = train(spec, examples, Told(), never, encoder=tiny_encoder(), folder=tmp_path / "run", resume=True)
    whole = train(spec, examples, Told(), never, encoder=tiny_encoder(), folder=tmp_path / "whole")
    assert all(torch.equal(value, weights(resumed.model)[name]) for name, value in weights(whole.model).items())


def test_an_objective_that_does_not_fit_the_examples_is_refused(tmp_path: Path) -> None:
    with pytest.raises(StudioError, match="does not learn from scored pairs") as caught:
        train(small_spec(objective="in_batch"), scored_pairs(), Told(), never, encoder=tiny_encoder(), folder=tmp_path)
    assert "cosent" in caught.value.hint
