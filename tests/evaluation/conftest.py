"""An encoder of known arithmetic: what it returns can be worked out by hand."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from tiny_studio import WordSums


class WordEncoder(WordSums):
    """Notes the texts of each call."""

    def __init__(self) -> None:
        self.calls: list[list[str]] = []

    def encode(self, texts: Sequence[str], *, progress: Any = None, should_stop: Any = None) -> np.ndarray:
        self.calls.append(list(texts))
        return super().encode(texts)


@pytest.fixture
def encoder() -> WordEncoder:
    return WordEncoder()
