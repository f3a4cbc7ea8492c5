"""Evaluate several models on several files, group files of one task, and test differences (paired bootstrap)."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from ..data.examples import Examples
from ..models.base import Encoder, PairScorer
from .bootstrap import average_bootstraps, paired_gain
from .encoding import CachingEncoder, EncodingSpeed
from .evaluate import EvaluatedModel, EvaluationSet, evaluate_sets, fitting_task
from .report import disambiguate_names
from .tasks import Task, TaskData, get_task, main_score

if TYPE_CHECKING:
    from ..progress import Progress
    from .report import Report


@dataclass(frozen=True)
class Comparison:
    """Difference of two models in one metric.

    Attributes:
        subject: file or group.
        level: the file itself, the mean over the group's files, all its rows as one set, or the mean over suites.
        task, metric: the metric compared.
        models, scores: the two models and their scores.
        interval: 95 % interval of the second score minus the first; ``None`` with too few rows.
        chance: share of resamples in which the order reverses or ties; ``None`` as above.
        lower_is_better: True if the smaller score is better.
    """

    subject: str
    level: Literal["file", "mean", "all", "average"]
    task: str
    metric: str
    models: tuple[str, str]
    scores: tuple[float, float]
    interval: tuple[float, float] | None
    chance: float | None
    lower_is_better: bool = False

    @property
    def difference(self) -> float:
        """Second score minus first score."""
        return self.scores[1] - self.scores[0]

    @property
    def better(self) -> str | None:
        """The significantly better model, or ``None``."""
        if self.interval is None:
            return None
        low, high = self.interval
        more, less = self.models[::-1] if not self.lower_is_better else self.models
        return more if low > 0 else less if high < 0 else None

    def describe(self) -> str:
        """Describe the result: ``better beyond chance: NAME`` or ``no difference beyond chance``."""
        if self.interval is None:
            return "too few rows of a kind to tell a difference from chance"
        return "no difference beyond chance" if self.better is None else f"better beyond chance: {self.better}"

    def to_json(self) -> dict[str, Any]:
        """Return plain data for JSON."""
        return {
            "of": self.subject,
            "by": self.level,
            "task": self.task,
            "metric": self.metric,
            "models": list(self.models),
            "scores": list(self.scores),
            "difference": self.difference,
            "interval": None if self.interval is None else list(self.interval),
            "chance": self.chance,
            "better": self.better,
            "words": self.describe(),
        }


def paired_difference(
    scores: tuple[float, float], resampled: tuple[np.ndarray | None, np.ndarray | None]
) -> tuple[tuple[float, float] | None, float | None]:
    """Return the interval of the difference of two models, and the share of resamples in which their order reverses.

    Args:
        scores: scores of the two models on the same rows.
        resampled: their bootstrap scores, (resamples,) each; resamples where either is NaN are ignored.
    """
    found = paired_gain(*resampled).get("gain_interval")
    if found is None or resampled[0] is None or resampled[1] is None:
        return None, None
    differences = resampled[1] - resampled[0]
    differences = differences[~np.isnan(differences)]
    way = np.sign(scores[1] - scores[0])
    turned = float((np.sign(differences) != way).mean()) if way else 1.0
    return (float(found[0]), float(found[1])), turned


@dataclass(frozen=True, eq=False)
class FileGroup:
    """Files reported together.

    Attributes:
        name: such as ``STS12``.
        task: the common task.
        members: indices into all files.
        pooled: all rows as one set; ``None`` if the task does not pool, or scales or labels differ.
        pooling_note: reason why the rows are not pooled.
    """

    name: str
    task: Task
    members: tuple[int, ...]
    pooled: Examples | None = None
    pooling_note: str = ""


@dataclass(frozen=True, eq=False)
class GroupScores:
    """Scores of one model on a group.

    Attributes:
        mean, weighted: unweighted and row-weighted means over the files.
        pooled: report on all rows as one set.
        resampled: bootstrap of the mean main score, (resamples,).
        main: mean main score, named ``metric``.
    """

    task: str
    metric: str
    mean: Mapping[str, Any]
    weighted: Mapping[str, Any]
    pooled: Report | None
    resampled: np.ndarray | None
    main: float

    def to_json(self) -> dict[str, Any]:
        """Return ``mean``, ``weighted_mean``, and ``all`` if the rows were pooled."""
        pooled = {} if self.pooled is None else {"all": dict(self.pooled.scores)}
        return {"mean": dict(self.mean), "weighted_mean": dict(self.weighted), **pooled}


def build_group(name: str, task: Task, members: Sequence[int], rows: Sequence[TaskData]) -> FileGroup:
    """Return the files at ``members`` as a group; ``rows`` holds the data of all files."""
    parts = [rows[place] for place in members]
    if not task.pools:
        return FileGroup(name, task, tuple(members))
    if len({part.scale for part in parts}) > 1:
        scales = ", ".join(dict.fromkeys(f"{part.scale[0]:g}–{part.scale[1]:g}" for part in parts if part.scale is not None))
        return FileGroup(
            name, task, tuple(members), pooling_note=f"the scores have different scales ({scales}), so their rows are not one set"
        )
    if len({(part.examples.kind, part.examples.labels) for part in parts}) > 1:
        return FileGroup(name, task, tuple(members), pooling_note="the labels differ, so their rows are not one set")
    return FileGroup(name, task, tuple(members), concatenate_examples(name, [part.examples for part in parts]))


def concatenate_examples(name: str, parts: Sequence[Examples]) -> Examples:
    """Concatenate examples of one kind and scale; their groups are dropped."""
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


def score_group(group: FileGroup, reports: Sequence[Report], pooled: Report | None) -> GroupScores:
    """Return the scores of one model on a group from its reports on the group's files and on the pooled rows."""
    told = [group.task.averaged(report.scores) for report in reports]
    sizes = [float(report.rows) for report in reports]
    mean = weighted_mean(told, [1.0] * len(told))
    main = float(np.mean([main_score(report)[1] for report in reports]))
    draws = average_bootstraps([report.resampled for report in reports])
    return GroupScores(group.task.name, main_score(reports[0])[0], mean, weighted_mean(told, sizes), pooled, draws, main)


