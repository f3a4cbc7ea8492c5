"""One ratio: what was done, both sides' rounds, and the floor that arithmetic and memory set."""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Ratio:
    """Both sides' rounds of one work.

    Attributes:
        key: names it, whatever it is measured on.
        what: the work, for a table.
        peer: whom it was measured beside.
        unit: of ``ours`` and ``theirs``: ``s`` is a time and ``MiB`` is memory, of which less is better, anything else a rate.
        ours, theirs: a number a round, by turns.
        quality: how equal the results are.
        floor: what the work takes in operations or bytes, and how many seconds that would be at this machine's rates.
        goal: the least ratio that was asked for, if any.
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
        """How many times as fast as the peer, or how many times as much memory the peer takes, round by round."""
        pairs = zip(self.ours, self.theirs, strict=True)
        return [theirs / ours if self.unit in ("s", "MiB") else ours / theirs for ours, theirs in pairs]

    @property
    def median(self) -> float:
        """The median of :attr:`rounds`."""
        return statistics.median(self.rounds)

    def line(self) -> str:
        """A row of the table in docs/PERFORMANCE.md."""
        ours, theirs = (number(statistics.median(side)) for side in (self.ours, self.theirs))
        spread = f"{min(self.rounds):.2f} to {max(self.rounds):.2f}"
        asked = "" if self.goal is None else f"{self.goal:g}"
        cells = (self.what, f"{self.peer}: {theirs} {self.unit}", f"{ours} {self.unit}", f"**{self.median:.2f} ×**", spread, asked)
        return f"| {' | '.join((*cells, self.quality, self.floor))} |"

    def to_json(self) -> dict[str, Any]:
        """Its attributes."""
        return asdict(self)


@dataclass(frozen=True)
class Setting:
    """What a work is measured on.

    Attributes:
        data: the folder of the public sets; ``None``: the samples that come with the studio.
        rounds: turns.
        scratch: a folder to write to.
        peer: the precision of the peer's networks.
        batch_size: of training.
        rates: of this machine: 10⁹ operations a second in ``float32``, ``bfloat16`` and ``int8``, 10⁹ bytes a second by ``memory``.
    """

    data: Path | None
    rounds: int
    scratch: Path
    rates: Mapping[str, float]
    peer: str = "float32"
    batch_size: int = 16

    @property
    def place(self) -> str:
        """``public`` or ``samples``."""
        return "samples" if self.data is None else "public"


Work = Callable[[Setting], Iterator[Ratio]]
HEAD = "| work | peer | ours | ratio | rounds | asked for | how equal | floor |\n|---|---|---|---|---|---|---|---|"
"""Above the lines of a table."""


def number(value: float) -> str:
    """Three digits that count."""
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def studio(*arguments: object) -> dict[str, Any]:
    """What ``sbert-studio … --json`` answers."""
    command = [sys.executable, "-m", "sbert_studio", *map(str, arguments), "--json"]
    answer: dict[str, Any] = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout)
    return answer
