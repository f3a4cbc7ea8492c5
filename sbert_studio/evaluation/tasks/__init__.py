"""Evaluation tasks. All modules of this folder are imported, so a new task is a new file."""

from __future__ import annotations

import importlib
import pkgutil
from functools import reduce
from operator import getitem
from typing import TYPE_CHECKING

from ...data.schema.roles import KINDS, Kind
from ...errors import StudioError
from ...i18n import _
from .base import TASK_REGISTRY, DataShape, EncodedExamples, Task, TaskData

if TYPE_CHECKING:
    from ..report import Report

for _module in sorted(module.name for module in pkgutil.iter_modules(__path__)):
    importlib.import_module(f"{__name__}.{_module}")

_TASKS: dict[str, Task] = {
    task.name: task for task in sorted((TASK_REGISTRY[name]() for name in TASK_REGISTRY), key=lambda task: task.order)
}
TASKS: tuple[str, ...] = tuple(_TASKS)
SCORED_KINDS: tuple[Kind, ...] = tuple(kind for kind in KINDS if any(task.fits(DataShape(kind, 2)) for task in _TASKS.values()))
"""Kinds of examples with a default task; unlabelled sentences have none."""


def all_tasks() -> tuple[Task, ...]:
    """Return every task in display order."""
    return tuple(_TASKS.values())


def get_task(name: str) -> Task:
    """Return the task called ``name``.

    Raises:
        StudioError: it does not exist.
    """
    if name not in _TASKS:
        raise StudioError(_("there is no evaluation {name}", name=repr(name)), _("choose one of auto, {tasks}", tasks=", ".join(TASKS)))
    return _TASKS[name]


def find_task(shape: DataShape) -> Task:
    """Return the default task for data of this shape.

    Raises:
        StudioError: the data are unlabelled sentences.
    """
    for task in _TASKS.values():
        if task.fits(shape):
            return task
    raise StudioError("sentences without labels cannot be used to evaluate a model", "use pairs with a score or label, or triplets")


def task_kinds(name: str) -> tuple[Kind, ...]:
    """Return the kinds of examples that a task supports, the default first; empty for ``auto``.

    Raises:
        StudioError: the task does not exist.
    """
    return () if name == "auto" else get_task(name).kinds


def main_score(report: Report) -> tuple[str, float]:
    """Return name and value of the main score of a report, which is used to select the best checkpoint."""
    if report.task not in _TASKS:
        raise StudioError(_("a report of {task} has no main score", task=repr(report.task)), _("known: {tasks}", tasks=", ".join(TASKS)))
    path = _TASKS[report.task].main_path(report.scores)
    return "_".join(step for step in path if step != "pair"), float(reduce(getitem, path, report.scores))  # type: ignore[arg-type]


__all__ = ["SCORED_KINDS", "TASKS", "DataShape", "EncodedExamples", "Task", "TaskData", "all_tasks"]
__all__ += ["find_task", "get_task", "main_score", "task_kinds"]
