"""Evaluate several models on several files, group files of one task, and test differences (paired bootstrap)."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from ..data.examples import Examples
from ..models.base import Encoder
from ..models.pair_scorer import PairScorer
from .bootstrap import gain, resampled_mean_of
from .encoding import Pace, Remembered
from .evaluate import Judged, ToJudge, fitting_task, judge_sets
from .report import told_apart_by_suite
from .tasks import Rows, Task, primary, task_named

if TYPE_CHECKING:
    from ..data.progress import Progress
    from .report import Report


@dataclass(frozen=True)
class Comparison:
    """Two models by one number.

    Attributes:
        of: the file or the group that they are judged on.
        by: the file itself, the mean over the group's files, all its rows as one set, or the mean over suites.
        task, metric: what the number is.
        models: the two; ``scores`` are theirs.
        interval: the 95% interval of the second one's score less the first one's; ``None``: the rows are too few to tell.
        chance: the share of resamples in which the order of the two turns, or they tie; ``None`` as above.
        smaller: whether the smaller number is the better one.
    """

    of: str
    by: Literal["file", "mean", "all", "average"]
    task: str
    metric: str
    models: tuple[str, str]
    scores: tuple[float, float]
    interval: tuple[float, float] | None
    chance: float | None
    smaller: bool = False

    @property
    def difference(self) -> float:
        """The second one's score less the first one's."""
        return self.scores[1] - self.scores[0]

    @property
    def better(self) -> str | None:
        """The one that is better beyond chance, if either is."""
        if self.interval is None:
            return None
        low, high = self.interval
        more, less = self.models[::-1] if not self.smaller else self.models
        return more if low > 0 else less if high < 0 else None

    def in_words(self) -> str:
        """``better beyond chance: NAME``, or ``no difference beyond chance``."""
        if self.interval is None:
            return "too few rows of a kind to tell a difference from chance"
        return "no difference beyond chance" if self.better is None else f"better beyond chance: {self.better}"

    def to_json(self) -> dict[str, Any]:
        """Plain data for JSON; the difference is the second model's score less the first one's."""
        return {
            "of": self.of,
            "by": self.by,
            "task": self.task,
            "metric": self.metric,
            "models": list(self.models),
            "scores": list(self.scores),
            "difference": self.difference,
            "interval": None if self.interval is None else list(self.interval),
            "chance": self.chance,
            "better": self.better,
            "words": self.in_words(),
        }


def told_apart(
    scores: tuple[float, float], resampled: tuple[np.ndarray | None, np.ndarray | None]
) -> tuple[tuple[float, float] | None, float | None]:
    """The interval of the difference of two models, and the share of resamples in which their order turns.

    Args:
        scores: of the two models on the same rows.
        resampled: their scores on the same resamples, (resamples,) each. A resample takes part where both are defined.
    """
    found = gain(*resampled).get("gain_interval")
    if found is None or resampled[0] is None or resampled[1] is None:
        return None, None
    differences = resampled[1] - resampled[0]
    differences = differences[~np.isnan(differences)]
    way = np.sign(scores[1] - scores[0])
    turned = float((np.sign(differences) != way).mean()) if way else 1.0
    return (float(found[0]), float(found[1])), turned


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
