"""Several models on several files: a report for each, the files taken together, and every two models compared."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import TYPE_CHECKING, Any

from ..encoders.base import Encoder
from ..encoders.scorers.pair_scorer import PairScorer
from .comparison import Comparison, told_apart
from .groups import Group, GroupScores, grouped, scores_of_group
from .in_words import told_apart_by_suite
from .judging import Judged, ToJudge, fitting_task, judge_sets
from .pace import Pace
from .remembered import Remembered
from .tasks import Rows, Task, primary, task_named

if TYPE_CHECKING:
    from ..data.progress import Progress
    from .report import Report


@dataclass(frozen=True, eq=False)
class JudgedFile:
    """One file that models are judged on.

    Attributes:
        name: what it is called in the answer.
        rows: what it holds.
        task: the one that fits it; ``automatic``: a model that scores pairs may be judged by another.
        suite: the suite that it belongs to, if any.
        notes: in words, what there is to know of it.
        public: whether it is nobody's own: a suite that lies in the home folder, a sample, or a set of the Hub.
    """

    name: str
    rows: Rows
    task: Task
    automatic: bool = False
    suite: str = ""
    notes: tuple[str, ...] = ()
    public: bool = False


@dataclass(frozen=True, eq=False)
class ModelScores:
    """What one model gets.

    Attributes:
        reports: one for each file.
        groups, averages: one for each; ``None`` where the model was judged by other tasks.
        notes: for each file, what is to be known of this model on it, such as that it was tuned on its rows.
        rate: sentences a second while it read them; 0 where nothing was read.
        seconds: of all of it.
        fingerprint, dim: of the model; no vectors have 0 dimensions.
    """

    model: str
    reports: tuple[Report, ...]
    groups: tuple[GroupScores | None, ...]
    averages: tuple[GroupScores | None, ...] = ()
    notes: tuple[tuple[str, ...], ...] = field(default=())
    rate: float = 0.0
    seconds: float = 0.0
    fingerprint: str = ""
    dim: int = 0


@dataclass(frozen=True)
class Average:
    """Suites whose figures are averaged, as the last column of the tables in the literature: of each suite that of all its rows.

    Attributes:
        name: such as ``STS``.
        suites: those that there are; ``wanted`` counts those that there should be.
    """

    name: str
    suites: tuple[str, ...]
    wanted: int


def groups_of(files: Sequence[JudgedFile]) -> list[Group]:
    """The files of each suite together, and of those that belong to none the files of each task; a file alone makes no group."""
    together: dict[tuple[str, str], list[int]] = {}
    for place, file in enumerate(files):
        together.setdefault((file.suite, file.task.name), []).append(place)
    rows = [file.rows for file in files]
    return [
        grouped(suite or f"{len(members)} files", files[members[0]].task, members, rows)
        for (suite, _), members in together.items()
        if len(members) > 1
    ]


def judge_model(
    name: str,
    model: Judged,
    files: Sequence[JudgedFile],
    groups: Sequence[Group] = (),
    averages: Sequence[Average] = (),
    progress: Progress | None = None,
) -> ModelScores:
    """One model on every file and group; each distinct text is encoded once, over all of them."""
    scorer, began = isinstance(model, PairScorer), time.perf_counter()
    tasks = [fitting_task(model, file.rows.examples) if file.automatic and scorer else file.task for file in files]
    sets = [ToJudge(file.rows.examples, task, file.rows.known, file.rows.dev) for file, task in zip(files, tasks, strict=True)]
    judged = [group for group in groups if all(tasks[place].name == group.task.name for place in group.members)]
    sets += [ToJudge(group.pooled, group.task) for group in judged if group.pooled is not None]
    pace = Pace()
    reports = judge_sets(model, sets, progress, pace=pace)
    if isinstance(model, Remembered):
        pace = model.pace  # what it was shown before counts too
    of_pools = iter(reports[len(files) :])
    scores: dict[int, GroupScores] = {}
    for group in judged:
        own = [reports[place] for place in group.members]
        scores[id(group)] = scores_of_group(group, own, next(of_pools) if group.pooled is not None else None)
    found = ModelScores(name, tuple(reports[: len(files)]), tuple(scores.get(id(group)) for group in groups))
    return replace(
        found,
        averages=tuple(_averaged(one, files, groups, found) for one in averages),
        rate=pace.rate,
        seconds=time.perf_counter() - began,
        fingerprint=str((model.for_role("symmetric") if isinstance(model, Encoder) else model).fingerprint),
        dim=0 if scorer else int(getattr(model, "dim", 0)),
    )


def _averaged(average: Average, files: Sequence[JudgedFile], groups: Sequence[Group], scores: ModelScores) -> GroupScores | None:
    """The mean over suites; ``None`` where one has no figure."""
    figures: dict[str, Report | None] = {file.suite: report for file, report in zip(files, scores.reports, strict=True)}
    figures |= {group.name: None if own is None else own.pooled for group, own in zip(groups, scores.groups, strict=True)}
    reports = [report for suite in average.suites if (report := figures[suite]) is not None]
    if len(reports) < len(average.suites) or len({report.task for report in reports}) > 1:
        return None
    return scores_of_group(Group(average.name, task_named(reports[0].task), ()), reports, None)


def compared(
    files: Sequence[JudgedFile], groups: Sequence[Group], averages: Sequence[Average], models: Sequence[ModelScores]
) -> list[Comparison]:
    """Every two models on every file, group and average, as far as they were judged by the same task."""
    return [found for one, other in combinations(models, 2) for found in _compared(files, groups, averages, one, other)]


def _compared(
    files: Sequence[JudgedFile], groups: Sequence[Group], averages: Sequence[Average], one: ModelScores, other: ModelScores
) -> Iterator[Comparison]:
    names = (one.model, other.model)
    for of, first, second in zip(told_apart_by_suite([(file.suite, file.name) for file in files]), one.reports, other.reports, strict=True):
        if first.task == second.task:
            yield _of_reports(of, "file", names, first, second)
    for group, mine, theirs in zip(groups, one.groups, other.groups, strict=True):
        if mine is not None and theirs is not None:
            yield _of_means(group.name, "mean", names, mine, theirs)
            if mine.pooled is not None and theirs.pooled is not None:
                yield _of_reports(group.name, "all", names, mine.pooled, theirs.pooled)
    for average, mine, theirs in zip(averages, one.averages, other.averages, strict=True):
        if mine is not None and theirs is not None:
            yield _of_means(average.name, "average", names, mine, theirs)


def _of_means(of: str, by: Any, names: tuple[str, str], mine: GroupScores, theirs: GroupScores) -> Comparison:
    scores = (mine.main, theirs.main)
    apart = told_apart(scores, (mine.resampled, theirs.resampled))
    return Comparison(of, by, mine.task, mine.metric, names, scores, *apart, task_named(mine.task).smaller_is_better)


def _of_reports(of: str, by: Any, names: tuple[str, str], first: Report, second: Report) -> Comparison:
    (metric, one), (_, other) = primary(first), primary(second)
    apart = told_apart((one, other), (first.resampled, second.resampled))
    return Comparison(of, by, first.task, metric, names, (one, other), *apart, task_named(first.task).smaller_is_better)
