"""An evaluation as tables and as a chart."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ....errors import ended
from ....evaluation.report import describe_metric, disambiguate_names
from ...views import Value, column, speed_value, table, to_json
from .conclusion import verdict
from .lines import Line, names_of

if TYPE_CHECKING:
    from ....evaluation.report import Report
    from ....services.results import Evaluation

_MOST_NOTES = 8
# What reports hold beside their scores: of the rows, and of how they were judged.
_NO_SCORES = ("classes", "majority", "folds", "train_rows", "known_rows")


def main_table(lines: Sequence[Line], found: Evaluation, titles: Mapping[str, str], name: str) -> Value:
    """The one score that matters, with its interval, the speed and the difference to the first model; sorted by a click on a header."""
    first = lines[0]
    several = len(lines) > 1
    columns = [column("Model", main=True), column(describe_metric(first.metric), "bar", digits=4)]
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
    return table(columns, rows, caption=_caption(first, found, name), note="\n".join(_notes(found, titles)), theirs=names_of(lines))


def speeds(lines: Sequence[Line]) -> Value | None:
    """The chart of score against speed; nothing where there are not two models to compare by it."""
    shown = [line for line in lines if line.rate and line.metric == lines[0].metric]
    if len(shown) < 2:
        return None
    points = [(line.title, line.rate, line.score, line.interval) for line in shown]
    return speed_value(points, describe_metric(lines[0].metric)) | {"theirs": names_of(shown)}


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
        column(describe_metric(key), "count") if key in counted else column(describe_metric(key), "number", digits=4) for key in names
    ]
    rows = [
        [head[0], *([similarity] if several else []), *head[1:], *(scores.get(key) for key in names)] for head, similarity, scores in lines
    ]
    told = dict.fromkeys(words for _, report in _reports(found, titles) if (words := _of_rows(report)))
    return table(columns, rows, caption="All scores", note="\n".join(told), theirs=list(titles.values()))


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


def _caption(first: Line, found: Evaluation, name: str) -> str:
    from ....evaluation.tasks import get_task

    file = found.files[0]
    if len(found.files) == 1:
        report = found.models[0].reports[0]
        account = file.rows.account.summarize("evaluated") if file.rows.account is not None else f"{report.rows:,} rows"
        return f"{name} · {get_task(report.task).title} · {account}"
    rows = sum(len(one.rows.examples) for one in found.files)
    return f"{first.of} · {get_task(first.task).title} · {len(found.files)} files · {rows:,} rows"


def _notes(found: Evaluation, titles: Mapping[str, str]) -> list[str]:
    """What is to be known of the files and the models, and what is missing."""
    told = [*found.notes]
    told += [f"{one.suite}: {one.message}." for one in found.missing]
    for average in found.averages:
        if len(average.suites) < average.wanted:
            told.append(f"The average is over {len(average.suites)} of {average.wanted} suites.")
    several = len(found.files) > 1
    files = disambiguate_names([(file.suite, file.name) for file in found.files])
    told += [f"{name}: {note}" if several else note for name, file in zip(files, found.files, strict=True) for note in file.notes]
    for model in found.models:
        name = f"{titles.get(model.model, model.model)}: " if len(found.models) > 1 else ""
        for file, own in zip(files, model.notes, strict=True):
            told += [f"{name}{f'{file}: ' if several else ''}{note}" for note in own]
    shown = [ended(str(to_json(note))) for note in dict.fromkeys(told)]
    return shown if len(shown) <= _MOST_NOTES else [*shown[:_MOST_NOTES], f"And {len(shown) - _MOST_NOTES} more remarks."]
