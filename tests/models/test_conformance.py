"""What holds of every family of models: its answers, its folder, its training, its adapters, and what is said of it."""

from __future__ import annotations

import itertools
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from tiny_studio import cut

from sbert_studio.errors import StudioError
from sbert_studio.models.base import Encoder, PairScorer
from sbert_studio.models.card import CardFacts
from sbert_studio.models.cross_encoder import CrossEncoder
from sbert_studio.models.io.digests import DIGESTS_FILE as DIGESTS
from sbert_studio.models.io.sources import read_model_info
from sbert_studio.models.trainable import Trainable
from sbert_studio.training import events
from sbert_studio.training.events import Event, Step
from sbert_studio.training.prepare import prepare
from sbert_studio.training.spec import TrainSpec
from sbert_studio.training.steps import Processes
from sbert_studio.training.trainer import TrainingOutcome, train

from .families import FAMILIES, PARTNERS, Family, answers, pairs
from .tiny import TEXTS

WHOLE = [family for family in FAMILIES if family.whole]
every = pytest.mark.parametrize("family", FAMILIES, ids=str)
each_whole = pytest.mark.parametrize("family", WHOLE, ids=str)


def spec_of(family: Family, **values: Any) -> TrainSpec:
    usual = {"model": "tiny", "loss": "cosine", "epochs": 2, "batch_size": 8, "learning_rate": 2e-3, "precision": "float32"}
    return TrainSpec(**{**usual, "dropout": 0.0, "checkpoint_every": 5, "blend": False, **family.spec, **values})


def ready(family: Family, **values: Any) -> tuple[Trainable, Any, Callable[[], torch.Tensor]]:
    """A model and its objective as a training begins with them, and the loss of all of ``pairs(16)``."""
    model, examples, spec = family.make(), pairs(16), spec_of(family, **values)
    objective = prepare(spec, model, examples, Processes(torch.device("cpu")))
    rows, places = model.training_rows(examples), np.arange(16)
    columns = len(rows.names(places, 1, model.device))

    def loss() -> torch.Tensor:
        vectors = model(rows.inputs(places, 1, model.device))
        return objective(vectors.chunk(columns), rows.targets_of(places, model.device), rows.names(places, 1, model.device))

    return model, objective, loss


def bits_equal(one: Mapping[str, torch.Tensor], other: Mapping[str, torch.Tensor]) -> bool:
    return one.keys() == other.keys() and all(torch.equal(one[name], other[name]) for name in one)


# -- answers --------------------------------------------------------------------------------------------------------------


@every
def test_an_answer_depends_on_its_text_alone(family: Family, monkeypatch: pytest.MonkeyPatch) -> None:
    model = family.make()
    found = answers(model, TEXTS, PARTNERS)
    assert found.dtype == np.float32 and found.flags.c_contiguous and np.isfinite(found).all()
    assert len(found) == len(TEXTS) and np.abs(found[0] - found[1]).max() > 1e-3
    alone = np.concatenate([answers(model, [text], [partner]) for text, partner in zip(TEXTS, PARTNERS, strict=True)])
    np.testing.assert_allclose(found, alone, atol=5e-6)
    order = np.random.default_rng(3).permutation(len(TEXTS))
    shuffled = answers(model, [TEXTS[place] for place in order], [PARTNERS[place] for place in order])
    np.testing.assert_allclose(shuffled, found[order], atol=5e-6)
    for name, module in list(sys.modules.items()):
        if name.startswith("sbert_studio.models.") and hasattr(module, "token_budget"):
            monkeypatch.setattr(module, "token_budget", lambda device: (17, 2))
    np.testing.assert_allclose(answers(model, TEXTS, PARTNERS), found, atol=5e-6)


@every
def test_a_gradient_reaches_every_weight_that_is_read(family: Family) -> None:
    model, objective, loss = ready(family)
    loss().backward()
    learning = {**dict(model.named_parameters()), **dict(objective.named_parameters())}
    without = {
        name for name, weight in learning.items() if weight.requires_grad and (weight.grad is None or not weight.grad.to_dense().any())
    }
    assert {name for name in without if not name.endswith(family.unread or "\0")} == set()


# -- the folder -----------------------------------------------------------------------------------------------------------


@every
def test_a_saved_model_is_the_same_to_the_bit_and_is_what_is_said_of_it(family: Family, tmp_path: Path) -> None:
    model = family.make()
    model.save(tmp_path / "it", card=model.card(CardFacts(title="tiny")))
    again = family.load(tmp_path / "it")
    assert bits_equal(again.state_dict(), model.state_dict())
    np.testing.assert_allclose(answers(again, TEXTS, PARTNERS), answers(model, TEXTS, PARTNERS), atol=1e-6)
    said = model.describe()
    assert again.describe() | {"name": ""} == said | {"name": ""}
    again.save(tmp_path / "more")
    more = family.load(tmp_path / "more")
    assert more.fingerprint == again.fingerprint, "wherever it lies"
    with torch.no_grad():
        next(more.parameters()).add_(1)
    assert more.fingerprint != again.fingerprint, "another weight"
    assert {path.suffix for path in (tmp_path / "it").rglob("*") if path.is_file()} <= {".json", ".safetensors", ".md", ".jinja", ".txt"}
    info, reads_pairs = read_model_info(tmp_path / "it"), isinstance(model, PairScorer)
    assert (info.damaged, info.reads) == ("", "pairs" if reads_pairs else "texts")
    assert (info.dim, info.pooling) == ((0, "") if isinstance(model, CrossEncoder) else (said["dim"], said["pooling"]))
    assert (info.parameters, info.max_length) == (said["parameters"], said["max_length"])
    card = (tmp_path / "it" / "README.md").read_text(encoding="utf-8")
    assert f"up to {said['max_length']} tokens" in card or ("texts of any length" in card and said["max_length"] == 1_000_000)
    assert reads_pairs or (f"vector of {said['dim']} components" in card and f"{said['pooling']} pooling" in card)


