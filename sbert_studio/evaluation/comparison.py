"""Evaluate several models on several files, group the files of a task, and test differences (paired bootstrap)."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import TYPE_CHECKING, Annotated, Any, Literal

import numpy as np
from pydantic import computed_field

from ..data.examples import Examples
from ..i18n import _, join
from ..models.base import Encoder, PairScorer
from ..serialization import Internal, JsonResult, doc
from .bootstrap import average_bootstraps, paired_gain
from .encoding import CachingEncoder, EncodingSpeed
from .evaluate import EvaluatedModel, EvaluationSet, evaluate_sets, fitting_task, time_repeats
from .report import disambiguate_names
from .tasks import Task, TaskData, get_task, main_score

if TYPE_CHECKING:
    from ..progress import Progress
    from .report import Report


@dataclass(frozen=True)
class Comparison(JsonResult):
    """Difference of two models in one metric.

    Attributes:
        lower_is_better: True if the smaller score is better.
    """

    subject: Annotated[str, doc("file or group", name="of")]
    level: Annotated[
        Literal["file", "mean", "all", "average"],
        doc("the file itself, the mean over the group's files, all its rows as one set, or the mean over suites", name="by"),
    ]
    task: str
    metric: str
    models: tuple[str, str]
    scores: tuple[float, float]
    interval: Annotated[tuple[float, float] | None, doc("95 % interval of the second score minus the first; none with too few rows")]
    chance: Annotated[
        float | None,
        doc("share of resamples in which the order reverses or ties; for retrieval, p of a randomization test; none with too few rows"),
    ]
    lower_is_better: Internal[bool] = False

    @computed_field(description="the second score minus the first")  # type: ignore[prop-decorator]
    @property
    def difference(self) -> float:
        return self.scores[1] - self.scores[0]

    @computed_field(description="the significantly better model, if there is one")  # type: ignore[prop-decorator]
    @property
    def better(self) -> str | None:
        if self.interval is None:
            return None
        low, high = self.interval
        more, less = self.models[::-1] if not self.lower_is_better else self.models
        return more if low > 0 else less if high < 0 else None

    @computed_field(alias="words", description="the result in words")  # type: ignore[prop-decorator]
    @property
    def description(self) -> str:
        """The result: ``better beyond chance: NAME`` or ``no difference beyond chance``."""
        if self.interval is None and self.task == "retrieval":
            return "too few queries to distinguish a difference from chance"
        if self.interval is None:
            return "too few rows of one class to distinguish a difference from chance"
        return "no difference beyond chance" if self.better is None else _("better beyond chance: {better}", better=self.better)


def paired_difference(
    scores: tuple[float, float], resampled: tuple[np.ndarray | None, np.ndarray | None]
) -> tuple[tuple[float, float] | None, float | None]:
    """Return the interval of the difference between two models, and the share of resamples in which their order is reversed.

    Args:
        scores: scores of the two models on the same rows.
        resampled: their bootstrap scores, (resamples,) each; resamples where either is NaN are ignored.
    """
    found = paired_gain(*resampled).get("gain_interval")
    if found is None or resampled[0] is None or resampled[1] is None:
        return None, None
    differences = resampled[1] - resampled[0]
    differences = differences[~np.isnan(differences)]
    sign = np.sign(scores[1] - scores[0])
    reversed_share = float((np.sign(differences) != sign).mean()) if sign else 1.0
    return (float(found[0]), float(found[1])), reversed_share


@dataclass(frozen=True, eq=False)
class FileGroup:
    """Files reported together; ``members`` are their indices.

    Attributes:
        pooled: all rows as one set; ``None`` if the task does not pool, or for the reason in ``pooling_note``.
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
    """Return the files at the indices ``members`` as a group; ``rows`` is the data of all files."""
    parts, group = [rows[place] for place in members], FileGroup(name, task, tuple(members))
    if not task.pools:
        return group
    if len({part.scale for part in parts}) > 1:
        scales = join(", ", dict.fromkeys(f"{part.scale[0]:g}–{part.scale[1]:g}" for part in parts if part.scale is not None))
        return replace(group, pooling_note=f"the scores have different scales ({scales}), so their rows are not one set")
    if len({(part.examples.kind, part.examples.labels) for part in parts}) > 1:
        return replace(group, pooling_note="the labels differ, so the rows cannot be pooled")
    return replace(group, pooled=concatenate_examples([part.examples for part in parts]))


def concatenate_examples(parts: Sequence[Examples]) -> Examples:
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
    scores, mains = [group.task.averaged(report.scores) for report in reports], [main_score(report) for report in reports]
    return GroupScores(
        group.task.name,
        mains[0][0],
        weighted_mean(scores, [1.0] * len(scores)),
        weighted_mean(scores, [float(report.rows) for report in reports]),
        pooled,
        average_bootstraps([report.resampled for report in reports]),
        float(np.mean([score for _, score in mains])),
    )


