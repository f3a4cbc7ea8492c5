"""A run that trains in slices of time on a lent GPU: each goes on from the checkpoint of the one before, to the same bits."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ...identity import Identity, use_identity
from ...models.inference import zerogpu
from ...training.events import Event, Notice, Started, Stopped
from .training import train_run

if TYPE_CHECKING:
    from ...models.catalog import Catalog, CatalogSettings
    from ...training.trainer import Outcome


def train_in_slices(folder: Path, catalog: Catalog, should_stop: Callable[[], bool], emit: Callable[[Event], None]) -> Outcome:
    """Train the run in ``folder`` until it ends, or ``should_stop`` says so between two slices; what happens in one is told at its end.

    Raises:
        StudioError: as the training; or no GPU can be had now. The last checkpoint stays.
    """
    known: set[str] = set()
    first = True
    while True:
        given = (folder, catalog.settings, catalog.identity, zerogpu.lent(), zerogpu.SECONDS)
        events, outcome = zerogpu.on_gpu(_slice, *given)
        over = outcome.status != "stopped" or should_stop()
        for event in events:
            again = isinstance(event, Notice) and event.message in known
            if again or (isinstance(event, Started) and not first) or (isinstance(event, Stopped) and not over):
                continue
            if isinstance(event, Notice):
                known.add(event.message)
            emit(event)
        first = False
        if over:
            return outcome


def _slice(folder: Path, settings: CatalogSettings, identity: Identity, device: str, seconds: float) -> tuple[list[Event], Outcome]:
    """Train from the last checkpoint on until the time is up: what happened, and how it ended; ``stopped`` where there is more to do."""
    events: list[Event] = []
    with use_identity(identity):
        return events, train_run(folder, settings.open(device), _Clock(time.monotonic() + seconds).over, events.append)


@dataclass
class _Clock:
    """Says when the time is up, but never before a step was taken: every slice goes on a little."""

    until: float
    asked: int = 0

    def over(self) -> bool:
        self.asked += 1
        return self.asked > 1 and time.monotonic() > self.until
