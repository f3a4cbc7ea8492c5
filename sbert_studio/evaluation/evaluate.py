"""From a table or a set of examples to the task that fits it, and to its report."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from ..data.examples import Examples
from ..data.schema.inference import infer_roles
from ..data.schema.roles import Roles
from ..encoders.base import Encoder
from ..encoders.scorers.pair_scorer import PairScorer
from ..errors import StudioError
from .classes import ClassRoles, class_roles, class_roles_of
from .judging import Judged, ToJudge, fitting_task, judge_sets, known_sample
from .tasks import SCORED_KINDS, TASKS, Rows, Shape, Task, all_tasks, kinds_of_task, primary, task_for, task_named

if TYPE_CHECKING:
    from ..data.progress import Progress
    from ..data.tables import Table
    from .report import Report

__all__ = [
    "SCORED_KINDS",
    "TASKS",
    "beside",
    "detect_task",
    "evaluate",
    "evaluate_examples",
    "kinds_of_task",
    "known_sample",
    "primary",
    "task_of",
]


def detect_task(table: Table) -> str:
    """The task, one of :data:`TASKS`, that a table is made for.

    Raises:
        StudioError: the table holds neither pairs, nor triplets, nor texts with a class.
    """
    return _automatic(table, None)[0].name


def evaluate(
    encoder: Encoder | PairScorer,
    table: Table,
    task: str = "auto",
    progress: Progress | None = None,
    roles: Roles | None = None,
    known: Table | None = None,
    dev: Table | None = None,
) -> Report:
    """Judge an encoder or a cross-encoder on a table.

    Args:
        task: one of :data:`TASKS`, or ``auto``: decided by the table's columns.
        progress: told how many texts are encoded.
        roles: what the columns are; found by names and values where it is not said.
        known, dev: see :func:`beside`.

    Raises:
        StudioError: the task is unknown, or the table does not hold what it needs.
    """
    chosen, columns = task_of(table, task, roles)
    if isinstance(encoder, PairScorer):
        chosen.require_pairs(encoder)
    rows = chosen.read(table, columns)
    if known is not None:
        rows = beside(rows, chosen, known, dev, columns)
    if task == "auto" and isinstance(encoder, PairScorer):
        chosen = fitting_task(encoder, rows.examples)
    (report,) = judge_sets(encoder, [ToJudge(rows.examples, chosen, rows.known, rows.dev)], progress)
    return replace(report, notes=rows.notes, account=rows.account)


def beside(rows: Rows, task: Task, known: Table, dev: Table | None = None, roles: Roles | ClassRoles | None = None) -> Rows:
    """What is judged, with other rows whose answers are known.

    Args:
        known: the task learns from them, or lays what is judged beside them.
        dev: rows by which it chooses its settings.
        roles: what the columns of the judged table are; those of another table that has other columns are found out.

    Raises:
        StudioError: the task has no use for them, or a table does not hold what it needs.
    """
    if not task.uses_known:
        able = ", ".join(one.name for one in all_tasks() if one.uses_known)
        raise StudioError(f"{task.name} judges a file by itself and has no use for known answers", f"leave them out, or choose {able}")
    found, chosen = (None if table is None else task.read(table, _of_columns(table, roles)) for table in (known, dev))
    assert found is not None
    use = "learned from" if task.learns else "laid beside"
    notes = (*rows.notes, f"{use} the {len(found.examples):,} rows of {known.name}", *found.notes)
    return replace(rows, known=found.examples, dev=None if chosen is None else chosen.examples, notes=notes)


def _of_columns(table: Table, roles: Roles | ClassRoles | None) -> Roles | ClassRoles | None:
    """Roles, if the table has the columns that they name."""
    if isinstance(roles, ClassRoles):
        names = {roles.text, roles.label}
    else:
        names = set() if roles is None else {*roles.texts, *(name for name in (roles.target,) if name)}
    return roles if names <= set(table.columns) else None


def task_of(table: Table, task: str, roles: Roles | None) -> tuple[Task, Roles | ClassRoles | None]:
    """The task of that name, or the one that fits a table where it is ``auto``; and the columns that serve it, as far as they are known.

    Raises:
        StudioError: there is no such task, or the table is made for none.
    """
    return _automatic(table, roles) if task == "auto" else (task_named(task), roles)


def evaluate_examples(encoder: Judged, examples: Examples, progress: Progress | None = None, *, known: Examples | None = None) -> Report:
    """Judge an encoder or a cross-encoder on examples of one of :data:`SCORED_KINDS`, as the trainer does with its dev split.

    Args:
        known: of texts with a category, others whose category is known: those that were learned. As many of them as
            :func:`known_sample` takes are looked at, always the same ones. Without them the judged texts are laid beside each other.

    Raises:
        StudioError: the examples are bare sentences, or there are none.
    """
    (report,) = judge_sets(encoder, [ToJudge(examples, fitting_task(encoder, examples))], progress, known)
    return report


def _automatic(table: Table, roles: Roles | None) -> tuple[Task, Roles | ClassRoles]:
    """The task that fits a table, for a model that gives vectors, and the columns that serve it."""
    try:
        roles = roles or infer_roles(table)
    except StudioError:
        return task_for(Shape("sentences", classed=True)), class_roles(table)
    if roles.kind in ("labelled_texts", "sentences"):
        return task_for(Shape(roles.kind, classed=True)), class_roles_of(roles) or class_roles(table)
    return task_for(Shape(roles.kind, len(roles.labels), roles.ordered)), roles