def no_json(path: Path) -> None:
    path.write_text("[1, 2", encoding="utf-8")


@each_whole
@pytest.mark.slow
def test_a_damaged_folder_is_refused_by_the_name_of_the_file(family: Family, tmp_path: Path) -> None:
    family.make().save(tmp_path / "it")
    files = [path for path in (tmp_path / "it").rglob("*") if path.suffix in (".json", ".safetensors") and path.name != DIGESTS]
    refused = set()
    for path, harm in itertools.product(files, (cut, Path.unlink, no_json)):
        whole = path.read_bytes()
        harm(path)
        try:
            family.load(tmp_path / "it")
        except StudioError as error:
            refused.add((path, harm))
            assert path.name in error.message and error.hint and "\n" not in str(error), (path, harm, str(error))
        path.write_bytes(whole)
    assert {path for path, harm in refused if harm is not Path.unlink} >= {path for path in files if path.suffix == ".safetensors"}
    decides = {path for path in files if path.suffix == ".safetensors" or path.name in ("modules.json", "config.json", "tokenizer.json")}
    settings = {path for path in decides if path.parent.name.endswith("_Normalize")}
    assert {path for path, harm in refused if harm is Path.unlink} >= decides - settings


# -- training -------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Trained:
    outcome: TrainingOutcome
    losses: list[float]


def tuned(family: Family, folder: Path, *, stop_after: int = 1_000, resume: bool = False) -> Trained:
    told: list[Event] = []
    asked = itertools.count()
    outcome = train(
        spec_of(family), pairs(), told.append, lambda: next(asked) >= stop_after,
        encoder=family.make(), folder=folder, dev=pairs(30, seed=5), resume=resume,
    )  # fmt: skip
    return Trained(outcome, [event.loss for event in told if isinstance(event, Step)])


@pytest.fixture
def every_step(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(events, "_SHOWN_EVERY", 0.0)
    yield


@each_whole
@pytest.mark.usefixtures("every_step")
@pytest.mark.slow
def test_steps_lower_the_loss_and_a_run_that_is_resumed_ends_in_the_same_bits(family: Family, tmp_path: Path) -> None:
    """16 steps; stopped after 11, in the second epoch, where the last checkpoint is that of step 11."""
    whole = tuned(family, tmp_path / "whole")
    assert whole.outcome.status == "finished" and len(whole.losses) == 16
    assert np.mean(whole.losses[-8:]) < np.mean(whole.losses[:8])
    assert tuned(family, tmp_path / "cut", stop_after=11).outcome.status == "stopped"
    again = tuned(family, tmp_path / "cut", resume=True)
    assert again.outcome.after == whole.outcome.after and again.losses == whole.losses[11:]
    one, other = (family.load(run.outcome.model).state_dict() for run in (whole, again))
    assert bits_equal(one, other) and not bits_equal(one, family.make().state_dict())


# -- LoRA -----------------------------------------------------------------------------------------------------------------


@every
def test_an_adapter_learns_and_is_merged_or_is_refused_in_words(family: Family, tmp_path: Path) -> None:
    if not family.adapts:
        with pytest.raises(StudioError, match="no layers for an adapter"):
            ready(family, method="lora")
        return
    model, _, loss = ready(family, method="lora", lora_r=4, lora_dropout=0.0)
    learning = {name: weight for name, weight in model.named_parameters() if weight.requires_grad}
    heads = (*family.make().heads, "codes")
    assert any("lora_" in name for name in learning)
    assert all("lora_" in name or any(head in name for head in heads) for name in learning)
    untuned = answers(family.make(), TEXTS, PARTNERS)
    optimiser = torch.optim.SGD(learning.values(), lr=1.0)
    for _ in range(2):
        optimiser.zero_grad()
        loss().backward()
        optimiser.step()
    model.eval()
    unmerged = answers(model, TEXTS, PARTNERS)
    assert np.abs(unmerged - untuned).max() > 1e-5
    model.save_adapter(tmp_path / "adapter", "owner/base")
    assert (tmp_path / "adapter" / "adapter_model.safetensors").is_file()
    if isinstance(model, Encoder):
        model.save(tmp_path / "unmerged")
        assert model.has_adapter, "only a copy is merged into the folder"
        np.testing.assert_allclose(answers(family.load(tmp_path / "unmerged"), TEXTS, PARTNERS), unmerged, atol=1e-5)
    else:
        with pytest.raises(StudioError, match="merge the adapter first"):
            model.save(tmp_path / "unmerged")
    model.merge_adapter()
    assert not model.has_adapter and type(model.adaptable).__name__ == type(family.make().adaptable).__name__
    model.save(tmp_path / "merged")
    np.testing.assert_allclose(answers(model, TEXTS, PARTNERS), unmerged, atol=1e-5, rtol=1e-5)
    assert bits_equal(family.load(tmp_path / "merged").state_dict(), model.state_dict())
