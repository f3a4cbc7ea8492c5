"""Encoding and training on a GPU that is lent a slice at a time, in a process that shares no memory with this one."""

from __future__ import annotations

import os
import sys
from collections import Counter
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hub_server import Repository, hub_server
from lender import lending
from tiny_studio import quick, sentences, studio_at, write_pairs
from waiting import wait_until

from sbert_studio.errors import StudioError
from sbert_studio.identity import signed_in, use_identity
from sbert_studio.models.catalog import Catalog
from sbert_studio.models.inference import zerogpu
from sbert_studio.models.inference import zerogpu as zerogpu_encoder
from sbert_studio.models.inference.machine import resolve_device
from sbert_studio.runs import execution
from sbert_studio.runs.run import Run
from sbert_studio.services import Studio, TrainRequest
from sbert_studio.settings import Settings
from sbert_studio.workspace import Workspace

pytestmark = [pytest.mark.skipif(sys.platform == "win32", reason="there is no fork"), pytest.mark.process]


def trained(studio: Studio, path: Path, **overrides: Any) -> Run:
    run = studio.fine_tune.submit(TrainRequest(path, overrides=quick(**overrides)))
    assert studio.runner.wait(run.id, 240)
    return studio.fine_tune.get_run(run.id).run


def events(studio: Studio, run: Run) -> list[dict[str, Any]]:
    return [event for _, event in studio.fine_tune.get_run(run.id).events]


class StepClock:
    """A slice of so many steps, however fast the machine is."""

    def __init__(self, steps: int) -> None:
        self.left = steps

    def is_over(self) -> bool:
        self.left -= 1
        return self.left < 0


def weights(run: Run) -> bytes:
    assert run.model_path is not None, run
    return (run.model_path / "model.safetensors").read_bytes()


@pytest.mark.slow
@pytest.mark.usefixtures("two_folds")
@pytest.mark.parametrize(
    ("steps", "more"), [(4, {"epochs": 2}), (4, {"seeds": 2}), (4, {"evaluation": "folds"})], ids=["one", "seeds", "folds"]
)
def test_a_training_in_slices_ends_in_the_same_bits(
    tmp_path: Path, tiny_model: Path, monkeypatch: pytest.MonkeyPatch, steps: int, more: dict[str, Any]
) -> None:
    path = write_pairs(tmp_path / "pairs.csv", 40)
    with studio_at(tmp_path / "whole", tiny_model) as studio:
        whole = trained(studio, path, **more)
        told = events(studio, whole)
    monkeypatch.setattr(execution, "_Deadline", lambda until: StepClock(steps))  # before the worker is forked
    with lending(tmp_path, monkeypatch) as package, studio_at(tmp_path / "sliced", tiny_model) as studio:
        sliced = trained(studio, path, **more)
        assert len(package.calls) > 2, "it took several slices"
        again = events(studio, sliced)
    assert (sliced.status, sliced.message) == ("finished", "") and weights(sliced) == weights(whole)
    assert sliced.after == whole.after and sliced.step == whole.step
    kinds, before = Counter(event["type"] for event in again), Counter(event["type"] for event in told)
    assert "stopped" not in kinds and kinds["finished"] == before["finished"]


