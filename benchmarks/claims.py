"""Measured ratios, and what docs/performance.json claims of them: a table for each kind of machine."""

from __future__ import annotations

import json
import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from sbert_studio.workspace import write_json

HEADER = "| task | peer | ours | ratio | range of the rounds | goal | agreement | floor |\n|---|---|---|---|---|---|---|---|"
_PRECISIONS = ("float32", "bfloat16", "int8")
_SAME_MACHINE = 1.4  # the rates of one machine differ by less from hour to hour


@dataclass(frozen=True)
class Ratio:
    """The rounds of one task, ours and a peer's.

    Attributes:
        key: identifies the task, whatever it is measured on.
        what: the task, for a table.
        peer: what it is compared with.
        unit: of ``ours`` and ``theirs``: ``s`` is a time and ``MiB`` is memory, of which less is better, anything else a rate.
        ours, theirs: a number a round, by turns.
        quality: how well the results agree.
        floor: the operations or bytes of the task, and the seconds they take at this machine's rates.
        goal: the ratio to reach, if there is one.
    """

    key: str
    what: str
    peer: str
    unit: str
    ours: Sequence[float]
    theirs: Sequence[float]
    quality: str = ""
    floor: str = ""
    goal: float | None = None

    @property
    def rounds(self) -> list[float]:
        """The ratio of each round, above 1 where ours is faster or takes less memory."""
        pairs = zip(self.ours, self.theirs, strict=True)
        return [theirs / ours if self.unit in ("s", "MiB") else ours / theirs for ours, theirs in pairs]

    @property
    def median(self) -> float:
        """The median of the rounds."""
        return statistics.median(self.rounds)

    def table_row(self) -> str:
        """Return the row of the table in docs/PERFORMANCE.md."""
        ours, theirs = (three_digits(statistics.median(side)) for side in (self.ours, self.theirs))
        spread = f"{min(self.rounds):.2f} to {max(self.rounds):.2f}"
        goal = "" if self.goal is None else f"{self.goal:g}"
        cells = (self.what, f"{self.peer}: {theirs} {self.unit}", f"{ours} {self.unit}", f"**{self.median:.2f} ×**", spread, goal)
        return f"| {' | '.join((*cells, self.quality, self.floor))} |"


def three_digits(value: float) -> str:
    """Write a number with three significant digits."""
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


@dataclass(frozen=True)
class Setting:
    """What the tasks are measured on.

    Attributes:
        data: folder of the public sets; None: the samples that come with the program.
        rounds: rounds of each side.
        scratch: a folder to write to.
        rates: of this machine, see :func:`machine.measure_rates`.
        peer_precision: of the peer's networks.
        batch_size: of training.
    """

    data: Path | None
    rounds: int
    scratch: Path
    rates: Mapping[str, float]
    peer_precision: str = "float32"
    batch_size: int = 16

    @property
    def source(self) -> str:
        """``public`` or ``samples``."""
        return "samples" if self.data is None else "public"


Measured = Iterator[Ratio]


@dataclass
class MachineTable:
    """The ratios measured on one kind of machine.

    Attributes:
        processor: its name, which many kinds of rented machines share.
        rates: of the first machine that was measured.
        ratios: by their keys.
    """

    processor: str
    rates: Mapping[str, float]
    ratios: dict[str, Ratio] = field(default_factory=dict)

    def distance(self, rates: Mapping[str, float]) -> float:
        """Return how many times as fast the faster machine is, in the precision where the two differ most.

        Infinite where one lacks a precision or has more threads.
        """
        shared = [(self.rates[name], rates[name]) for name in _PRECISIONS if name in self.rates and name in rates]
        differs = self.rates["threads"] != rates["threads"] or any((name in self.rates) != (name in rates) for name in _PRECISIONS)
        return float("inf") if differs or not shared else max(max(pair) / min(pair) for pair in shared)

    def is_same_kind(self, rates: Mapping[str, float]) -> bool:
        """Return whether a machine with these rates is of this kind."""
        return self.distance(rates) < _SAME_MACHINE

    def render(self, title: str) -> str:
        """Return the table in Markdown, with a heading and a sentence about the machine."""
        products = ", ".join(f"{self.rates[name]:,.0f} in {name}" for name in _PRECISIONS if name in self.rates)
        machine = (
            f"{self.processor}, {self.rates['threads']:.0f} threads; matrix products at {products} (10⁹ operations a second), "
            f"memory read at {self.rates['memory']:.0f} GB/s."
        )
        return "\n".join([f"### {title}", "", machine, "", HEADER, *(ratio.table_row() for ratio in self.ratios.values())])


class Claims:
    """All tables by source (``public`` or ``samples``), the fastest machine first."""

    def __init__(self, tables: Mapping[str, list[MachineTable]]) -> None:
        self._tables = {source: list(found) for source, found in tables.items()}

    @classmethod
    def read(cls, path: Path) -> Claims:
        """Read docs/performance.json; without the file there are no claims."""
        known: dict[str, Any] = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}

        def table(written: Mapping[str, Any]) -> MachineTable:
            ratios = {key: Ratio(**ratio) for key, ratio in written["ratios"].items()}
            return MachineTable(written["processor"], written["rates"], ratios)

        return cls({source: [table(one) for one in written] for source, written in known.items()})

    def write(self, path: Path) -> None:
        write_json(path, {source: [asdict(table) for table in tables] for source, tables in self._tables.items()})

    def tables(self, source: str) -> list[MachineTable]:
        return self._tables.get(source, [])

    def nearest(self, source: str, rates: Mapping[str, float]) -> MachineTable | None:
        """Return the table of a machine of this kind, the nearest of several, or None."""
        same = [table for table in self.tables(source) if table.is_same_kind(rates)]
        return min(same, key=lambda table: table.distance(rates), default=None)

    def lowest(self, source: str, key: str) -> Ratio | None:
        """Return the lowest ratio claimed for a task on any machine."""
        known = [table.ratios[key] for table in self.tables(source) if key in table.ratios]
        return min(known, key=lambda ratio: ratio.median, default=None)

    def add(self, source: str, table: MachineTable) -> None:
        """Add ratios to the table of a machine of this kind, or add a table."""
        known = self.nearest(source, table.rates)
        if known is None:
            tables = self._tables.setdefault(source, [])
            tables.append(table)
            tables.sort(key=lambda one: -one.rates["float32"])
        else:
            known.ratios |= table.ratios
