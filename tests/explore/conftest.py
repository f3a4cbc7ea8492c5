"""Vectors of known arithmetic, and an encoder that counts what it is asked."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from tiny_studio import WordSums

from sbert_studio.workspace import Workspace


class CountingEncoder(WordSums):
    """``calls`` counts the encodings, ``texts`` the texts in them."""

    dim = 32

    def __init__(self) -> None:
        self.calls = self.texts = 0
        self.before: Callable[[], Any] = lambda: None  # called before each encoding
        self._lock = threading.Lock()

    def encode(self, texts: Sequence[str], *, progress: Any = None, should_stop: Any = None) -> np.ndarray:
        with self._lock:
            self.calls += 1
            self.texts += len(texts)
        self.before()
        return super().encode(texts)


@pytest.fixture(autouse=True)
def threads() -> Iterator[None]:
    """Those of OpenMP, which numba sets for the thread that starts it: here, the one that later tests train in as well."""
    before = torch.get_num_threads()
    yield
    if torch.get_num_threads() != before:
        torch.set_num_threads(before)


@pytest.fixture
def encoder() -> CountingEncoder:
    return CountingEncoder()


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return Workspace(tmp_path / "studio")


@pytest.fixture
def blobs() -> tuple[np.ndarray, np.ndarray, list[str]]:
    """120 vectors around four directions, the direction of each, and a text for each."""
    rng = np.random.default_rng(0)
    centres = np.eye(4, 24) * 4
    truth = np.arange(120) % 4
    vectors = (centres[truth] + rng.normal(scale=0.25, size=(120, 24))).astype(np.float32)
    topics = ["refund my order", "card was stolen", "app keeps crashing", "change delivery address"]
    return vectors, truth, [f"{topics[group]} {row}" for row, group in enumerate(truth)]


@pytest.fixture(scope="session")
def bank() -> np.ndarray:
    """800 vectors in two dozen clumps of their own spread, on a bent surface in 30 dimensions."""
    rng = np.random.default_rng(7)
    middles, spread = rng.normal(size=(24, 6)), rng.uniform(0.1, 0.5, 24)
    group = rng.integers(0, 24, 800)
    low = middles[group] + rng.normal(size=(800, 6)) * spread[group, None]
    return np.tanh(low @ rng.normal(size=(6, 30)) * 0.5).astype(np.float32)
