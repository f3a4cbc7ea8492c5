"""What each judged model comes to, by the one number that counts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    import numpy as np

    from ....services.results import Evaluation


class Resampled(Protocol):
    """Whatever was judged by a task on resampled rows."""

    @property
    def task(self) -> str:
        """The task's name."""

    @property
    def resampled(self) -> np.ndarray | None:
        """The score on each resample."""


@dataclass(frozen=True, eq=False)
class Line:
    """What one model comes to, by the one number that counts.

    Attributes:
        of: what the number is of: the file, a suite's rows as one set or the mean over its files, or the average over suites.
        interval: the 95% interval, if there is one.
        rate: sentences a second; 0 where nothing was read.
    """

    title: str
    of: str
    task: str
    metric: str
    score: float
    interval: Sequence[float] | None
    resampled: np.ndarray | None
    rate: float

    @property
    def smaller(self) -> bool:
        """Whether the smaller score is the better one."""
        from ....evaluation.tasks import get_task

        return get_task(self.task).lower_is_better

    @property
    def worth(self) -> float:
        """The score, or less than nothing by as much: larger is better."""
        return -self.score if self.smaller else self.score


def reports_of(found: Evaluation, titles: Mapping[str, str]) -> list[Line]:
    """A line for each model, by the number that sums up what it was judged on: the average over suites, all rows of a suite, the file."""
    from ....evaluation.bootstrap import percentile_interval
    from ....evaluation.tasks import main_score

    lines = []
    for model in found.models:
        title = titles.get(model.model, model.model)
        means = [(f"{one.name}, average", got) for one, got in zip(found.averages, model.averages, strict=True) if got is not None]
        groups = [(one.name, got) for one, got in zip(found.groups, model.groups, strict=True) if got is not None]
        report = model.reports[0]
        of = found.files[0].name
        if not means and groups and groups[0][1].pooled is not None:
            of, report = f"{groups[0][0]}, all rows as one set", groups[0][1].pooled
        elif means or groups:
            of, mean = (means or [(f"{name}, mean over its files", got) for name, got in groups])[0]
            span = None if mean.resampled is None else percentile_interval(mean.resampled)
            lines.append(Line(title, of, mean.task, mean.metric, mean.main, span, mean.resampled, model.rate))
            continue
        lines.append(Line(title, of, report.task, *main_score(report), report.scores.get("interval"), report.resampled, model.rate))
    return lines


def names_of(lines: Sequence[Line]) -> list[str]:
    """What the models are called, which no language translates."""
    return [line.title for line in lines]
