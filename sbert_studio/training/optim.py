"""AdamW with linear warm-up and decay, gradient clipping and a guard against NaN; sparse updates of large embedding tables."""

from __future__ import annotations

import bisect
from collections.abc import Collection, Iterator, Mapping, Sequence

import torch
from torch import Tensor, nn

from .fast_layers import RowGradient
from .spec import TrainSpec

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


_LARGE = 4_096  # rows of a table of which most batches read few
_MOST = 0.5  # of its rows, beyond which all of them are stepped at once in less time


class Optimiser:
    """Fused AdamW over named parameters (Loshchilov and Hutter 2019); matrices decay, biases and normalisations do not, nor do tables.

    Args:
        named: what is tuned, by unique names.
        spec: the rate, its warm-up, the decay and the clipping.
        ends: after how many steps each round ends, over which the rate rises and falls; one round for a single number.
        tables: the names of those of which a step reads a few rows and that do not decay; on a CPU only rows that were read are stepped.
            Other large tables whose gradients are sparse are stepped so too, until most of their rows were read.
    """

    def __init__(self, named: dict[str, nn.Parameter], spec: TrainSpec, ends: int | Sequence[int], tables: Collection[str] = ()) -> None:
        self.named = named
        self._highest, self._max_norm, self._warmup = spec.learning_rate, spec.max_grad_norm, spec.warmup_ratio
        self._ends = (0, ends) if isinstance(ends, int) else (0, *ends)
        self._seen = {name: SeenRows(item) for name, item in named.items() if name in tables and item.device.type == "cpu"}
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
        """The learning rate of ``step`` (from 0): up over the warm-up, then down, and never 0, which would waste a step."""
        over = min(bisect.bisect_right(self._ends, step), len(self._ends) - 1)
        step, steps = step - self._ends[over - 1], self._ends[over] - self._ends[over - 1]
        warmup = max(1, round(self._warmup * steps)) if self._warmup else 0
        if step < warmup:
            return self._highest * (step + 1) / (warmup + 1)
        return self._highest * (steps - step) / max(1, steps - warmup)

    def step(self, step: int, loss: Tensor) -> Tensor:
        """Update from the gradients that lie on the parameters, then drop them.

        Nothing changes where the loss or the gradient is not finite: the fused kernel itself looks at the flag, so no
        value travels to the host before the next step is queued.

        Returns:
            The length of the gradient before clipping, a scalar on the device.
        """
        norm = torch.nn.utils.get_total_norm(self._gradients())
        bad = ~(torch.isfinite(norm) & torch.isfinite(loss))
        shortening, rate = self._shortening(norm), self.rate(step)
        for adamw in self._adamws():
            for group in adamw.param_groups:
                group["lr"] = rate
            adamw.found_inf = bad.float()  # type: ignore[attr-defined]
            adamw.grad_scale = shortening  # type: ignore[attr-defined]
            adamw.step()
        for parameter in self.named.values():
            parameter.grad = None
        for rows in self._by_rows.values():
            rows.wipe()
        for seen in self._seen.values():  # on a CPU, where the flag can be looked at
            seen.put_back(0.0 if bool(bad) else rate)
        self._widen()
        return norm

    def _widen(self) -> None:
        """Step tables as a whole from now on of which most rows were read."""
        for name in [name for name, seen in self._seen.items() if name in self._decay and len(seen) > _MOST * len(self.named[name])]:
            self._take(name, self._seen.pop(name).tensors())

    def _gradients(self) -> list[Tensor]:
        """All that is not zero of the gradients; a sparse one is made dense, as the fused kernel wants it."""
        found = []
        for name, parameter in self.named.items():
            gradient = parameter.grad
            if gradient is not None and (seen := self._by_seen(name, gradient)) is not None:
                parameter.grad, gradient = None, seen.fill(gradient)
            elif gradient is not None and gradient.is_sparse:
                rows = self._by_rows.get(name) or RowGradient(parameter)
                self._by_rows[name] = rows
                parameter.grad, gradient = rows.fill(gradient)
            if gradient is not None:
                found.append(gradient)
        return found

    def _by_seen(self, name: str, gradient: Tensor) -> SeenRows | None:
        """What steps the rows of this parameter that were read, where it is a large table of which most were not."""
        parameter, known = self.named[name], self._whole.state if self._whole is not None else {}
        fits = gradient.is_sparse and gradient.device.type == "cpu" and len(parameter) >= _LARGE
        if name not in self._seen and fits and parameter not in known:
            self._seen[name] = SeenRows(parameter, self._decay[name])
        return self._seen.get(name)

    def _shortening(self, norm: Tensor) -> Tensor | None:
        """What the kernel shall divide the gradient by; it does so while it reads it, which saves a pass over all weights."""
        if not self._max_norm:
            return None
        scale = ((norm + 1e-6) / self._max_norm).clamp(min=1.0).float()
        # On a CPU the value can be looked at for nothing.
        return None if norm.device.type == "cpu" and not bool(scale > 1) else scale

    def forget(self) -> None:
        """Begin anew, without the moments of earlier steps."""
        if self._whole is not None:
            self._whole.state.clear()
        for seen in self._seen.values():
            seen.forget()

    def tensors(self) -> dict[str, Tensor]:
        """The state of every parameter that has one: ``<name>/exp_avg``, ``<name>/exp_avg_sq``, ``<name>/step``.

        Of a table stepped by rows they are those of its ``<name>/rows``.
        """
        return {f"{name}/{key}": value for name in self.named for key, value in self._state(name).items()}

    def _state(self, name: str) -> dict[str, Tensor]:
        if name in self._seen:
            return self._seen[name].tensors()
        return {} if self._whole is None else self._whole.state.get(self.named[name], {})

    def load(self, tensors: dict[str, Tensor]) -> None:
        """Take up the state that ``tensors`` gave, on this device or another."""
        states: dict[str, dict[str, Tensor]] = {}
        for path, value in tensors.items():
            name, _, key = path.rpartition("/")
            states.setdefault(name, {})[key] = value
        for name, state in states.items():
            if "rows" in state and name not in self._seen and self.named[name].device.type == "cpu":
                self._seen[name] = SeenRows(self.named[name], self._decay[name])
            if name in self._seen:
                self._seen[name].load(state)
            else:
                self._take(name, state)

    def _take(self, name: str, state: dict[str, Tensor]) -> None:
        """Step the whole parameter from now on, from the state of its rows or of all of it."""
        if self._whole is not None:
            parameter = self.named[name]
            # The step counts of a fused optimiser lie where its parameters lie.
            whole = whole_table(state, len(parameter)) if parameter.ndim else state
            self._whole.state[parameter] = {key: value.to(parameter.device) for key, value in whole.items()}
