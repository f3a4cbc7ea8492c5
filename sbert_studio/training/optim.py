"""AdamW with linear warm-up and decay, gradient clipping and a guard against NaN; sparse updates of large embedding tables."""

from __future__ import annotations

import bisect
from collections.abc import Collection, Iterator, Mapping, Sequence

import torch
from torch import Tensor, nn

from .fast_layers import RowGradient
from .spec import TrainSpec

_MIN_ROWS = 1_024  # rows added to the copy at a time


class SparseRowAdamW:
    """Fused AdamW on a compact copy of the table rows that batches have used so far.

    Args:
        table: (rows, width).
        decay: weight decay of all rows.

    Attributes:
        adamw: optimizer of the compact copy; the caller sets its learning rate and gradient scale.
    """

    def __init__(self, table: nn.Parameter, decay: float = 0.0) -> None:
        self._table, self._decay = table, decay
        self.reset()

    def __len__(self) -> int:
        return len(self._rows)

    def reset(self) -> None:
        self._rows = self._touched = torch.empty(0, dtype=torch.int64)
        self._place = torch.full((len(self._table),), -1, dtype=torch.int64)  # position of each row in the copy
        self._make(_MIN_ROWS, {})

    def fill(self, gradient: Tensor) -> Tensor:
        """Copy the nonzero rows of the table's ``gradient``, sparse or dense."""
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

    def write_back(self, rate: float) -> None:
        """Write the updated rows to the table; other rows decay by this learning rate (0: no step was taken)."""
        with torch.no_grad():
            if self._decay and rate:
                self._table.mul_(1 - rate * self._decay)
            self._table.index_copy_(0, self._rows, self._copy[: len(self._rows)])
        self._gradient.index_fill_(0, self._touched, 0.0)

    def tensors(self) -> dict[str, Tensor]:
        """Return the optimizer state of the rows, (n, d), its step, and ``rows`` (n,); empty before the first step."""
        count, state = len(self._rows), self._state
        return {"rows": self._rows, **{key: value[:count] if value.ndim else value for key, value in state.items()}} if state else {}

    def load(self, tensors: Mapping[str, Tensor]) -> None:
        """Restore the state of :meth:`tensors` or of a whole table; the table already contains its weights."""
        if (rows := tensors.get("rows")) is None:
            rows = tensors["exp_avg_sq"].any(dim=1).nonzero()[:, 0]
            tensors = {key: value[rows] if value.ndim else value for key, value in tensors.items()}
        self._make(_MIN_ROWS, {key: value for key, value in tensors.items() if key != "rows"})
        self._hold(rows, self._state)

    @property
    def _state(self) -> dict[str, Tensor]:
        state: dict[str, Tensor] = self.adamw.state.get(self._copy, {})
        return state

    def _hold(self, rows: Tensor, state: Mapping[str, Tensor]) -> None:
        self._rows = rows
        self._place[rows] = torch.arange(len(rows))
        capacity = max(1, -(-len(rows) // _MIN_ROWS)) * _MIN_ROWS
        if capacity != len(self._copy):
            self._make(capacity, state)
        with torch.no_grad():
            self._copy[: len(rows)] = self._table[rows]

    def _make(self, capacity: int, state: Mapping[str, Tensor]) -> None:
        self._copy = nn.Parameter(self._table.new_zeros(capacity, self._table.shape[1]))
        self._gradient = self._copy.grad = torch.zeros_like(self._copy)
        self.adamw = torch.optim.AdamW([self._copy], weight_decay=self._decay, fused=True)
        if state:
            self.adamw.state[self._copy] = {key: _extend(value, capacity) for key, value in state.items()}


def dense_state(tensors: Mapping[str, Tensor], rows: int) -> dict[str, Tensor]:
    """Convert the state of :meth:`SparseRowAdamW.tensors` to that of a table with ``rows`` rows."""
    if "rows" not in tensors:
        return dict(tensors)
    found = {key: value for key, value in tensors.items() if key != "rows"}
    return {
        key: value.new_zeros(rows, value.shape[1]).index_copy_(0, tensors["rows"], value) if value.ndim else value
        for key, value in found.items()
    }


def _extend(values: Tensor, capacity: int) -> Tensor:
    if not values.ndim:
        return values.clone()
    found = values.new_zeros(max(capacity, len(values)), values.shape[1])
    found[: len(values)] = values
    return found


_LARGE_TABLE = 4_096  # minimum number of rows of a table that is updated sparsely
_DENSE_SHARE = 0.5  # share of used rows beyond which a dense update is faster


class Optimizer:
    """Fused AdamW over named parameters (Loshchilov and Hutter 2019); only matrices decay, not biases, norms and tables.

    Args:
        named: trainable parameters by unique name.
        spec: learning rate, warm-up, decay and clipping.
        ends: steps after which each round ends; the learning rate rises and falls once per round.
        tables: names of embedding tables of which each step uses only a few rows, without decay; on a CPU, only used rows are updated.
            Other large tables with sparse gradients are handled in the same way until most rows were used.
    """

    def __init__(self, named: dict[str, nn.Parameter], spec: TrainSpec, ends: int | Sequence[int], tables: Collection[str] = ()) -> None:
        self.named = named
        self._highest, self._max_norm, self._warmup = spec.learning_rate, spec.max_grad_norm, spec.warmup_ratio
        self._ends = (0, ends) if isinstance(ends, int) else (0, *ends)
        self._seen = {name: SparseRowAdamW(item) for name, item in named.items() if name in tables and item.device.type == "cpu"}
        whole = {name: item for name, item in named.items() if name not in self._seen}
        decay = [item for name, item in whole.items() if item.ndim > 1 and name not in tables]
        spared = [item for name, item in whole.items() if item.ndim <= 1 or name in tables]
        groups = [{"params": decay, "weight_decay": spec.weight_decay}, {"params": spared, "weight_decay": 0.0}]
        self._decay = {name: spec.weight_decay if item.ndim > 1 else 0.0 for name, item in whole.items() if name not in tables}
        self._whole = torch.optim.AdamW([group for group in groups if group["params"]], fused=True) if whole else None
        self._by_rows: dict[str, RowGradient] = {}

    def _adamws(self) -> Iterator[torch.optim.AdamW]:
        if self._whole is not None:
            yield self._whole
        yield from (rows.adamw for rows in self._seen.values())

    def rate(self, step: int) -> float:
        """Return the learning rate of ``step`` (from 0): linear warm-up, then linear decay, never 0."""
        over = min(bisect.bisect_right(self._ends, step), len(self._ends) - 1)
        step, steps = step - self._ends[over - 1], self._ends[over] - self._ends[over - 1]
        warmup = max(1, round(self._warmup * steps)) if self._warmup else 0
        if step < warmup:
            return self._highest * (step + 1) / (warmup + 1)
        return self._highest * (steps - step) / max(1, steps - warmup)

    def step(self, step: int, loss: Tensor) -> Tensor:
        """Update the parameters from their gradients, then clear the gradients.

        Nothing changes if the loss or the gradient is not finite: the fused kernel checks a flag on the device, so that no value is copied
        to the host.

        Returns:
            The gradient norm before clipping, a scalar on the device.
        """
        norm = torch.nn.utils.get_total_norm(self._gradients())
        bad = ~(torch.isfinite(norm) & torch.isfinite(loss))
        rate = self.rate(step)
        scale = ((norm + 1e-6) / self._max_norm).clamp(min=1.0).float() if self._max_norm else None
        for adamw in self._adamws():
            for group in adamw.param_groups:
                group["lr"] = rate
            adamw.found_inf = bad.float()  # type: ignore[attr-defined]
            adamw.grad_scale = scale  # type: ignore[attr-defined]
            adamw.step()
        for parameter in self.named.values():
            parameter.grad = None
        for rows in self._by_rows.values():
            rows.clear()
        for seen in self._seen.values():  # on a CPU, where reading the flag is cheap
            seen.write_back(0.0 if bool(bad) else rate)
        self._widen()
        return norm

    def _widen(self) -> None:
        for name in [name for name, seen in self._seen.items() if name in self._decay and len(seen) > _DENSE_SHARE * len(self.named[name])]:
            self._make_dense(name, self._seen.pop(name).tensors())

    def _gradients(self) -> list[Tensor]:
        found = []
        for name, parameter in self.named.items():
            gradient = parameter.grad
            if gradient is not None and (seen := self._sparse_rows(name, gradient)) is not None:
                parameter.grad, gradient = None, seen.fill(gradient)
            elif gradient is not None and gradient.is_sparse:
                rows = self._by_rows.get(name) or RowGradient(parameter)
                self._by_rows[name] = rows
                parameter.grad, gradient = rows.fill(gradient)
            if gradient is not None:
                found.append(gradient)
        return found

    def _sparse_rows(self, name: str, gradient: Tensor) -> SparseRowAdamW | None:
        parameter, known = self.named[name], self._whole.state if self._whole is not None else {}
        fits = gradient.is_sparse and gradient.device.type == "cpu" and len(parameter) >= _LARGE_TABLE
        if name not in self._seen and fits and parameter not in known:
            self._seen[name] = SparseRowAdamW(parameter, self._decay[name])
        return self._seen.get(name)

    def reset(self) -> None:
        if self._whole is not None:
            self._whole.state.clear()
        for seen in self._seen.values():
            seen.reset()

    def tensors(self) -> dict[str, Tensor]:
        """Return the state of every parameter: ``<name>/exp_avg``, ``<name>/exp_avg_sq``, ``<name>/step``.

        Tables also have ``<name>/rows``.
        """
        return {f"{name}/{key}": value for name in self.named for key, value in self._state(name).items()}

    def _state(self, name: str) -> dict[str, Tensor]:
        if name in self._seen:
            return self._seen[name].tensors()
        return {} if self._whole is None else self._whole.state.get(self.named[name], {})

    def load(self, tensors: dict[str, Tensor]) -> None:
        states: dict[str, dict[str, Tensor]] = {}
        for path, value in tensors.items():
            name, _, key = path.rpartition("/")
            states.setdefault(name, {})[key] = value
        for name, state in states.items():
            if "rows" in state and name not in self._seen and self.named[name].device.type == "cpu":
                self._seen[name] = SparseRowAdamW(self.named[name], self._decay[name])
            if name in self._seen:
                self._seen[name].load(state)
            else:
                self._make_dense(name, state)

    def _make_dense(self, name: str, state: dict[str, Tensor]) -> None:
        if self._whole is not None:
            parameter = self.named[name]
            # A fused optimizer keeps its step counts on the device of the parameters.
            whole = dense_state(state, len(parameter)) if parameter.ndim else state
            self._whole.state[parameter] = {key: value.to(parameter.device) for key, value in whole.items()}
