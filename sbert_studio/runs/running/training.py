"""A run's folder → a training: its rows, its spec, and what an alarm asks of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from ...training.events import Asks, Event
from ..run_files import RunFiles
from ..turned import with_turns

if TYPE_CHECKING:
    from ...models.catalog import Catalog
    from ...training.trainer import Outcome


def train_run(folder: Path, catalog: Catalog, should_stop: Callable[[], bool], emit: Callable[[Event], None]) -> Outcome:
    """Train the run in ``folder``, from its last checkpoint on where it has any."""
    from ...training.prepare import fresh
    from ...training.trials import run_trials

    materials = RunFiles(folder)
    examples, dev = materials.examples()
    turns = partial(with_turns, roles=materials.roles(), of_held_out_file=dev is not None)

    def tell(event: Event) -> None:
        emit(replace(event, question=turns(event.question)) if isinstance(event, Asks) else event)

    outcome = run_trials(
        materials.spec(),
        examples,
        tell,
        should_stop,
        load=partial(fresh, catalog),
        folder=folder,
        dev=dev,
        first=materials.first(),
        reasons=materials.reasons(),
        pins=materials.pins(),
    )
    return replace(outcome, question=turns(outcome.question))
