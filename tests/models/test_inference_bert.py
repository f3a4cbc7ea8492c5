"""Backbones read for inference alone give what the library's own give, to the bit; whatever is unusual is left to the library."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file

from sbert_studio.errors import StudioError
from sbert_studio.models.inference.bert import NETWORKS, InferenceBackbone, remap_weights
from sbert_studio.models.io.load import load_folder

from .tiny import BACKBONES, TEXTS, tiny_encoder

Weights = dict[str, torch.Tensor]


def vectors_of(folder: Path, precision: str, *, frozen: bool) -> tuple[np.ndarray, str, bool]:
    """Vectors, fingerprint, and whether the backbone is a lean one."""
    encoder = load_folder(folder, "one", "cpu", frozen).freeze(precision)
    return encoder.encode(TEXTS), encoder.fingerprint, isinstance(encoder.backbone, InferenceBackbone)


def rewritten(folder: Path, change: Callable[[Weights], Weights]) -> None:
    save_file(change(load_file(folder / "model.safetensors")), folder / "model.safetensors")


def settled(folder: Path, **changes: object) -> None:
    path = folder / "config.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))


@pytest.fixture
def bert(tmp_path: Path) -> Path:
    tiny_encoder().save(tmp_path / "bert")
    (tmp_path / "bert/digests.json").unlink()
    return tmp_path / "bert"


def assert_same_bits(folder: Path, precision: str = "float32", *, is_lean: bool) -> None:
    """Both ways of loading give the same vectors and fingerprint, the frozen one by the backbone for inference if ``is_lean``."""
    plain, known, _ = vectors_of(folder, precision, frozen=False)
    found, fingerprint, used = vectors_of(folder, precision, frozen=True)
    np.testing.assert_array_equal(found, plain)
    assert fingerprint == known and used == is_lean


@pytest.mark.parametrize(
    ("kind", "precision"),
    [
        *((kind, "float32") for kind in BACKBONES),
        *((kind, precision) for kind in ("bert", "roberta") for precision in ("bfloat16", "int8")),
    ],
)
def test_every_family_gives_the_same_bits_whichever_way_it_is_read(kind: str, precision: str, tmp_path: Path) -> None:
    tiny_encoder(kind).save(tmp_path / "model")
    assert_same_bits(tmp_path / "model", precision, is_lean=kind in NETWORKS)


FILES: dict[str, tuple[Callable[[str, torch.Tensor], Weights], bool]] = {
    "half precision": (lambda name, weight: {name: weight.half()}, True),
    "no pooler": (lambda name, weight: {} if "pooler" in name else {name: weight}, True),
    "prefixed": (lambda name, weight: {f"bert.{name}": weight}, False),
    "legacy names": (
        lambda name, weight: {name.replace("LayerNorm.weight", "LayerNorm.gamma").replace("LayerNorm.bias", "LayerNorm.beta"): weight},
        False,
    ),
}


@pytest.mark.parametrize("file", FILES)
def test_unusual_weights_are_converted_or_left_to_the_library(file: str, bert: Path) -> None:
    change, is_lean = FILES[file]
    rewritten(bert, lambda weights: {new: value for name, weight in weights.items() for new, value in change(name, weight).items()})
    assert_same_bits(bert, is_lean=is_lean)


@pytest.mark.parametrize("changes", [{"is_decoder": True}, {"hidden_act": "gelu_new"}, {"chunk_size_feed_forward": 1}])
def test_unusual_settings_are_left_to_the_library(changes: dict[str, object], bert: Path) -> None:
    settled(bert, **changes)
    assert_same_bits(bert, is_lean=False)


@pytest.mark.slow
def test_the_bundled_model_gives_the_same_bits(tmp_path: Path) -> None:
    from sbert_studio.models.io.bundled import bundled_folder
    from sbert_studio.workspace import Workspace

    folder = bundled_folder("all-MiniLM-L6-v2", Workspace(tmp_path))
    texts = [*TEXTS, "a long one " * 90, *(f"text {number} " * (number % 17) for number in range(40))]
    lean, plain = (load_folder(folder, "one", "cpu", frozen).freeze() for frozen in (True, False))
    assert isinstance(lean.backbone, InferenceBackbone)
    np.testing.assert_array_equal(lean.encode(texts), plain.encode(texts))
    assert lean.fingerprint == plain.fingerprint


def _without_layer(weights: Weights) -> Weights:
    return {name: weight for name, weight in weights.items() if "layer.1." not in name}


def _with_layer(weights: Weights) -> Weights:
    return {**weights, **{name.replace("layer.1.", "layer.2."): weight.clone() for name, weight in weights.items() if "layer.1." in name}}


def _not_finite(weights: Weights) -> Weights:
    return {name: weight * float("nan") if name.endswith("query.bias") else weight for name, weight in weights.items()}


def _whole_numbers(weights: Weights) -> Weights:
    return {name: weight.to(torch.int8) if name.endswith("dense.weight") else weight for name, weight in weights.items()}


@pytest.mark.parametrize("spoil", [_without_layer, _with_layer, _not_finite, _whole_numbers])
def test_what_is_wrong_is_told_in_the_same_words(spoil: Callable[[Weights], Weights], bert: Path) -> None:
    rewritten(bert, spoil)
    words = []
    for frozen in (False, True):
        with pytest.raises(StudioError) as refused:
            load_folder(bert, "one", "cpu", frozen)
        words.append(str(refused.value))
    assert words[0] == words[1]


def test_a_lean_model_can_be_written_and_its_weights_mapped_anew(bert: Path, tmp_path: Path) -> None:
    load_folder(bert, "one", "cpu", True).save(tmp_path / "again")
    again, _, _ = vectors_of(tmp_path / "again", "float32", frozen=False)
    np.testing.assert_array_equal(again, vectors_of(bert, "float32", frozen=False)[0])
    encoder = load_folder(bert, "one", "cpu", True)
    first = encoder.backbone.embeddings.word_embeddings.weight
    before, place = first.clone(), first.data_ptr()
    expected = encoder.freeze().encode(TEXTS)
    assert torch.equal(first, before) and first.data_ptr() != place
    place = first.data_ptr()
    rewritten(bert, lambda weights: {name: weight * 2 for name, weight in weights.items()})
    remap_weights(encoder.backbone)
    assert first.data_ptr() == place
    (bert / "model.safetensors").unlink()
    remap_weights(encoder.backbone)
    np.testing.assert_array_equal(encoder.encode(TEXTS), expected)
