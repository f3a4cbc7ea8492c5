"""Recurrent networks over word vectors: RNN (Elman 1990), LSTM (Hochreiter and Schmidhuber 1997), GRU (Cho et al. 2014)."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import ClassVar, Self

import torch
from torch import Tensor, nn
from torch.nn.utils import rnn

from ...workspace import write_json
from ..io.backbone import read_json
from .base import MODULES, RECURRENCE, Module, load_weights, read_weights, require_shape, write_weights

RECURRENT: dict[str, type[Recurrent]] = {}
"""Networks by their name in the setting ``recurrent``."""


class Recurrent(Module):
    """Maps vectors (b, t, inputs) to states (b, t, hidden), or (b, t, 2 · hidden) if bidirectional.

    Rows are packed, so that padding on the right is skipped.

    Args:
        inputs: width of the inputs.
        hidden: width of a state.
        layers: number of layers.
        bidirectional: add a second network that reads backwards.
        dropout: dropout between layers.
        seed: seed of the initial weights.
    """

    stage = RECURRENCE

    network: ClassVar[Callable[..., nn.RNNBase]]
    config: ClassVar[str]

    def __init_subclass__(cls) -> None:
        RECURRENT[cls.__name__.lower()] = cls

    def __init__(
        self, inputs: int, hidden: int, *, layers: int = 1, bidirectional: bool = False, dropout: float = 0.0, seed: int = 12
    ) -> None:
        super().__init__()
        self.hidden, self.bidirectional = hidden, bidirectional
        self.encoder = self.network(
            inputs, hidden, num_layers=layers, dropout=dropout if layers > 1 else 0.0, bidirectional=bidirectional, batch_first=True
        )
        generator = torch.Generator().manual_seed(seed)
        bound = hidden**-0.5
        for parameter in self.encoder.parameters():
            nn.init.uniform_(parameter, -bound, bound, generator=generator)

    def forward(self, vectors: Tensor, mask: Tensor | None) -> Tensor:
        if mask is None:
            return self.encoder(vectors)[0]  # type: ignore[no-any-return]
        lengths = (mask != 0).sum(dim=1).clamp(min=1).cpu()
        packed = rnn.pack_padded_sequence(vectors, lengths, batch_first=True, enforce_sorted=False)
        states, _ = rnn.pad_packed_sequence(self.encoder(packed)[0], batch_first=True, total_length=vectors.shape[1])
        return states

    @property
    def input_width(self) -> int | None:
        return int(self.encoder.input_size)

    def output_width(self, inputs: int) -> int:
        return self.hidden * (2 if self.bidirectional else 1)

    @classmethod
    def read(cls, folder: Path) -> Self:
        found = read_json(folder / cls.config, dict)
        inputs, hidden = int(found.get("embedding_dimension") or found["word_embedding_dimension"]), int(found["hidden_dim"])
        layers, bidirectional = int(found.get("num_layers", 1)), bool(found.get("bidirectional", True))
        weights = read_weights(folder)
        gates = {nn.LSTM: 4, nn.GRU: 3}.get(cls.network, 1)  # type: ignore[call-overload]
        require_shape(weights, "encoder.weight_ih_l0", (gates * hidden, inputs), folder)
        require_shape(weights, f"encoder.weight_hh_l{layers - 1}", (gates * hidden, hidden), folder)
        module = cls(inputs, hidden, layers=layers, bidirectional=bidirectional, dropout=float(found.get("dropout", 0.0)))
        load_weights(module, weights, folder)
        return module

    def write(self, folder: Path, inputs: int) -> None:
        encoder = self.encoder
        config = {
            "word_embedding_dimension": encoder.input_size,
            "hidden_dim": encoder.hidden_size,
            "num_layers": encoder.num_layers,
            "dropout": encoder.dropout,
            "bidirectional": encoder.bidirectional,
        }
        write_json(folder / self.config, config)
        write_weights(self, folder)


@MODULES.register("LSTM")
class LSTM(Recurrent):
    """Long short-term memory."""

    network, config = nn.LSTM, "lstm_config.json"


@MODULES.register("GRU")
class GRU(Recurrent):
    """Gated recurrent unit."""

    network, config, portable = nn.GRU, "gru_config.json", False


@MODULES.register("RNN")
class RNN(Recurrent):
    """h = tanh(W x + U h + b)."""

    network, config, portable = nn.RNN, "rnn_config.json", False
