"""A large table of which a step reads a few rows: the optimiser steps those that were read so far, and none of the others.

What is computed is the same: a row without a gradient so far has moments of zero, so that AdamW moves it by the decay alone, if it decays.
"""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor, nn

_LEAST = 1_024  # rows, by which the copy grows


class SeenRows:
    """The rows of a table that batches have read so far, in a compact copy with a fused AdamW of its own.

    Args:
        table: (rows, width).
        decay: AdamW's, of all rows.

    Attributes:
        adamw: steps the compact copy; the caller sets its rate, and what the gradient is to be divided by.
    """

    def __init__(self, table: nn.Parameter, decay: float = 0.0) -> None:
        self._table, self._decay = table, decay
        self.forget()

    def __len__(self) -> int:
        """How many rows were read."""
        return len(self._rows)

    def forget(self) -> None:
        """Begin anew: no row was read yet."""
        self._rows = self._touched = torch.empty(0, dtype=torch.int64)
        self._place = torch.full((len(self._table),), -1, dtype=torch.int64)  # of each row in the copy
        self._make(_LEAST, {})

    def fill(self, gradient: Tensor) -> Tensor:
        """Take up the table's ``gradient``, sparse or dense; what of it is not zero."""
        if gradient.is_sparse:
            whole = gradient.coalesce()
            rows, values = whole.indices()[0], whole.values()
        else:
            rows = gradient.any(dim=1).nonzero()[:, 0]
            values = gradient[rows]
        new = rows[self._place[rows] < 0]
        if len(new):
            self._hold(torch.cat([self._rows, new]), self._state)
        self._touched = self._place[rows]
        self._gradient.index_copy_(0, self._touched, values)
        return values

    def put_back(self, rate: float) -> None:
        """Write the stepped rows into the table, whose others decay as they would at this learning rate (0: no step was taken)."""
        with torch.no_grad():
            if self._decay and rate:
                self._table.mul_(1 - rate * self._decay)
            self._table.index_copy_(0, self._rows, self._copy[: len(self._rows)])
        self._gradient.index_fill_(0, self._touched, 0.0)

    def tensors(self) -> dict[str, Tensor]:
        """The optimiser's state of the rows, (n, d), its step, and which rows they are, ``rows`` (n,); nothing before the first step."""
        count, state = len(self._rows), self._state
        return {"rows": self._rows, **{key: value[:count] if value.ndim else value for key, value in state.items()}} if state else {}

    def load(self, tensors: Mapping[str, Tensor]) -> None:
        """Take up the state that :meth:`tensors` gave, or that of a whole table; the table has its weights already."""
        if (rows := tensors.get("rows")) is None:
            rows = tensors["exp_avg_sq"].any(dim=1).nonzero()[:, 0]
            tensors = {key: value[rows] if value.ndim else value for key, value in tensors.items()}
        self._make(_LEAST, {key: value for key, value in tensors.items() if key != "rows"})
        self._hold(rows, self._state)

    @property
    def _state(self) -> dict[str, Tensor]:
        state: dict[str, Tensor] = self.adamw.state.get(self._copy, {})
        return state

    def _hold(self, rows: Tensor, state: Mapping[str, Tensor]) -> None:
        """Have all of ``rows`` in the copy. Its size follows from their number alone, so that a resumed run computes the same bits."""
        self._rows = rows
        self._place[rows] = torch.arange(len(rows))
        room = max(1, -(-len(rows) // _LEAST)) * _LEAST
        if room != len(self._copy):
            self._make(room, state)
        with torch.no_grad():
            self._copy[: len(rows)] = self._table[rows]

    def _make(self, room: int, state: Mapping[str, Tensor]) -> None:
        """A copy for so many rows, and the ``state`` of the first of them."""
        self._copy = nn.Parameter(self._table.new_zeros(room, self._table.shape[1]))
        self._gradient = self._copy.grad = torch.zeros_like(self._copy)
        self.adamw = torch.optim.AdamW([self._copy], weight_decay=self._decay, fused=True)
        if state:
            self.adamw.state[self._copy] = {key: _lengthened(value, room) for key, value in state.items()}


def whole_table(tensors: Mapping[str, Tensor], rows: int) -> dict[str, Tensor]:
    """The state that :meth:`SeenRows.tensors` gave, as that of a table of so many ``rows``; one of a whole table as it is."""
    if "rows" not in tensors:
        return dict(tensors)
    found = {key: value for key, value in tensors.items() if key != "rows"}
    return {
        key: value.new_zeros(rows, value.shape[1]).index_copy_(0, tensors["rows"], value) if value.ndim else value
        for key, value in found.items()
    }


def _lengthened(values: Tensor, room: int) -> Tensor:
    if not values.ndim:
        return values.clone()
    found = values.new_zeros(max(room, len(values)), values.shape[1])
    found[: len(values)] = values
    return found
