"""An evaluation as tables, as a sentence and as a chart."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from ...errors import ended
from ...evaluation.in_words import metric_in_words, told_apart_by_suite
from ...studio.judging.judging import FLATTERS
from ..plots import speed_value
from ..views import Value, column, plain, table

if TYPE_CHECKING:
    import numpy as np

    from ...evaluation.report import Report
    from ...studio.results import Evaluation

_MOST_NOTES = 8
# What reports hold beside their scores: of the rows, and of how they were judged.
_SHARES = ("accuracy", "nearest_neighbour_accuracy", "cosine_accuracy", "pair_accuracy")  # of rows that a model gets right
_NO_SCORES = ("classes", "majority", "folds", "train_rows", "known_rows")


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
        from ...evaluation.tasks import task_named

        return task_named(self.task).smaller_is_better

    @property
    def worth(self) -> float:
        """The score, or less than nothing by as much: larger is better."""
        return -self.score if self.smaller else self.score


def reports_of(found: Evaluation, titles: Mapping[str, str]) -> list[Line]:
    """A line for each model, by the number that sums up what it was judged on: the average over suites, all rows of a suite, the file."""
    from ...evaluation.bootstrap import interval
    from ...evaluation.tasks import primary

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
            span = None if mean.resampled is None else interval(mean.resampled)
            lines.append(Line(title, of, mean.task, mean.metric, mean.main, span, mean.resampled, model.rate))
            continue
        lines.append(Line(title, of, report.task, *primary(report), report.scores.get("interval"), report.resampled, model.rate))
    return lines


def main_table(lines: Sequence[Line], found: Evaluation, titles: Mapping[str, str], name: str) -> Value:
    """The one score that matters, with its interval, the speed and the difference to the first model; sorted by a click on a header."""
    first = lines[0]
    several = len(lines) > 1
    columns = [column("Model", main=True), column(metric_in_words(first.metric), "bar", digits=4)]
    columns += [column("95% interval", "interval")] if any(line.interval for line in lines) else []
    columns += [column("Sentences/s", "count")]
    # Without the colours of better and worse: whether a difference is either, the column beside it says.
    columns += [column("Difference", "change", digits=4), column("Beyond chance?", ours=True)] if several else []
    rows = []
    for line in lines:
        row: list[Any] = [line.title, line.score]
        if any(one.interval for one in lines):
            row.append([line.interval[0], line.score, line.interval[1]] if line.interval else None)
        row.append(round(line.rate) if line.rate else None)
        if several:
            row += [line.score - first.score, verdict(first, line)] if line is not first else [None, ""]
        rows.append(row)
    return table(columns, rows, caption=_caption(first, found, name), note="\n".join(_notes(found, titles)))


def verdict(first: Resampled, other: Resampled) -> str:
    """Whether a model is better than the first by more than which rows the file happens to hold (paired bootstrap)."""
    from ...evaluation.bootstrap import gain
    from ...evaluation.tasks import task_named

    low, high = gain(first.resampled, other.resampled).get("gain_interval") or (None, None)
    if low is None or high is None:
        return "" if first.resampled is None or other.resampled is None else "too few rows to tell"
    more, less = ("worse", "better") if task_named(first.task).smaller_is_better else ("better", "worse")
    word = more if low > 0 else less if high < 0 else "within the noise"
    return f"{word} [{low:+.4f}, {high:+.4f}]"


def ranked(lines: Sequence[Line]) -> list[int]:
    """The places of the models, the best one first."""
    return sorted(range(len(lines)), key=lambda place: -lines[place].worth)


def cautions_of(found: Evaluation) -> list[str]:
    """That a model was tuned on rows that it is judged by, which no verdict should be read without."""
    told = dict.fromkeys(note for model in found.models for own in model.notes for note in own if FLATTERS in note)
    return [f"But {note[:1].lower()}{ended(note[1:])}" for note in told]


def conclusion(lines: Sequence[Line], counts: str = "", cautions: Sequence[str] = ()) -> Value:
    """The value of a ``said`` view: which model is better, by how much, and whether it could be chance; and how their speeds compare.

    Args:
        counts: on how many rows the best and the next one are right, in words.
        cautions: what is to be known before.
    """
    order = [lines[place] for place in ranked(lines)]
    best = order[0]
    metric = metric_in_words(best.metric)
    if len(lines) == 1:
        text = f"{best.title}: {metric} {best.score:.4f}."
        if best.interval:
            low, high = best.interval
            text = f"{best.title}: {metric} {best.score:.4f}, between {low:.4f} and {high:.4f} in 95 of 100 draws of such rows."
        return {"text": text, "more": list(cautions)}
    others = order[1:]
    said = [_against(best, other) for other in others]
    rest = [words for words in (*cautions, counts, *said[1:], _paces(best, others)) if words]
    return {"text": said[0], "more": rest}


def speeds(lines: Sequence[Line]) -> Value | None:
    """The chart of score against speed; nothing where there are not two models to compare by it."""
    shown = [line for line in lines if line.rate and line.metric == lines[0].metric]
    if len(shown) < 2:
        return None
    points = [(line.title, line.rate, line.score, line.interval) for line in shown]
    return speed_value(points, metric_in_words(lines[0].metric))


def all_table(found: Evaluation, titles: Mapping[str, str]) -> Value:
    """Every score of every model on every file, as far as it is a number; what is said of the rows and is no score stands below."""
    lines: list[tuple[list[str], str, dict[str, float]]] = []
    for head, report in _reports(found, titles):
        groups = {name: value for name, value in report.scores.items() if isinstance(value, Mapping)}
        alone = {name: value for name, value in report.scores.items() if isinstance(value, int | float) and name not in _NO_SCORES}
        lines += [
            (head, name, {key: value for key, value in scores.items() if isinstance(value, int | float)}) for name, scores in groups.items()
        ]
        lines += [(head, "", alone)] if alone else []
    lines = [line for line in lines if line[2]]
    names = list(dict.fromkeys(key for _, _, scores in lines for key in scores))
    counted = {key for key in names if all(isinstance(scores[key], int) for _, _, scores in lines if key in scores)}
    several = any(similarity for _, similarity, _ in lines)
    columns = [column("Model"), *([column("Similarity", ours=True)] if several else []), *([column("Set")] if len(found.files) > 1 else [])]
    columns += [
        column(metric_in_words(key), "count") if key in counted else column(metric_in_words(key), "number", digits=4) for key in names
    ]
    rows = [
        [head[0], *([similarity] if several else []), *head[1:], *(scores.get(key) for key in names)] for head, similarity, scores in lines
    ]
    told = dict.fromkeys(words for _, report in _reports(found, titles) if (words := _of_rows(report)))
    return table(columns, rows, caption="All scores", note="\n".join(told))


def _of_rows(report: Report) -> str:
    """``77 categories; always naming the largest would be right on 1.3 of 100.``; nothing where the task knows none."""
    scores = report.scores
    parts = [f"{scores['classes']:,} categories"] if "classes" in scores else []
    parts += [f"always naming the largest would be right on {100 * scores['majority']:.1f} of 100 rows"] if "majority" in scores else []
    parts += [f"learned and judged in {scores['folds']} folds"] if "folds" in scores else []
    return ended("; ".join(parts)) if parts else ""


def _reports(found: Evaluation, titles: Mapping[str, str]) -> Iterator[tuple[list[str], Report]]:
    """([model, and the set where there are several], report)."""
    for model in found.models:
        title = titles.get(model.model, model.model)
        for file, report in zip(found.files, model.reports, strict=True):
            name = f"{file.suite} {file.name}" if file.suite and file.suite != file.name else file.name
            yield [title, *([name] if len(found.files) > 1 else [])], report
        for group, got in zip(found.groups, model.groups, strict=True):
            if got is not None and got.pooled is not None:
                yield [title, f"{group.name}, all"], got.pooled


def _against(best: Line, other: Line) -> str:
    """``A is better than B by 0.0312 (between 0.0101 and 0.0523): more than chance.``"""
    from ...evaluation.bootstrap import gain

    if best.metric != other.metric:
        return f"{other.title} is judged by another number ({metric_in_words(other.metric)} {other.score:.4f})."
    difference = best.worth - other.worth
    if not difference:
        return f"{best.title} and {other.title} get the same score."
    by, sign, times = f" by {difference:.4f}", "+.4f", 1
    if best.metric in _SHARES:
        of, one, two = _of_rows_right(best.score, other.score)
        by, sign, times = f": of {of:,} rows it gets {one:,} right instead of {two:,}", "+.0f" if of == 100 else "+.1f", of
    low, high = gain(*((best.resampled, other.resampled) if best.smaller else (other.resampled, best.resampled))).get("gain_interval") or (
        None,
        None,
    )
    if low is None or high is None:
        return f"{best.title} is ahead of {other.title}{by}; the rows are too few to tell this from chance."
    span = f"between {times * low:{sign}} and {times * high:{sign}}".replace("-", "−")
    if low > 0:
        return f"{best.title} is better than {other.title}{by} ({span}); that is more than chance."
    return f"{best.title} is ahead of {other.title}{by} ({span}); that could be chance."


def _of_rows_right(best: float, other: float) -> tuple[int, int, int]:
    """(of so many rows, the one gets right, the other gets right): as many as show that the two differ."""
    of = 100 if round(100 * best) != round(100 * other) else 1_000
    return of, round(of * best), round(of * other)


def _paces(best: Line, others: Sequence[Line]) -> str:
    """How much faster the fastest is, where it is another than the best."""
    fastest = max((line for line in (best, *others) if line.rate), key=lambda line: line.rate, default=None)
    if fastest is None or fastest is best or not best.rate:
        return ""
    times = fastest.rate / best.rate
    shown = f"{times:,.0f}" if times >= 10 else f"{times:.1f}"
    return f"{fastest.title} reads {shown} times as many sentences a second." if times >= 1.1 else ""


def _caption(first: Line, found: Evaluation, name: str) -> str:
    file = found.files[0]
    if len(found.files) == 1:
        report = found.models[0].reports[0]
        account = file.rows.account.in_short("judged") if file.rows.account is not None else f"{report.rows:,} rows"
        return f"{name} · {report.task} · {account}"
    rows = sum(len(one.rows.examples) for one in found.files)
    return f"{first.of} · {first.task} · {len(found.files)} files · {rows:,} rows"


def _notes(found: Evaluation, titles: Mapping[str, str]) -> list[str]:
    """What is to be known of the files and the models, and what is missing."""
    told = [*found.notes]
    told += [f"{one.suite}: {one.words}." for one in found.missing]
    for average in found.averages:
        if len(average.suites) < average.wanted:
            told.append(f"The average is over {len(average.suites)} of {average.wanted} suites.")
    several = len(found.files) > 1
    files = told_apart_by_suite([(file.suite, file.name) for file in found.files])
    told += [f"{name}: {note}" if several else note for name, file in zip(files, found.files, strict=True) for note in file.notes]
    for model in found.models:
        name = f"{titles.get(model.model, model.model)}: " if len(found.models) > 1 else ""
        for file, own in zip(files, model.notes, strict=True):
            told += [f"{name}{f'{file}: ' if several else ''}{note}" for note in own]
    shown = [ended(str(plain(note))) for note in dict.fromkeys(told)]
    return shown if len(shown) <= _MOST_NOTES else [*shown[:_MOST_NOTES], f"And {len(shown) - _MOST_NOTES} more remarks."]
