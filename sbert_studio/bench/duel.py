"""Speed beside a peer: the same work by turns (A B A B) in one process, so that a noisy machine is noisy for both."""

from __future__ import annotations

import importlib
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ..errors import StudioError

if TYPE_CHECKING:
    from ..data.progress import Progress

Round = Callable[[int], float]
"""Called with the round's number from 0; does the work once and returns its value in the duel's unit."""


@dataclass(frozen=True)
class Duel:
    """Medians over the rounds.

    Attributes:
        work: what was done.
        unit: of ``ours`` and ``peer``; with ``smaller_is_faster`` a time, else a rate.
        ours, peer: medians over the rounds.
        variants: medians of our further precisions, each beside the same peer.
        rounds: the values of each contestant, in order.
        facts: what else was measured, such as how equal the results were.
    """

    work: str
    unit: str
    ours: float
    peer: float
    smaller_is_faster: bool = False
    variants: Mapping[str, float] = field(default_factory=dict)
    rounds: Mapping[str, Sequence[float]] = field(default_factory=dict)
    facts: Mapping[str, Any] = field(default_factory=dict)

    @property
    def ratio(self) -> float:
        """How many times faster we are; above 1 we are."""
        return self._against(self.ours)

    def to_json(self) -> dict[str, Any]:
        """``{work, unit, ours, peer, ratio, variants, rounds, **facts}``."""
        found: dict[str, Any] = {"work": self.work, "unit": self.unit, "ours": self.ours, "peer": self.peer, "ratio": self.ratio}
        if self.variants:
            found["variants"] = {name: {"ours": value, "ratio": self._against(value)} for name, value in self.variants.items()}
        return {**found, "rounds": {name: list(values) for name, values in self.rounds.items()}, **self.facts}

    def _against(self, ours: float) -> float:
        return self.peer / ours if self.smaller_is_faster else ours / self.peer


def duel(
    work: str,
    unit: str,
    contestants: Mapping[str, Round],
    repeats: int,
    *,
    smaller_is_faster: bool = False,
    progress: Progress | None = None,
) -> Duel:
    """Let the contestants work by turns, ``repeats`` times each.

    Args:
        contestants: ours first, our variants next, the peer last.

    Raises:
        StudioError: there are fewer than one repeats.
    """
    if repeats < 1:
        raise StudioError(f"repeats is {repeats}", "choose at least 1")
    values: dict[str, list[float]] = {name: [] for name in contestants}
    for turn in range(repeats):
        for place, (name, once) in enumerate(contestants.items()):
            values[name].append(once(turn))
            if progress:
                progress(turn * len(contestants) + place + 1, repeats * len(contestants))
    medians = {name: statistics.median(found) for name, found in values.items()}
    ours, *variants, peer = contestants
    return Duel(work, unit, medians[ours], medians[peer], smaller_is_faster, {name: medians[name] for name in variants}, values)


def rate(amount: int, once: Callable[[], object]) -> float:
    """``amount`` of work divided by the seconds that ``once`` takes."""
    start = time.perf_counter()
    once()
    return amount / max(time.perf_counter() - start, 1e-9)


def peer_library(name: str = "sentence_transformers") -> Any:
    """The peer's module. It is a development tool: nothing but a benchmark may import it, and only by name, at run time.

    Raises:
        StudioError: it is not installed.
    """
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise StudioError(
            f"{name.replace('_', '-')} is not installed, so there is nothing to measure beside",
            "pip install 'sbert-studio[peers]', or -r requirements-dev.txt in a checkout",
        ) from error
