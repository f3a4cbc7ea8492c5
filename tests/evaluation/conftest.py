"""An encoder of known arithmetic: what it returns can be worked out by hand."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from sbert_studio.models.base import Encoder


class WordEncoder(Encoder):
    """The sum of one seeded random vector a word, so that texts which share words are alike."""

    name = "words"
    normalizes = False
    dim = 64
    max_length = 1000
    fingerprint = "0123456789abcdef"

    def __init__(self) -> None:
        self.calls: list[list[str]] = []

    def encode(self, texts: Sequence[str], *, progress: Any = None, should_stop: Any = None) -> np.ndarray:
        self.calls.append(list(texts))
        return np.stack([self._one(text) for text in texts]).astype(np.float32)

    def _one(self, text: str) -> np.ndarray:
        words = text.lower().split()
        return np.sum([np.random.default_rng(zlib.crc32(word.encode())).normal(size=self.dim) for word in words], axis=0)

    def describe(self) -> dict[str, Any]:
        return {"name": self.name, "dim": self.dim}


@pytest.fixture
def encoder() -> WordEncoder:
    return WordEncoder()
