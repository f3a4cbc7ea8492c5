"""The evaluation tasks: a file each.

Every module of this folder is imported, so that adding a task is adding a file. None of them loads anything heavy before it judges.
"""

from __future__ import annotations

import importlib
import pkgutil
from typing import TYPE_CHECKING, Any

from ...data.schema.roles import KINDS, Kind
from ...errors import StudioError
from .base import REGISTRY, Rows, Shape, Task, WithVectors

if TYPE_CHECKING:
    from ..report import Report

for _module in sorted(module.name for module in pkgutil.iter_modules(__path__)):
    importlib.import_module(f"{__name__}.{_module}")

_TASKS: dict[str, Task] = {task.name: task for task in sorted((REGISTRY[name]() for name in REGISTRY), key=lambda task: task.order)}
TASKS: tuple[str, ...] = tuple(_TASKS)
SCORED_KINDS: tuple[Kind, ...] = tuple(kind for kind in KINDS if any(task.fits(Shape(kind, 2)) for task in _TASKS.values()))
"""The kinds that have a task which tells a good model from a bad one; bare sentences have none."""


def all_tasks() -> tuple[Task, ...]:
    """Every task, in the order in which lists show them."""
    return tuple(_TASKS.values())


def task_named(name: str) -> Task:
    """The task of that name.

    Raises:
        StudioError: there is none.
    """
    if name not in _TASKS:
        raise StudioError(f"there is no evaluation {name!r}", f"choose one of auto, {', '.join(TASKS)}")
    return _TASKS[name]


def task_for(shape: Shape) -> Task:
    """The task that fits such examples.

    Raises:
        StudioError: none does: they are bare sentences.
    """
    for task in _TASKS.values():
        if task.fits(shape):
            return task
    raise StudioError("bare sentences hold nothing to judge a model by", "give pairs with a score or label, or triplets")


def kinds_of_task(name: str) -> tuple[Kind, ...]:
    """The kinds of examples that a task judges by, the usual one first; of ``auto`` none, for it fits the task to the examples.

    Raises:
        StudioError: there is no such task.
    """
    return () if name == "auto" else task_named(name).kinds


def primary(report: Report) -> tuple[str, float]:
    """The name and value of the one score that picks the best checkpoint; larger is better, unless the task says otherwise."""
    if report.task not in _TASKS:
        raise StudioError(f"a report of {report.task!r} has no main score", f"known: {', '.join(TASKS)}")
    place = _TASKS[report.task].place_of_main(report.scores)
    value: Any = report.scores
    for step in place:
        value = value[step]
    return "_".join(step for step in place if step != "pair"), float(value)


__all__ = [
    "SCORED_KINDS",
    "TASKS",
    "Rows",
    "Shape",
    "Task",
    "WithVectors",
    "all_tasks",
    "kinds_of_task",
    "primary",
    "task_for",
    "task_named",
]
