"""Models that score pairs say with packed weights what they say with plain ones."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from sbert_studio.models.cross_encoder import CrossEncoder, load_cross, new_cross
from sbert_studio.models.inference.packing import FusedLayer, PackedLinear, can_pack
from sbert_studio.models.poly_encoder import PolyEncoder

from .tiny import TEXTS, tiny_encoder

pytestmark = pytest.mark.skipif(not can_pack(torch.float32), reason="this build of PyTorch has no packed products")
PAIRS = [(a, b) for a in TEXTS[:5] for b in TEXTS[4:]]


def _kinds(model: torch.nn.Module) -> set[type]:
    return {type(module) for module in model.modules()}


@pytest.mark.parametrize("labels", [1, 3])
@pytest.mark.parametrize("kind", ["bert", "roberta", "llama"])
def test_a_packed_cross_encoder_gives_the_scores_of_the_plain_one(kind: str, labels: int, tmp_path: Path) -> None:
    tiny_encoder(kind).save(tmp_path / "base")
    new_cross(tmp_path / "base", head="mlp", labels=labels).save(tmp_path / "cross")
    plain, packed = load_cross(tmp_path / "cross"), load_cross(tmp_path / "cross")
    described, fingerprint = packed.describe(), packed.fingerprint
    assert isinstance(packed.freeze(packed=True), CrossEncoder)
    assert PackedLinear in _kinds(packed) and (FusedLayer in _kinds(packed)) == (kind != "llama")
    np.testing.assert_allclose(packed.predict(PAIRS), plain.predict(PAIRS), atol=2e-5)
    assert (packed.describe(), packed.fingerprint) == (described, fingerprint)


def test_a_packed_poly_encoder_gives_the_scores_of_the_plain_one() -> None:
    plain, packed = (PolyEncoder(tiny_encoder("bert"), 5) for _ in range(2))
    packed.freeze(packed=True)
    assert FusedLayer in _kinds(packed)
    np.testing.assert_allclose(packed.predict(PAIRS), plain.predict(PAIRS), atol=2e-5)
    assert packed.fingerprint == plain.fingerprint
    assert packed.describe()["parameters"] == plain.describe()["parameters"]
