"""How much each word counts in the mean of a text: TF-IDF, smooth inverse frequency, or whatever a table says."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor

from ...errors import StudioError
from ...workspace import write_json
from ..storage.backbone import read_json
from .base import MODULES, WEIGHTS, Module
from .weights import load_weights, read_weights, table_of, write_weights

if TYPE_CHECKING:
    from typing import Self


@MODULES.register("WordWeights")
class WordWeights(Module):
    """Ids (b, t) → weights (b, t), by which the tokens count in pooling: Σ w·h / Σ w.

    Args:
        words: of the table before, in its order.
        weights: (V,), one for each.
    """

    stage = WEIGHTS

    def __init__(self, words: Sequence[str], weights: np.ndarray | Tensor) -> None:
        super().__init__()
        table = torch.as_tensor(weights, dtype=torch.float32).reshape(-1, 1)
        if len(table) != len(words):
            raise StudioError(f"{len(words)} words have {len(table)} weights", "copy the folder again")
        self.words = tuple(words)
        self.emb_layer = table_of(table)

    def forward(self, ids: Tensor) -> Tensor:
        """Look up ``ids``."""
        return self.emb_layer(ids).squeeze(-1)  # type: ignore[no-any-return]

    @classmethod
    def read(cls, folder: Path) -> Self:
        """From ``config.json`` and ``model.safetensors``.

        Raises:
            StudioError: a file is missing or damaged.
        """
        words = read_json(folder / "config.json", dict).get("vocab")
        if not isinstance(words, list):
            raise StudioError("the words of the model's weights are missing", "copy the folder again")
        found = cls(words, np.ones(len(words), np.float32))
        load_weights(found, read_weights(folder), folder)
        return found

    def write(self, folder: Path, inputs: int) -> None:
        """``config.json`` and ``model.safetensors``."""
        weights = self.emb_layer.weight.squeeze(1).tolist()
        config = {"vocab": list(self.words), "word_weights": dict(zip(self.words, weights, strict=True)), "unknown_word_weight": 1.0}
        write_json(folder / "config.json", config)
        write_weights(self, folder)
