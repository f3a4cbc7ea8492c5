from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from sentence_transformers import CrossEncoder as Peer

from sbert_studio.data.examples import Examples
from sbert_studio.errors import StudioError
from sbert_studio.models.base import EncodingStoppedError
from sbert_studio.models.cross_encoder import Head, create_cross_encoder, load_cross_encoder

from .tiny import TEXTS, tiny_cross, tiny_encoder

PAIRS = [(a, b) for a in TEXTS[:5] for b in TEXTS[4:]]


@pytest.fixture(params=["bert", "roberta", "llama"])
def base(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    tiny_encoder(request.param).save(tmp_path / "base")
    return tmp_path / "base"


@pytest.fixture
def bert(tmp_path: Path) -> Path:
    tiny_encoder("bert").save(tmp_path / "base")
    return tmp_path / "base"


@pytest.mark.parametrize("labels", [1, 3])
def test_a_saved_cross_encoder_opens_in_sentence_transformers(base: Path, labels: int, tmp_path: Path) -> None:
    model = create_cross_encoder(base, labels=labels)
    model.save(tmp_path / "cross")
    peer = Peer(str(tmp_path / "cross"), device="cpu", local_files_only=True)
    pairs = [pair for pair in PAIRS if all(pair)]
    np.testing.assert_allclose(peer.predict(pairs, show_progress_bar=False), model.predict(pairs), atol=1e-5)


@pytest.mark.parametrize("activation", [torch.nn.Sigmoid(), torch.nn.Identity()])
def test_a_cross_encoder_of_sentence_transformers_opens_here(bert: Path, activation: torch.nn.Module, tmp_path: Path) -> None:
    create_cross_encoder(bert).save(tmp_path / "first")
    peer = Peer(str(tmp_path / "first"), device="cpu", activation_fn=activation)
    peer.save_pretrained(str(tmp_path / "theirs"))
    ours = load_cross_encoder(tmp_path / "theirs")
    np.testing.assert_allclose(ours.predict(PAIRS), peer.predict(PAIRS, show_progress_bar=False), atol=1e-5)


@pytest.mark.parametrize("head", ["linear", "mlp"])
def test_the_new_head_is_drawn_from_its_seed(base: Path, head: Head) -> None:
    one, two, other = (
        create_cross_encoder(base, head=head, seed=1),
        create_cross_encoder(base, head=head, seed=1),
        create_cross_encoder(base, head=head, seed=2),
    )
    np.testing.assert_array_equal(one.predict(PAIRS), two.predict(PAIRS))
    assert np.abs(one.predict(PAIRS) - other.predict(PAIRS)).max() > 1e-4


def test_pairs_are_scored_once_in_order_and_cut_on_their_longer_side(bert: Path) -> None:
    model = create_cross_encoder(bert)
    seen: list[int] = []
    model.register_forward_pre_hook(lambda module, args: seen.append(len(args[0]["input_ids"])))
    scores = model.predict([("red", "the cat"), ("the cat", "red"), ("red", "the cat")])
    assert sum(seen) == 2 and scores[0] == scores[2] != scores[1]
    assert model.predict([]).shape == (0,)
    with pytest.raises(EncodingStoppedError):
        model.predict(PAIRS, should_stop=lambda: True)
    model = create_cross_encoder(bert)
    ((ids, segments),) = model.tokenize([("the " * 500, "red cat")])
    assert len(ids) == len(segments) == model.max_length == 64
    assert sum(segments) == 3
    with pytest.raises(StudioError, match="no trained head"):
        load_cross_encoder(bert)


@pytest.mark.parametrize("kind", ["bert", "xlnet"])
def test_training_pads_pairs_on_the_same_side_as_prediction(kind: str) -> None:
    encoder = tiny_cross(kind)
    texts = (("cat", "a dog runs", "cat"), ("dog sat", "the cat", "a long day at the park"))
    examples = Examples("scored_pairs", texts, np.array([0, 0.5, 1], np.float32), np.arange(3))
    rows = encoder.training_rows(examples)
    batch = rows.inputs(np.arange(3), 1, torch.device("cpu"))
    expected = encoder.collate(encoder.tokenize(list(zip(*texts, strict=True))))
    assert rows.pads_left == (kind == "xlnet") and not batch["attention_mask"].all()
    assert all(torch.equal(value, expected[name]) for name, value in batch.items())
    assert rows.lengths.tolist() == expected["attention_mask"].sum(dim=1).tolist()
    assert rows.targets_of(np.array([2, 1]), torch.device("cpu")).tolist() == [1, 0.5]
