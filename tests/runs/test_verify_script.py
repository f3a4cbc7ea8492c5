"""The scripts that travel with an export compute the same scores as the program."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from models.families import words

from sbert_studio.evaluation.tasks.retrieval import evaluate_retrieval
from sbert_studio.models.modules.recurrent import GRU, LSTM
from sbert_studio.runs.export.base import render
from sbert_studio.runs.export.bundle import verify_script
from sbert_studio.training.spec import TrainSpec

ANCHORS = ["Card lost", "card  LOST", "pin", "fee", "fee"]
POSITIVES = ["stolen card", "Stolen  card", "my code", "what it costs", "price"]


def functions(template: str, folder: Path) -> dict[str, Any]:
    """Return what a script defines; it runs nothing on import."""
    found: dict[str, Any] = {"__name__": "verify", "__file__": str(folder / "verify.py")}
    exec(compile(render(template), "verify.py", "exec"), found)
    return found


@pytest.mark.parametrize(("network", "pooling", "opens"), [(LSTM, "last", True), (GRU, "last", False), (LSTM, "cls", False)])
def test_only_what_opens_in_sentence_transformers_has_a_script(network: Any, pooling: str, opens: bool, tmp_path: Path) -> None:
    model = words(network)
    model.set_pooling(pooling)
    model.save(tmp_path / "model")
    assert (verify_script(TrainSpec(), tmp_path / "model") is not None) == opens


@pytest.mark.parametrize("zero", [None, 2], ids=["texts that differ in case only", "and a text without a vector"])
def test_retrieval_ranks_as_the_program_does(tmp_path: Path, zero: int | None) -> None:
    vectors = [np.random.default_rng(seed).normal(size=(5, 6)) for seed in (0, 4)]
    if zero is not None:
        vectors[0][zero] = 0
    ours = evaluate_retrieval(*(one.astype(np.float32) for one in vectors), ANCHORS, POSITIVES).scores["mrr_at_10"]
    theirs = functions("verify_siamese.py.j2", tmp_path)["mrr_at_10"]([ANCHORS, POSITIVES], [None] * 5, vectors)
    assert theirs == pytest.approx(ours)


def test_a_poly_encoders_script_encodes_such_texts_as_they_are_spelt_first(tmp_path: Path) -> None:
    seen: list[list[str]] = []

    class Poly:
        def queries(self, texts: list[str]) -> list[np.ndarray]:
            seen.append(texts)
            return [np.eye(5)[place][None] for place in range(len(texts))]

        def candidates(self, texts: list[str]) -> np.ndarray:
            seen.append(texts)
            return np.eye(5)[: len(texts)]

        def score(self, query: np.ndarray, candidates: np.ndarray) -> np.ndarray:
            return np.asarray((query @ candidates.T)[0])

    assert functions("verify_poly.py.j2", tmp_path)["mrr_at_10"](Poly(), [ANCHORS, POSITIVES], [None] * 5) == 1
    assert seen == [["stolen card", "my code", "what it costs", "price"], ["Card lost", "pin", "fee"]]
