"""The commands ``evaluate``, ``models`` and ``leaderboard``."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..data.loading.hub import is_hub_address
from ..datasets.suites import SUITES
from ..errors import StudioError
from ..evaluation.report import describe_confusions, describe_metric, disambiguate_names
from ..evaluation.tasks import TASKS, get_task, main_score
from ..shards.jobs import SHARD_ROWS
from ..workspace import existing_path
from .options import Address, Engine, ShardRows, Threads, Workers, open_studio, parse_shard_options, reject_engine_options, with_overrides
from .output import Answer, Json, one_line, print_message, progress, progress_by_phase

if TYPE_CHECKING:
    from ..data.schema.roles import SchemaOverrides
    from ..evaluation.comparison import Comparison
    from ..evaluation.report import Report
    from ..runs.scores import LeaderboardEntry
    from ..services.results import EvaluationResult


_SEPARATE_SCORES = ("confused", "interval", "intervals")


@with_overrides
def evaluate(
    *,
    models: Annotated[
        list[str], typer.Argument(metavar="MODEL...", help="Bundled names, run ids, folders or hub ids. Files among them count as --data.")
    ],
    data: Annotated[
        list[str] | None,
        typer.Option(
            metavar="FILE",
            help="Pairs with a score or label, triplets, labelled texts, a folder of these, or a public dataset by its id on the "
            "Hugging Face Hub (hf://datasets/OWNER/NAME); may be repeated.",
        ),
    ] = None,
    task: Annotated[str, typer.Option(help=f"auto, {', '.join(TASKS[:-1])} or {TASKS[-1]}.")] = "auto",
    suite: Annotated[
        str | None, typer.Option(metavar="NAME", help=f"Evaluate on a suite, whose files are in --data: {', '.join(SUITES)}.")
    ] = None,
    reference: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Labelled rows, which senteval trains its classifier on and categories compares texts with."),
    ] = None,
    engine: Engine = None,
    address: Address = "",
    workers: Workers = 0,
    threads: Threads = 1,
    shard_rows: ShardRows = SHARD_ROWS,
    overrides: SchemaOverrides,
    json: Json = False,
) -> Answer:
    """Evaluate models on files and compare them. Questions about a file are answered with the same options as in ``train``."""
    from ..data.loading.formats import SUFFIXES

    named = [name for name in models if not _is_file(name)]
    files = [*(data or ()), *(name for name in models if _is_file(name))]
    for name in named:
        # Model folders have no such suffix: this is a missing file.
        if Path(name).suffix.lower() in SUFFIXES and existing_path(name) is None:
            raise StudioError(f"there is no file {name!r}", "check the path, or quote it if it contains spaces")
    if not files and not suite:
        raise StudioError("there is no evaluation data", "specify a file with --data, or a suite with --suite")
    if not named:
        raise StudioError("no model is specified", "specify one before the files")
    if engine is not None:
        if suite or reference or len(named) > 1 or len(files) > 1:
            raise StudioError("--engine can evaluate only one model on one Parquet file, folder or pattern", "omit the others")
        options, sharding = parse_shard_options(engine, address, workers, threads, shard_rows)
        with open_studio() as studio, progress("encoding", "pairs") as report:
            sharded = studio.shards.evaluate(named[0], files[0], options, sharding, task, progress=report)
        return _report_answer(sharded)
    reject_engine_options(address, workers, threads=threads, cut=shard_rows != SHARD_ROWS)
    if suite or len(named) > 1 or len(files) > 1 or _is_folder(files[0]):
        with open_studio() as studio, progress_by_phase() as begin_phase:
            found = studio.evaluation.evaluate_models(named, files, task, suite or "", overrides, reference, begin_phase=begin_phase)
        return Answer(found.to_json(), format_evaluation(found))
    with open_studio() as studio, progress("encoding") as report:
        scores = studio.evaluation.evaluate(named[0], files[0], task, report, overrides, reference)
    return _report_answer(scores)


def _report_answer(report: Report) -> Answer:
    account = [report.account.summarize("evaluated")] if report.account is not None else []
    confused = describe_confusions(report.scores)
    lines = [f"{report.task} on {report.rows:,} rows", *account, *_rows(report.scores), *_interval(report), *confused, *report.notes]
    return Answer(report.to_json(), lines)


def _is_file(name: str) -> bool:
    if is_hub_address(name):
        return True
    found = existing_path(name)
    return found is not None and found.is_file()


def _is_folder(name: str) -> bool:
    found = None if is_hub_address(name) else existing_path(name)
    return found is not None and found.is_dir()


def models(json: Json = False) -> Answer:
    """List the available models."""
    with open_studio() as studio:
        found, notices = studio.models.list_available()
    for notice in notices:
        print_message(notice)
    lines = [
        [card.name, card.kind, "damaged", "", "", f"{card.title}: {card.damaged}"]
        if card.damaged
        else [card.name, card.kind, f"{card.dim}-d" if card.reads == "texts" else "pairs", card.size, card.pooling, card.title]
        for card in found
    ]
    return Answer({"models": [card.to_json() for card in found], "notices": notices}, lines)


def _interval(report: Report) -> list[str]:
    low, high = report.scores.get("interval") or (None, None)
    if low is None or high is None:
        return []
    return [f"{describe_metric(main_score(report)[0])}: 95% interval {low:.4f} to {high:.4f}"]


def _rows(scores: Mapping[str, Any]) -> list[list[Any]]:
    rows: list[list[Any]] = []
    for name, value in scores.items():
        if name in _SEPARATE_SCORES:
            continue
        if isinstance(value, Mapping) and any(isinstance(inner, Mapping) for inner in value.values()):
            rows += _rows(value)
        elif isinstance(value, Mapping):
            rows.append([name, *(f"{inner} {score:.4f}" for inner, score in value.items() if isinstance(score, float))])
        elif isinstance(value, list | tuple):
            rows.append([name, *(f"{score:.4f}" for score in value if isinstance(score, float))])
        else:
            rows.append([name, value])
    return rows


def leaderboard(
    data: Annotated[str, typer.Option("--set", metavar="NAME", help="Only entries of this dataset, as named in the list.")] = "",
    out: Annotated[Path | None, typer.Option(metavar="FILE", help="Also write the entries to FILE.csv or FILE.md.")] = None,
    remove: Annotated[int, typer.Option(metavar="ID", help="Remove the entry with this id first.")] = 0,
    json: Json = False,
) -> Answer:
    """List stored scores by dataset, best first."""
    from ..services.leaderboard import entry_to_json, write_leaderboard

    with open_studio() as studio:
        board = studio.leaderboard
        if remove:
            board.remove(remove)
        found = board.entries(data=data)
        notices = list(studio.store.notices)
    for notice in notices:
        print_message(notice)
    written = {} if out is None else {"path": str(write_leaderboard(out, found))}
    if written:
        print_message(f"written to {out}")
    answer = {"entries": [entry_to_json(one) for one in found], "notices": notices, **written}
    return Answer(
        answer, _leaderboard_rows(found) if found else ["nothing has been evaluated yet: sbert-studio evaluate MODEL --data FILE"]
    )


def _leaderboard_rows(entries: list[LeaderboardEntry]) -> list[list[str]]:
    from ..services.leaderboard import dataset_key, dataset_names

    names = dataset_names(entries)
    return [
        [
            str(one.id),
            one_line(names[dataset_key(one)], 36),
            describe_metric(one.metric),
            f"{one.score:.4f}",
            "" if one.low is None or one.high is None else f"[{one.low:.4f}, {one.high:.4f}]",
            f"{one.rate:,.0f} sentences/s" if one.rate else "",
            one_line(one.title, 40),
            one.created[:16].replace("T", " "),
        ]
        for one in entries
    ]


_LABEL, _MODEL = 40, 28
_SIMILARITIES = ("cosine", "dot", "euclidean", "manhattan")


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
    interval = "" if one.interval is None else f"[{one.interval[0]:+.4f}, {one.interval[1]:+.4f}]"
    turns = "" if one.chance is None else f"order reversed in {one.chance:.1%} of resamples"
    first, second = (one_line(models[model], _MODEL) for model in one.models)
    better = one.description if one.better is None else f"better beyond chance: {one_line(models[one.better], _MODEL)}"
    return [one_line(of, _LABEL), f"{first} → {second}", f"{one.difference:+.4f}", interval, turns, better]


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
    return f"{value:.4f}" if isinstance(value, float) else "–"


def _count(rows: int | None) -> str:
    return "" if rows is None else f"{rows:,}"


COMMANDS = (evaluate, models, leaderboard)
