"""The training of a run from its folder: in one go, in slices of a GPU that is lent, or in several processes."""

from __future__ import annotations

import shlex
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..data.questions import Option
from ..data.schema.overrides import format_names, format_scale
from ..data.schema.roles import Roles
from ..errors import StudioError
from ..identity import Identity, use_identity
from ..models.inference import zerogpu
from ..training.alarms import OPPOSITE
from ..training.events import Asks, Event, Notice, Started, Stopped
from .files import RunFiles

if TYPE_CHECKING:
    from ..models.catalog import Catalog, CatalogSettings
    from ..training.trainer import TrainingOutcome


def train_run(folder: Path, catalog: Catalog, should_stop: Callable[[], bool], emit: Callable[[Event], None]) -> TrainingOutcome:
    """Train the run in ``folder``, from its last checkpoint if it has one."""
    from ..training.prepare import create_model
    from ..training.trials import run_trials

    files = RunFiles(folder)
    examples, dev = files.examples()
    with_options = partial(add_alarm_options, roles=files.roles(), is_dev_file=dev is not None)

    def emit_with_options(event: Event) -> None:
        emit(replace(event, question=with_options(event.question)) if isinstance(event, Asks) else event)

    outcome = run_trials(
        files.spec(),
        examples,
        emit_with_options,
        should_stop,
        load=partial(create_model, catalog),
        folder=folder,
        dev=dev,
        first=files.first(),
        reasons=files.reasons(),
        pins=files.pins(),
    )
    return replace(outcome, question=with_options(outcome.question))


def add_alarm_options(question: Mapping[str, Any], roles: Roles, *, is_dev_file: bool = False) -> dict[str, Any]:
    """Add to an alarm's question the answer that reverses the scores or swaps the columns, which depends on the table's ``roles``.

    Args:
        question: as :class:`~sbert_studio.training.events.Asks` has it; may be empty.
        roles: of the training file. An order of labels that are not its own is removed, since it cannot be applied.
        is_dev_file: the rows shown are those of a validation file, which the question then says.
    """
    found = dict(question)
    options = list(found.get("options", ()))
    if not any(option["choice"].get("accept_alarm") == OPPOSITE for option in options):
        return found
    if is_dev_file:
        found["question"] = f"In the held-out file: {found['question']}"
    options = [option for option in options if sorted(option["choice"].get("order", roles.labels)) == sorted(roles.labels)]
    if roles.kind == "scored_pairs" and roles.low is not None and roles.high is not None:
        low, high = roles.high, roles.low
        answer = f"no, turn the scores round: {high:g} counts as most alike"
        options = [Option(answer, f"--scale {shlex.quote(format_scale(low, high))}", {"scale": [low, high]}).to_json(), *options]
    if roles.kind == "triplets" and len(roles.texts) == 3:
        anchor, positive, negative = roles.texts
        columns = (anchor, negative, positive)
        answer = f"no, {negative} holds what belongs to {anchor}"
        options[0] = Option(answer, f"--columns {shlex.quote(format_names(columns))}", {"columns": list(columns)}).to_json()
    return {**found, "options": options}


def train_in_slices(folder: Path, catalog: Catalog, should_stop: Callable[[], bool], emit: Callable[[Event], None]) -> TrainingOutcome:
    """Train the run in slices of time on a lent GPU; each resumes from the checkpoint of the one before, bit for bit.

    Events of a slice are emitted when it ends; ``should_stop`` is asked between slices.

    Raises:
        StudioError: as the training; or no GPU is available now. The last checkpoint stays.
    """
    notices: set[str] = set()
    is_first = True
    while True:
        events, outcome = zerogpu.run_on_gpu(
            _train_slice, folder, catalog.settings, catalog.identity, zerogpu.gpu_name(), zerogpu.SLICE_SECONDS
        )
        is_last = outcome.status != "stopped" or should_stop()
        for event in events:
            repeated = isinstance(event, Notice) and event.message in notices
            if repeated or (isinstance(event, Started) and not is_first) or (isinstance(event, Stopped) and not is_last):
                continue
            if isinstance(event, Notice):
                notices.add(event.message)
            emit(event)
        is_first = False
        if is_last:
            return outcome


def _train_slice(
    folder: Path, settings: CatalogSettings, identity: Identity, device: str, seconds: float
) -> tuple[list[Event], TrainingOutcome]:
    events: list[Event] = []
    with use_identity(identity):
        return events, train_run(folder, settings.open(device), _Deadline(time.monotonic() + seconds).is_over, events.append)


@dataclass
class _Deadline:
    """True once the time is up, but not before the first step, so that every slice makes progress."""

    until: float
    calls: int = 0

    def is_over(self) -> bool:
        self.calls += 1
        return self.calls > 1 and time.monotonic() > self.until


def is_main_process() -> bool:
    """Return True in the process that writes to the store and answers; of those that ``accelerate launch`` starts, one."""
    from accelerate import PartialState

    return bool(PartialState().is_main_process)


def broadcast_from_main(make: Callable[[], str], device: str) -> str:
    """Call ``make`` in the main process and return its result in every process.

    Processes on several machines need a home folder that all of them see.

    Args:
        device: what the processes train on. They connect here, on a CPU only if that is said.

    Raises:
        StudioError: in every process, if ``make`` raised it in the main one.
    """
    from accelerate import PartialState

    state: Any = PartialState(cpu=device == "cpu")
    if state.num_processes == 1:
        return make()
    from accelerate.utils import broadcast_object_list

    sent: list[Any] = ["", None]
    own: StudioError | None = None
    if state.is_main_process:
        try:
            sent[0] = make()
        except StudioError as error:
            own, sent[1] = error, (error.message, error.hint, error.rows)
    broadcast_object_list(sent)
    if sent[1] is not None:
        raise own or StudioError(*sent[1])
    return str(sent[0])