@pytest.mark.slow
def test_a_run_in_slices_is_stopped_between_two_and_goes_on_later(
    tmp_path: Path, tiny_model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(zerogpu, "SLICE_SECONDS", 0.0)
    with lending(tmp_path, monkeypatch), studio_at(tmp_path / "home", tiny_model) as studio:
        run = studio.fine_tune.submit(
            TrainRequest(write_pairs(tmp_path / "pairs.csv"), overrides=quick(epochs=50, evaluations_per_epoch=1))
        )
        wait_until(lambda: studio.fine_tune.get_run(run.id).run.step, 120)
        studio.fine_tune.stop(run.id)
        assert studio.runner.wait(run.id, 240)
        stopped = studio.fine_tune.get_run(run.id).run
        assert stopped.status == "stopped" and 0 < stopped.step < stopped.steps and stopped.model_path is not None


def test_what_goes_wrong_in_a_slice_is_told_as_ever(tmp_path: Path, tiny_model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with lending(tmp_path, monkeypatch) as package, studio_at(tmp_path / "home", tiny_model) as studio:
        with pytest.raises(StudioError, match="this cannot be") as told:
            zerogpu.run_on_gpu(_refuses, 3)
        assert told.value.rows == (3,)
        with pytest.raises(RuntimeError, match="ZeroDivisionError"):
            zerogpu.run_on_gpu(_fails)
        assert zerogpu.run_on_gpu(_where) not in ("", str(os.getpid()))
        for title, words, hint in (
            ("ZeroGPU quota exceeded", "You have exceeded your free ZeroGPU quota (100s requested vs. 3s left).", "sign in"),
            ("ZeroGPU worker error", "GPU task aborted", "try again"),
        ):
            refusal = type("Error", (Exception,), {})()
            refusal.title, refusal.message = title, words
            package.refusal[:] = [refusal]
            run = trained(studio, write_pairs(tmp_path / "pairs.csv"))
            assert run.status == "failed" and words.rstrip(".")[:20] in run.message and hint in run.hint


def test_many_texts_are_encoded_in_slices_and_a_question_is_not(tmp_path: Path, tiny_model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(zerogpu_encoder, "_BATCH_TEXTS", 300)
    monkeypatch.setattr(zerogpu, "SLICE_SECONDS", 0.0)
    texts = sentences(1000)
    with studio_at(tmp_path / "plain", tiny_model) as studio:
        plain = studio.catalog.load(str(tiny_model)).encode(texts)
    with lending(tmp_path, monkeypatch) as package, studio_at(tmp_path / "home", tiny_model) as studio:
        encoder = studio.catalog.load(str(tiny_model))
        done: list[int] = []
        sliced = encoder.encode(texts, progress=lambda now, of: done.append(now))
        assert len(package.calls) == 4 and done == [300, 600, 900, 1000]
        np.testing.assert_allclose(sliced, plain, atol=1e-6)
        assert sliced.dtype == np.float32 and sliced.shape == plain.shape
        encoder.encode(texts[:10])
        assert len(package.calls) == 4, "a question is answered here"


def test_a_slice_asks_the_hub_as_nobody_and_within_the_limits(tmp_path: Path, tiny_model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_TOKEN", "hf_of_the_host")
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "usual"))
    limits = {"max_model_bytes": 1 << 20, "max_cache_bytes": 8 << 20}
    home = Workspace(tmp_path / "home")
    with hub_server(monkeypatch) as server, lending(tmp_path, monkeypatch) as package:
        server.models["all/open"] = Repository(tiny_model)
        catalog = Catalog(home, device="cpu", allow_folders=False, zerogpu=zerogpu_encoder.ZeroGPUEncoder, **limits)
        encoder = catalog.load("all/open")
        assert encoder.encode(sentences(1000)).shape == (1000, encoder.dim) and len(package.calls) == 1
        with use_identity(signed_in("hf_of_a_visitor")):
            encoder.encode(sentences(1000))
        assert {token for _, path, token in server.asked if "/models/" in path} == {""}, "what is open is asked for without a token"
        package.close()  # what a slice has in memory goes with it
        server.models["all/open"].said["model-2.safetensors"] = 1 << 30
        with pytest.raises(StudioError, match="1,024 MiB; the maximum here is 1 MiB"):
            encoder.encode(sentences(1000))


def test_a_slice_may_load_what_its_catalogue_may(tmp_path: Path, tiny_model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(execution, "train_run", lambda folder, catalog, *_: SimpleNamespace(status="finished", may=catalog.settings))
    with lending(tmp_path, monkeypatch) as package:
        for limits in ({}, {"allow_folders": False, "max_model_bytes": 7, "max_cache_bytes": 9, "chosen": (str(tiny_model),)}):
            catalog = Catalog(Workspace(tmp_path / "home"), device="cpu", zerogpu=zerogpu_encoder.ZeroGPUEncoder, **limits)
            may: Any = execution.train_in_slices(tmp_path, catalog, lambda: False, lambda event: None)
            assert may.may == catalog.settings
            assert (may.may.max_model_bytes, may.may.max_cache_bytes) == (
                limits.get("max_model_bytes", 0),
                limits.get("max_cache_bytes", 0),
            )
            encoder = catalog.load(str(tiny_model))
            assert encoder.encode(sentences(1000)).shape == (1000, encoder.dim), "a folder that was chosen is read there too"
        assert len(package.calls) == 4


def test_only_a_space_on_zerogpu_borrows_and_its_owner_may_say_no(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert Settings.from_env({"HOME": "/tmp", "SPACES_ZERO_GPU": "true"}).zero_gpu
    assert not Settings.from_env({"HOME": "/tmp"}).zero_gpu
    assert not Settings.from_env({"HOME": "/tmp", "SPACES_ZERO_GPU": "true", "SBERT_STUDIO_DEVICE": "cpu"}).zero_gpu
    assert zerogpu.gpu_name() == "" and zerogpu.run_on_gpu(_where) == str(os.getpid())
    with lending(tmp_path, monkeypatch):
        assert zerogpu.gpu_name() == "cpu" and resolve_device("auto").type == "cpu"
    assert zerogpu.gpu_name() == ""


def _refuses(row: int) -> None:
    raise StudioError("this cannot be", "choose another", (row,))


def _fails() -> float:
    return 1 / 0


def _where() -> str:
    return zerogpu.gpu_name() or str(os.getpid())