def weighted_mean(parts: Sequence[Mapping[str, Any]], weights: Sequence[float]) -> dict[str, Any]:
    """Return the weighted mean of each number that all (nested) parts share."""
    shared = [name for name in parts[0] if all(name in part for part in parts)]
    found: dict[str, Any] = {}
    for name in shared:
        values = [part[name] for part in parts]
        if isinstance(values[0], Mapping):
            found[name] = weighted_mean(values, weights)
        else:
            found[name] = float(np.average(values, weights=weights))
    return found


@dataclass(frozen=True, eq=False)
class EvaluationFile:
    """A file to evaluate models on.

    Attributes:
        name: display name.
        rows: its data.
        task: its task.
        automatic: True if pair scorers may be evaluated by another fitting task.
        suite: its suite, if any.
        notes: remarks for the user.
        public: True for bundled samples, installed suites and sets of the Hub.
    """

    name: str
    rows: TaskData
    task: Task
    automatic: bool = False
    suite: str = ""
    notes: tuple[str, ...] = ()
    public: bool = False


@dataclass(frozen=True, eq=False)
class ModelScores:
    """Results of one model.

    Attributes:
        reports: one per file.
        groups, averages: one each; ``None`` if the model was evaluated by other tasks.
        notes: remarks per file, such as that the model was trained on its rows.
        rate: sentences per second; 0 if nothing was read.
        seconds: total time.
        fingerprint, dim: of the model; 0 dimensions for pair scorers.
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
class SuiteAverage:
    """Suites averaged as in the last column of the literature's tables, each by the score of all its rows.

    Attributes:
        name: such as ``STS``.
        suites: available suites.
        wanted: number of suites that the full average has.
    """

    name: str
    suites: tuple[str, ...]
    wanted: int


def group_files(files: Sequence[EvaluationFile]) -> list[FileGroup]:
    """Group the files of each suite, and all other files by task; single files form no group."""
    together: dict[tuple[str, str], list[int]] = {}
    for place, file in enumerate(files):
        together.setdefault((file.suite, file.task.name), []).append(place)
    rows = [file.rows for file in files]
    return [
        build_group(suite or f"{len(members)} files", files[members[0]].task, members, rows)
        for (suite, _), members in together.items()
        if len(members) > 1
    ]


def evaluate_model(
    name: str,
    model: EvaluatedModel,
    files: Sequence[EvaluationFile],
    groups: Sequence[FileGroup] = (),
    averages: Sequence[SuiteAverage] = (),
    progress: Progress | None = None,
) -> ModelScores:
    """Evaluate one model on every file and group; each distinct text is encoded once."""
    scorer, began = isinstance(model, PairScorer), time.perf_counter()
    tasks = [fitting_task(model, file.rows.examples) if file.automatic and scorer else file.task for file in files]
    sets = [EvaluationSet(file.rows.examples, task, file.rows.reference, file.rows.dev) for file, task in zip(files, tasks, strict=True)]
    judged = [group for group in groups if all(tasks[place].name == group.task.name for place in group.members)]
    sets += [EvaluationSet(group.pooled, group.task) for group in judged if group.pooled is not None]
    pace = EncodingSpeed()
    reports = evaluate_sets(model, sets, progress, pace=pace)
    if isinstance(model, CachingEncoder):
        pace = model.speed  # what it was shown before counts too
    of_pools = iter(reports[len(files) :])
    scores: dict[int, GroupScores] = {}
    for group in judged:
        own = [reports[place] for place in group.members]
        scores[id(group)] = score_group(group, own, next(of_pools) if group.pooled is not None else None)
    found = ModelScores(name, tuple(reports[: len(files)]), tuple(scores.get(id(group)) for group in groups))
    return replace(
        found,
        averages=tuple(_average_suites(one, files, groups, found) for one in averages),
        rate=pace.rate,
        seconds=time.perf_counter() - began,
        fingerprint=str((model.for_role("symmetric") if isinstance(model, Encoder) else model).fingerprint),
        dim=0 if scorer else int(getattr(model, "dim", 0)),
    )


def _average_suites(
    average: SuiteAverage, files: Sequence[EvaluationFile], groups: Sequence[FileGroup], scores: ModelScores
) -> GroupScores | None:
    figures: dict[str, Report | None] = {file.suite: report for file, report in zip(files, scores.reports, strict=True)}
    figures |= {group.name: None if own is None else own.pooled for group, own in zip(groups, scores.groups, strict=True)}
    reports = [report for suite in average.suites if (report := figures[suite]) is not None]
    if len(reports) < len(average.suites) or len({report.task for report in reports}) > 1:
        return None
    return score_group(FileGroup(average.name, get_task(reports[0].task), ()), reports, None)


def compare_models(
    files: Sequence[EvaluationFile], groups: Sequence[FileGroup], averages: Sequence[SuiteAverage], models: Sequence[ModelScores]
) -> list[Comparison]:
    """Compare every two models on every file, group and average that they share a task on."""
    return [found for one, other in combinations(models, 2) for found in _compare_pair(files, groups, averages, one, other)]


def _compare_pair(
    files: Sequence[EvaluationFile], groups: Sequence[FileGroup], averages: Sequence[SuiteAverage], one: ModelScores, other: ModelScores
) -> Iterator[Comparison]:
    names = (one.model, other.model)
    for of, first, second in zip(disambiguate_names([(file.suite, file.name) for file in files]), one.reports, other.reports, strict=True):
        if first.task == second.task:
            yield _compare_reports(of, "file", names, first, second)
    for group, mine, theirs in zip(groups, one.groups, other.groups, strict=True):
        if mine is not None and theirs is not None:
            yield _compare_means(group.name, "mean", names, mine, theirs)
            if mine.pooled is not None and theirs.pooled is not None:
                yield _compare_reports(group.name, "all", names, mine.pooled, theirs.pooled)
    for average, mine, theirs in zip(averages, one.averages, other.averages, strict=True):
        if mine is not None and theirs is not None:
            yield _compare_means(average.name, "average", names, mine, theirs)


def _compare_means(of: str, by: Any, names: tuple[str, str], mine: GroupScores, theirs: GroupScores) -> Comparison:
    scores = (mine.main, theirs.main)
    apart = paired_difference(scores, (mine.resampled, theirs.resampled))
    return Comparison(of, by, mine.task, mine.metric, names, scores, *apart, get_task(mine.task).lower_is_better)


def _compare_reports(of: str, by: Any, names: tuple[str, str], first: Report, second: Report) -> Comparison:
    (metric, one), (_, other) = main_score(first), main_score(second)
    apart = paired_difference((one, other), (first.resampled, second.resampled))
    return Comparison(of, by, first.task, metric, names, (one, other), *apart, get_task(first.task).lower_is_better)
