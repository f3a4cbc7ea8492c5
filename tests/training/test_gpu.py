"""A GPU computes what the processor computes; where there is none, this is skipped."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from sbert_studio.models.io.load import load_folder
from sbert_studio.training import events
from sbert_studio.training.events import Step
from sbert_studio.training.trainer import train

from .tiny import (
    Told,
    cross_spec,
    labelled_pairs,
    labelled_texts,
    never,
    poly_spec,
    positive_pairs,
    scored_pairs,
    sentences,
    small_spec,
    tiny_cross,
    tiny_encoder,
    tiny_poly,
    weights,
)

if not torch.cuda.is_available():
    pytest.skip("there is no GPU", allow_module_level=True)

_OF = {
    "cosine": scored_pairs,
    "cosine+cosent": scored_pairs,
    "angle": scored_pairs,
    "softmax": labelled_pairs,
    "online_contrastive": labelled_pairs,
    "in_batch": positive_pairs,
    "supcon": labelled_texts,
}


def losses(spec: Any, encoder: Any, data: Any, folder: Path, *, resume: bool = False) -> list[float]:
    told = Told()
    train(spec, data, told, never, encoder=encoder, folder=folder, dev=scored_pairs(20, 5), resume=resume)
    return [event.loss for event in told.of(Step)]


def same_losses(spec: Any, fresh: Callable[[], Any], data: Any, folder: Path) -> None:
    on_gpu = fresh()
    on_gpu.to("cuda")
    found = losses(spec, on_gpu, data, folder / "gpu")
    assert found and on_gpu.device.type == "cuda"
    np.testing.assert_allclose(found, losses(spec, fresh(), data, folder / "cpu"), rtol=2e-3, atol=1e-4)


@pytest.fixture(autouse=True)
def every_step(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(events, "_SHOWN_EVERY", 0.0)


@pytest.mark.parametrize("objective", _OF)
@pytest.mark.parametrize("method", ["full", "lora"])
def test_the_losses_of_a_training_are_those_on_the_processor(objective: str, method: str, tmp_path: Path) -> None:
    spec = small_spec(loss=objective, method=method, dropout=0.0, lora_dropout=0.0, epochs=2, precision="float32")
    same_losses(spec, lambda: tiny_encoder(dropout=0.0), _OF[objective](48), tmp_path)


def test_a_cross_encoder_and_a_poly_encoder_learn_the_same(tmp_path: Path) -> None:
    usual: dict[str, Any] = {"dropout": 0.0, "epochs": 2, "precision": "float32"}
    same_losses(cross_spec(**usual), lambda: tiny_cross(dropout=0.0), scored_pairs(48), tmp_path / "cross")
    same_losses(poly_spec(**usual), tiny_poly, positive_pairs(48), tmp_path / "poly")


@pytest.mark.parametrize(("precision", "far"), [("float32", 1e-5), ("bfloat16", 2e-2)])
def test_the_vectors_are_those_on_the_processor(precision: str, far: float, tmp_path: Path) -> None:
    tiny_encoder().save(tmp_path / "model")
    texts = ["", "cat", *sentences(700), " ".join(sentences(20))]
    plain = load_folder(tmp_path / "model", "one", "cpu").encode(texts)
    for frozen in (False, True):
        encoder = load_folder(tmp_path / "model", "one", "cuda", frozen)
        if frozen:
            encoder.freeze(precision)
            encoder.enable_varlen()
        assert encoder.device.type == "cuda"
        np.testing.assert_allclose(encoder.encode(texts), plain, atol=far if frozen else 1e-5)


@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
def test_a_run_that_was_stopped_goes_on_as_if_it_had_not_been(precision: str, tmp_path: Path) -> None:
    spec = small_spec(epochs=3, precision=precision, dropout=0.1)
    whole, parts = tiny_encoder(), tiny_encoder()
    whole.to("cuda"), parts.to("cuda")
    data = scored_pairs(64)
    expected = losses(spec, whole, data, tmp_path / "whole")
    told = Told()
    train(spec, data, told, lambda: len(told.of(Step)) >= 5, encoder=parts, folder=tmp_path / "parts", dev=scored_pairs(20, 5))
    stopped = [event.loss for event in told.of(Step)]
    assert len(stopped) < len(expected)
    again = tiny_encoder()
    again.to("cuda")
    found = stopped + losses(spec, again, data, tmp_path / "parts", resume=True)
    np.testing.assert_allclose(found, expected, rtol=1e-4 if precision == "float32" else 2e-2, atol=1e-4)
    for name, weight in weights(tmp_path / "whole" / "model").items():
        torch.testing.assert_close(weights(tmp_path / "parts" / "model")[name], weight, rtol=1e-2, atol=1e-3)