def weighted_mean(parts: Sequence[Mapping[str, Any]], weights: Sequence[float]) -> dict[str, Any]:
    """Return the weighted mean of each number that all (nested) parts share."""
    found: dict[str, Any] = {}
    for name in (name for name in parts[0] if all(name in part for part in parts)):
        values = [part[name] for part in parts]
        is_nested = isinstance(values[0], Mapping)
        found[name] = weighted_mean(values, weights) if is_nested else float(np.average(values, weights=weights))
    return found


@dataclass(frozen=True, eq=False)
class EvaluationFile:
    """A file to evaluate models on.

    Attributes:
        automatic: True if pair scorers may be evaluated with another suitable task.
        suite: its suite, if any.
        notes: notes for the user.
        public: True for bundled samples, installed suites and datasets of the Hub.
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
        groups, averages: one per group and one per average; ``None`` if the model was evaluated with other tasks.
        notes: notes per file, such as that the model was trained on its rows.
        rate: sentences per second, the median of several measurements; 0 if nothing was encoded.
        rate_spread: lowest and highest of them; ``None`` if nothing was encoded.
        seconds: total time.
        fingerprint, dim: fingerprint and dimension of the model; 0 dimensions for pair scorers.
    """

    model: str
    reports: tuple[Report, ...]
    groups: tuple[GroupScores | None, ...]
    averages: tuple[GroupScores | None, ...] = ()
    notes: tuple[tuple[str, ...], ...] = field(default=())
    rate: float = 0.0
    rate_spread: tuple[float, float] | None = None
    seconds: float = 0.0
    fingerprint: str = ""
    dim: int = 0


@dataclass(frozen=True)
class SuiteAverage:
    """Average of the available ``suites``, each scored on all its rows; the published average is over ``wanted`` suites."""

    name: str
    suites: tuple[str, ...]
    wanted: int


def group_files(files: Sequence[EvaluationFile]) -> list[FileGroup]:
    """Group the files of each suite, and all other files by task; single files are not grouped."""
    together: dict[tuple[str, str], list[int]] = {}
    for place, file in enumerate(files):
        together.setdefault((file.suite, file.task.name), []).append(place)
    rows = [file.rows for file in files]
    return [
        build_group(suite or _("{members} files", members=len(members)), files[members[0]].task, members, rows)
        for (suite, _unused2), members in together.items()
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
    fitting = [group for group in groups if all(tasks[place].name == group.task.name for place in group.members)]
    sets += [EvaluationSet(group.pooled, group.task) for group in fitting if group.pooled is not None]
    pace = EncodingSpeed()
    reports = evaluate_sets(model, sets, progress, pace=pace)
    if isinstance(model, CachingEncoder):
        pace = model.speed  # includes texts encoded earlier
    seconds = time.perf_counter() - began
    time_repeats(model, sets, pace)
    of_pools = iter(reports[len(files) :])
    scores: dict[int, GroupScores] = {}
    for group in fitting:
        own = [reports[place] for place in group.members]
        scores[id(group)] = score_group(group, own, next(of_pools) if group.pooled is not None else None)
    found = ModelScores(name, tuple(reports[: len(files)]), tuple(scores.get(id(group)) for group in groups))
    return replace(
        found,
        averages=tuple(_average_suites(one, files, groups, found) for one in averages),
        rate=pace.rate,
        rate_spread=pace.spread,
        seconds=seconds,
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
    """Compare all pairs of models on every file, group and average for which they share a task."""
    names = disambiguate_names([(file.suite, file.name) for file in files])
    found: list[Comparison] = []
    for one, other in combinations(models, 2):
        both = (one.model, other.model)
        for name, first, second in zip(names, one.reports, other.reports, strict=True):
            if first.task == second.task:
                found.append(_compare_reports(name, "file", both, first, second))
        for group, mine, theirs in zip(groups, one.groups, other.groups, strict=True):
            if mine is not None and theirs is not None:
                found.append(_compare_means(group.name, "mean", both, mine, theirs))
                if mine.pooled is not None and theirs.pooled is not None:
                    found.append(_compare_reports(group.name, "all", both, mine.pooled, theirs.pooled))
        for average, mine, theirs in zip(averages, one.averages, other.averages, strict=True):
            if mine is not None and theirs is not None:
                found.append(_compare_means(average.name, "average", both, mine, theirs))
    return found


def _compare_means(subject: str, level: Any, models: tuple[str, str], first: GroupScores, second: GroupScores) -> Comparison:
    resampled = first.resampled, second.resampled
    return _comparison((subject, level, first.task, first.metric, models), (first.main, second.main), resampled)


def _compare_reports(subject: str, level: Any, models: tuple[str, str], first: Report, second: Report) -> Comparison:
    (metric, one), (_, other) = main_score(first), main_score(second)
    return _comparison((subject, level, first.task, metric, models), (one, other), (first.resampled, second.resampled))


def _comparison(
    subject: tuple[str, Any, str, str, tuple[str, str]],
    scores: tuple[float, float],
    resampled: tuple[np.ndarray | None, np.ndarray | None],
) -> Comparison:
    return Comparison(*subject, scores, *paired_difference(scores, resampled), get_task(subject[2]).lower_is_better)
