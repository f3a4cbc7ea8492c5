"""What is claimed in docs/performance.json: a table of ratios for every kind of machine that they were taken on."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sbert_studio.workspace import write_json

from .base import HEAD, Ratio

_WIDTHS = ("float32", "bfloat16", "int8")
_ALIKE = 1.4  # one machine's rates differ by less from hour to hour


@dataclass
class Table:
    """The ratios of one kind of machine.

    Attributes:
        processor: its name, which many kinds share on hired machines.
        rates: as :func:`ratios.machine.rates` gives them, when the table was begun.
        ratios: by their keys.
    """

    processor: str
    rates: Mapping[str, float]
    ratios: dict[str, Ratio] = field(default_factory=dict)

    def apart(self, rates: Mapping[str, float]) -> float:
        """How many times as fast the faster of the two machines is, at the width of numbers where they differ most.

        Infinitely, where one lacks a width, or has more threads.
        """
        shared = [(self.rates[name], rates[name]) for name in _WIDTHS if name in self.rates and name in rates]
        other = self.rates["threads"] != rates["threads"] or any((name in self.rates) != (name in rates) for name in _WIDTHS)
        return float("inf") if other or not shared else max(max(pair) / min(pair) for pair in shared)

    def like(self, rates: Mapping[str, float]) -> bool:
        """Whether these are the rates of a machine of this kind."""
        return self.apart(rates) < _ALIKE

    def rendered(self, title: str) -> str:
        """The table with a heading and a sentence on the machine."""
        widths = ", ".join(f"{self.rates[name]:,.0f} in {name}" for name in _WIDTHS if name in self.rates)
        on = (
            f"{self.processor}, {self.rates['threads']:.0f} threads; products of matrices at {widths} (10⁹ operations a second), "
            f"memory read at {self.rates['memory']:.0f} GB/s."
        )
        return "\n".join([f"### {title}", "", on, "", HEAD, *(ratio.line() for ratio in self.ratios.values())])

    def to_json(self) -> dict[str, Any]:
        """As it is written."""
        ratios = {key: ratio.to_json() for key, ratio in self.ratios.items()}
        return {"processor": self.processor, "rates": dict(self.rates), "ratios": ratios}


class Claims:
    """All tables, by what they were measured on, the fastest machine first.

    Args:
        places: the tables of ``public`` and ``samples``.
    """

    def __init__(self, places: Mapping[str, list[Table]]) -> None:
        self._places = {place: list(tables) for place, tables in places.items()}

    @classmethod
    def read(cls, path: Path) -> Claims:
        """What was measured before."""
        known = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
        return cls({place: [_table(one) for one in tables] for place, tables in known.items()})

    def of(self, place: str, rates: Mapping[str, float]) -> Table | None:
        """The table of a machine of this kind; of two, of the one nearest to it."""
        alike = [table for table in self.tables(place) if table.like(rates)]
        return min(alike, key=lambda table: table.apart(rates), default=None)

    def least(self, place: str, key: str) -> Ratio | None:
        """The least that is claimed of a work on any machine."""
        known = [table.ratios[key] for table in self.tables(place) if key in table.ratios]
        return min(known, key=lambda ratio: ratio.median, default=None)

    def tables(self, place: str) -> list[Table]:
        """Those of a place."""
        return self._places.get(place, [])

    def put(self, place: str, table: Table) -> None:
        """Into the table of a machine of this kind, or beside the others."""
        known = self.of(place, table.rates)
        if known is None:
            tables = self._places.setdefault(place, [])
            tables.append(table)
            tables.sort(key=lambda one: -one.rates["float32"])
        else:
            known.ratios |= table.ratios

    def write(self, path: Path) -> None:
        """To a file."""
        places = {place: [table.to_json() for table in tables] for place, tables in self._places.items()}
        write_json(path, places)


def _table(known: Mapping[str, Any]) -> Table:
    return Table(known["processor"], known["rates"], {key: Ratio(**ratio) for key, ratio in known["ratios"].items()})
