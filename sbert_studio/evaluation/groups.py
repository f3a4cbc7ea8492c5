"""Several files of one task taken together: the means over them, and all their rows as one set.

SentEval (Conneau & Kiela 2018) prints the mean over the files of an STS year, the mean weighted by their pairs, and what the pairs give
when they are judged as one set ("all"); the tables of SBERT and of most later papers hold the last one. They differ by points.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ..data.examples import Examples
from .bootstrap import resampled_mean_of
from .tasks import primary

if TYPE_CHECKING:
    from .report import Report
    from .tasks import Rows, Task


@dataclass(frozen=True, eq=False)
class Group:
    """Files that are told together.

    Attributes:
        name: such as ``STS12``.
        task: the one that all of them are judged by.
        members: their places among all files.
        pooled: their rows as one set; ``None`` where the task has no such figure, or scales or labels differ.
        why_not: why the rows are not pooled, though the task would have it.
    """

    name: str
    task: Task
    members: tuple[int, ...]
    pooled: Examples | None = None
    why_not: str = ""


@dataclass(frozen=True, eq=False)
class GroupScores:
    """What one model gets on a group.

    Attributes:
        mean, weighted: the means over the files, each file counted alike and by its rows.
        pooled: the report on all rows as one set.
        resampled: the mean of the main number over resampled files, (resamples,).
        main: the mean of the main number, whose name is ``metric``.
    """

    task: str
    metric: str
    mean: Mapping[str, Any]
    weighted: Mapping[str, Any]
    pooled: Report | None
    resampled: np.ndarray | None
    main: float

    def to_json(self) -> dict[str, Any]:
        """``mean``, ``weighted_mean``, and ``all`` where the rows were pooled."""
        pooled = {} if self.pooled is None else {"all": dict(self.pooled.scores)}
        return {"mean": dict(self.mean), "weighted_mean": dict(self.weighted), **pooled}


def grouped(name: str, task: Task, members: Sequence[int], rows: Sequence[Rows]) -> Group:
    """The files at ``members`` as a group; ``rows`` are those of all files."""
    parts = [rows[place] for place in members]
    if not task.pools:
        return Group(name, task, tuple(members))
    if len({part.scale for part in parts}) > 1:
        scales = ", ".join(dict.fromkeys(f"{part.scale[0]:g}–{part.scale[1]:g}" for part in parts if part.scale is not None))
        return Group(name, task, tuple(members), why_not=f"the scores have different scales ({scales}), so their rows are not one set")
    if len({(part.examples.kind, part.examples.labels) for part in parts}) > 1:
        return Group(name, task, tuple(members), why_not="the labels differ, so their rows are not one set")
    return Group(name, task, tuple(members), pooled(name, [part.examples for part in parts]))


def pooled(name: str, parts: Sequence[Examples]) -> Examples:
    """Examples of one kind and one scale as one set, in their order; their own groups are left out."""
    first = parts[0]
    return Examples(
        first.kind,
        tuple(tuple(text for part in parts for text in part.texts[place]) for place in range(len(first.texts))),
        None if first.targets is None else np.concatenate([part.targets for part in parts if part.targets is not None]),
        np.concatenate([part.lines for part in parts]),
        first.labels,
        (),
        first.ordered,
    )


def scores_of_group(group: Group, reports: Sequence[Report], pooled: Report | None) -> GroupScores:
    """What one model gets on a group, from its reports on the group's files, in their order, and on the pooled rows."""
    told = [group.task.averaged(report.scores) for report in reports]
    sizes = [float(report.rows) for report in reports]
    mean = mean_of(told, [1.0] * len(told))
    main = float(np.mean([primary(report)[1] for report in reports]))
    draws = resampled_mean_of([report.resampled for report in reports])
    return GroupScores(group.task.name, primary(reports[0])[0], mean, mean_of(told, sizes), pooled, draws, main)


def mean_of(parts: Sequence[Mapping[str, Any]], weights: Sequence[float]) -> dict[str, Any]:
    """The weighted mean of each number that every part has, nested as the parts are."""
    shared = [name for name in parts[0] if all(name in part for part in parts)]
    found: dict[str, Any] = {}
    for name in shared:
        values = [part[name] for part in parts]
        if isinstance(values[0], Mapping):
            found[name] = mean_of(values, weights)
        else:
            found[name] = float(np.average(values, weights=weights))
    return found
