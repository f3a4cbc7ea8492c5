"""Scores as tables for the terminal: evaluations, comparisons and the leaderboard.

Imported by the commands when they run, because it needs NumPy.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..evaluation.changes import describe_change, format_score, format_speed
from ..evaluation.ranking import METRICS
from ..evaluation.report import describe_confusions, describe_metric, disambiguate_names
from ..evaluation.tasks import get_task, main_score
from ..services.leaderboard import dataset_key, dataset_names
from ..workspace import existing_path
from .output import Answer, one_line

if TYPE_CHECKING:
    from ..evaluation.comparison import Comparison
    from ..evaluation.report import Report
    from ..runs.scores import LeaderboardEntry
    from ..services.recommendation import Recommendation
    from ..services.results import EvaluationResult, RetrievalResult, RetrievalScores

_SEPARATE_SCORES = ("confused", "interval", "intervals")
_LABEL, _MODEL = 40, 28
_MISSED = 10  # missed documents in the table
_SIMILARITIES = ("cosine", "dot", "euclidean", "manhattan")


def report_answer(report: Report) -> Answer:
    """Return the answer of ``evaluate`` for one model and one file."""
    account = [report.account.summarize("evaluated")] if report.account is not None else []
    confused = describe_confusions(report.scores)
    lines = [f"{report.task} on {report.rows:,} rows", *account, *_rows(report.scores), *_interval(report), *confused, *report.notes]
    return Answer(report.to_json(), lines)


def _interval(report: Report) -> list[str]:
    low, high = report.scores.get("interval") or (None, None)
    if low is None or high is None:
        return []
    return [f"{describe_metric(main_score(report)[0])}: 95% interval {format_score(low)} to {format_score(high)}"]


def _rows(scores: Mapping[str, Any]) -> list[list[Any]]:
    rows: list[list[Any]] = []
    for name, value in scores.items():
        if name in _SEPARATE_SCORES:
            continue
        if isinstance(value, Mapping) and any(isinstance(inner, Mapping) for inner in value.values()):
            rows += _rows(value)
        elif isinstance(value, Mapping):
            rows.append([name, *(f"{inner} {format_score(score)}" for inner, score in value.items() if isinstance(score, float))])
        elif isinstance(value, list | tuple):
            rows.append([name, *(format_score(score) for score in value if isinstance(score, float))])
        else:
            rows.append([name, value])
    return rows


def leaderboard_rows(entries: list[LeaderboardEntry]) -> list[list[str]]:
    """Return the table of the leaderboard: one row per entry."""
    names = dataset_names(entries)
    return [
        [
            str(one.id),
            one_line(names[dataset_key(one)], 36),
            describe_metric(one.metric),
            format_score(one.score),
            "" if one.low is None or one.high is None else f"[{format_score(one.low)}, {format_score(one.high)}]",
            f"{format_speed(one.rate, one.rate_spread)} sentences/s" if one.rate else "",
            one_line(one.title, 40),
            one.created[:16].replace("T", " "),
        ]
        for one in entries
    ]


@dataclass(frozen=True)
class _ResultRow:
    """A row of the result table: a file or an aggregate.

    Attributes:
        scores: one per model; ``None`` if the model was evaluated with another task.
    """

    label: str
    rows: int | None
    task: str
    scores: Sequence[Mapping[str, Any] | None]

    def metric(self) -> str:
        task, places = get_task(self.task), [own for own in self.scores if own is not None]
        return describe_metric("_".join(step for step in task.main_path(places[0]) if step != "pair")) if places else ""

    def main(self) -> list[str]:
        return ["–" if own is None else _number(own, get_task(self.task).main_path(own)) for own in self.scores]


def format_evaluation(result: EvaluationResult) -> list[str | list[str]]:
    """Format the results: a table of files and aggregates, the comparisons, and the notes."""
    rows = list(_result_rows(result))
    one = len(result.models) == 1
    by_similarity = one and all(own is not None and "cosine" in own for row in rows if row.task == "sts" for own in row.scores)
    lines: list[str | list[str]] = []
    models = short_names([model.model for model in result.models])
    if one and by_similarity and all(row.task == "sts" for row in rows):
        lines += [f"{one_line(models[result.models[0].model], _MODEL)}: Spearman, and Pearson of the cosine", ""]
        lines += _similarity_table(rows)
    else:
        lines += _model_table(rows, list(models.values()))
    if result.comparisons:
        lines += ["", *(_comparison_row(one, models) for one in result.comparisons)]
    notes = list(dict.fromkeys(_notes(result, models)))
    return [*lines, *(["", *notes] if notes else [])]


def format_retrieval(result: RetrievalResult) -> list[str | list[str]]:
    """Format an evaluation of retrieval: scores, comparisons, what the models missed, and the notes."""
    systems = [*result.baselines[:1], *(one for model in result.models for one in (model, *result.combined(model)))]
    known = short_names([model.name for model in result.models])

    def title(name: str) -> str:
        model = max((one for one in known if name.startswith(one)), key=len, default="")
        return one_line(known.get(model, "") + name.removeprefix(model), _LABEL)

    heads = [describe_metric(name) for name in METRICS]
    lines: list[str | list[str]] = [f"{result.title}: {result.queries:,} queries, {result.documents:,} documents"]
    lines += [result.known_item, ""] if result.known_item else [""]
    lines.append(["", heads[0], "95% interval", *heads[1:]])
    for one in systems:
        low, high = one.intervals[METRICS[0]] or (None, None)
        interval = "" if low is None or high is None else f"[{format_score(low)}, {format_score(high)}]"
        lines.append(
            [title(one.name), format_score(one.metric(METRICS[0])), interval, *(format_score(one.metric(name)) for name in METRICS[1:])]
        )
    lines += ["", *(_comparison_row(one, {name: title(name) for name in one.models}) for one in result.comparisons)]
    for model in result.models:
        lines += _missed_rows(model, title(model.name))
    notes = [*result.notes, *(note for model in result.models for note in (*model.length_notes(), *model.notes))]
    return [*lines, *(["", *dict.fromkeys(notes)] if notes else [])]


def format_recommendation(recommendation: Recommendation) -> list[str | list[str]]:
    """Format a recommendation: its reasons, the models at hand, and those that would have to be downloaded."""
    lines: list[str | list[str]] = [recommendation.why, ""]
    lines.append(["", describe_metric(recommendation.metric), "95% interval", "s per 1,000 texts", ""])
    for one in recommendation.models:
        interval = "" if one.interval is None else f"[{format_score(one.interval[0])}, {format_score(one.interval[1])}]"
        note = "trained on rows of the data" if one.inflated else ""
        lines.append([one_line(one.name, _LABEL), format_score(one.score), interval, f"{one.seconds:.2g}", note])
    if recommendation.not_downloaded:
        lines += ["", "not on this machine, and not compared (name them to download them):"]
        lines += [
            [one.name, f"{one.megabytes:,} MB", f"{one.parameters} M parameters", ", ".join(one.languages), one.license]
            for one in recommendation.not_downloaded
        ]
    return lines


def _missed_rows(model: RetrievalScores, title: str) -> list[str | list[str]]:
    if not model.missed:
        return []
    reasons = Counter(reason for one in model.missed for reason in one.reasons)
    counts = "; ".join(f"{reason}: {count:,}" for reason, count in reasons.most_common())
    rows = [
        [one_line(one.query, _LABEL), one_line(one.document, _LABEL), f"{one.rank or 'below 100'}", ", ".join(one.reasons)]
        for one in model.missed[:_MISSED]
    ]
    head = f"{title}: {len(model.missed):,} relevant documents are not among the first ten ({counts})"
    more = [f"… and {len(model.missed) - _MISSED:,} more with --json"] if len(model.missed) > _MISSED else []
    return ["", head, ["query", "missed document", "rank", "reason"], *rows, *more]


def short_names(models: Sequence[str]) -> dict[str, str]:
    """Return display names: each folder is shortened to the trailing parts of its path that make it unique."""
    parts = {model: Path(model).parts if existing_path(model) is not None else (model,) for model in models}
    found = {}
    for model, own in parts.items():
        lengths = range(1, len(own) + 1)
        others = [other for name, other in parts.items() if name != model]
        length = next((one for one in lengths if all(other[-one:] != own[-one:] for other in others)), len(own))
        found[model] = str(Path(*own[-length:])) if len(own) > 1 else model
    return found


def _result_rows(result: EvaluationResult) -> Iterator[_ResultRow]:
    """Yield the files by group, each group followed by its aggregates; then the averages."""
    after = {group.members[-1]: place for place, group in enumerate(result.groups)}
    several = len({file.suite for file in result.files}) > 1
    for place, file in enumerate(result.files):
        label = f"{file.suite} {file.name}" if several and file.suite and file.suite != file.name else file.name
        tasks = dict.fromkeys(model.reports[place].task for model in result.models)
        for task in tasks:
            own = [model.reports[place] for model in result.models]
            yield _ResultRow(label, own[0].rows, task, [report.scores if report.task == task else None for report in own])
        if place not in after:
            continue
        group, scores = result.groups[after[place]], [model.groups[after[place]] for model in result.models]
        name, rows = group.name, sum(len(result.files[member].rows.examples) for member in group.members)
        yield _ResultRow(f"{name}, mean", rows, group.task.name, [None if own is None else own.mean for own in scores])
        yield _ResultRow(f"{name}, mean by rows", rows, group.task.name, [None if own is None else own.weighted for own in scores])
        if group.pooled is not None:
            pooled = [own.pooled.scores if own is not None and own.pooled is not None else None for own in scores]
            yield _ResultRow(f"{name}, all", rows, group.task.name, pooled)
    for place, average in enumerate(result.averages):
        means = [model.averages[place] for model in result.models]
        if (first := next((own for own in means if own is not None), None)) is not None:
            yield _ResultRow(f"{average.name}, average", None, first.task, [None if own is None else own.mean for own in means])


def _model_table(lines: Sequence[_ResultRow], models: Sequence[str]) -> list[list[str]]:
    rows = [["", "rows", *(one_line(model, _MODEL) for model in models), ""]]
    return rows + [[one_line(line.label, _LABEL), _count(line.rows), *line.main(), line.metric()] for line in lines]


def _similarity_table(lines: Sequence[_ResultRow]) -> list[list[str]]:
    rows = [["", "rows", *_SIMILARITIES, "Pearson"]]
    for line in lines:
        own = line.scores[0] or {}
        numbers = [_number(own, (name, "spearman")) for name in _SIMILARITIES]
        rows.append([one_line(line.label, _LABEL), _count(line.rows), *numbers, _number(own, ("cosine", "pearson"))])
    return rows


def _comparison_row(one: Comparison, models: Mapping[str, str]) -> list[str]:
    of = one.subject if one.level == "file" else f"{one.subject}, {one.level}"
    change = describe_change(*one.scores, one.interval)
    interval = f"[{', '.join(change.interval)}]" if change.interval else ""
    turns = "" if one.chance is None else f"order reversed in {one.chance:.1%} of resamples"
    if one.chance is not None and one.task == "retrieval":
        turns = f"p = {one.chance:.3f}"
    first, second = (one_line(models[model], _MODEL) for model in one.models)
    better = one.description if one.better is None else f"better beyond chance: {one_line(models[one.better], _MODEL)}"
    return [one_line(of, _LABEL), f"{first} → {second}", change.gain, interval, turns, better]


def _notes(result: EvaluationResult, models: Mapping[str, str]) -> Iterator[str]:
    lacking = Counter(one.suite for one in result.missing)
    there = {file.suite for file in result.files}
    for missing in result.missing:
        if missing.suite not in there and lacking[missing.suite] > 1:
            yield f"{missing.suite}: all of its {lacking[missing.suite]} files are missing"
        else:
            yield missing.message if missing.message.startswith(missing.suite) else f"{missing.suite}: {missing.message}"
    for average in result.averages:
        if len(average.suites) < average.wanted:
            yield f"{average.name}: the average is over {len(average.suites)} of {average.wanted} suites ({', '.join(average.suites)})"
    for group in result.groups:
        if group.pooling_note:
            yield f"{group.name}: {group.pooling_note}"
    for left in result.left_out:
        yield f"{left.file} is left out: {left.why}"
    yield from result.notes
    for file in result.files:
        yield from (f"{file.name}: {note}" for note in file.notes)
    files = disambiguate_names([(file.suite, file.name) for file in result.files])
    for model in result.models:
        for name, own in zip(files, model.notes, strict=True):
            of = f"{one_line(models[model.model], _MODEL)} on {name}" if len(files) > 1 else one_line(models[model.model], _MODEL)
            yield from (f"{of}: {note}" for note in own)


def _number(scores: Mapping[str, Any], place: Sequence[str]) -> str:
    value: Any = scores
    for step in place:
        value = value.get(step) if isinstance(value, Mapping) else None
    return format_score(value) if isinstance(value, float) else "–"


def _count(rows: int | None) -> str:
    return "" if rows is None else f"{rows:,}"
