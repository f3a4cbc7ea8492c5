"""Commands that evaluate and list models: evaluate, models.

The command that shows what models got.
"""

from __future__ import annotations

import re
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
from .options import open_studio, with_overrides
from .output import Answer, Json, one_line, print_message, progress
from .shards import Address, Engine, ShardRows, Threads, Workers, parse_execution_options, parse_sharding_options, reject_engine_options

if TYPE_CHECKING:
    from ..data.schema.overrides import SchemaOverrides
    from ..evaluation.comparison import Comparison
    from ..evaluation.report import Report
    from ..runs.scores import LeaderboardEntry
    from ..services.results import EvaluationResult


_LABEL, _MODEL = 40, 28
_NUMBER = re.compile(r"[+-]?\d[\d,]*(\.\d+)?")
_SIMILARITIES = ("cosine", "dot", "euclidean", "manhattan")


@dataclass(frozen=True)
class _Line:
    """One line of the table: a file, or what several come to.

    Attributes:
        scores: of each model; ``None`` where it was judged by another task.
    """

    label: str
    rows: int | None
    task: str
    scores: Sequence[Mapping[str, Any] | None]

    def metric(self) -> str:
        """The name of the number that counts."""
        task, places = get_task(self.task), [own for own in self.scores if own is not None]
        return describe_metric("_".join(step for step in task.main_path(places[0]) if step != "pair")) if places else ""

    def main(self) -> list[str]:
        """That number of each model."""
        return ["–" if own is None else _number(own, get_task(self.task).main_path(own)) for own in self.scores]


def format_evaluation(found: EvaluationResult) -> list[str]:
    """Every file, what the files come to together, the comparisons, and what is missing: lines of plain text."""
    lines = list(_lines(found))
    one = len(found.models) == 1
    by_similarity = one and all(own is not None and "cosine" in own for line in lines if line.task == "sts" for own in line.scores)
    told: list[str] = []
    models = short_names([model.model for model in found.models])
    if one and by_similarity and all(line.task == "sts" for line in lines):
        told += [f"{one_line(models[found.models[0].model], _MODEL)}: Spearman, and Pearson of the cosine", ""]
        told += aligned(_of_similarities(lines))
    else:
        told += aligned(_of_models(lines, list(models.values())))
    comparisons = [_compared(one, models) for one in found.comparisons]
    notes = list(dict.fromkeys(_notes(found, models)))
    return [*told, *(["", *aligned(comparisons)] if comparisons else []), *(["", *notes] if notes else [])]


def aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    """Rows of cells as lines: a column that holds a number stands to the right, any other to the left."""
    widths = [max(len(row[place]) for row in rows) for place in range(len(rows[0]))]
    right = [any(_NUMBER.fullmatch(row[place]) for row in rows) for place in range(len(rows[0]))]
    lines = []
    for row in rows:
        cells = zip(row, widths, right, strict=True)
        lines.append("  ".join(cell.rjust(width) if number else cell.ljust(width) for cell, width, number in cells).rstrip())
    return lines


def short_names(models: Sequence[str]) -> dict[str, str]:
    """What each model is called in the table: a folder by as many of the last parts of its path as tell it from the others."""
    parts = {model: Path(model).parts if existing_path(model) is not None else (model,) for model in models}
    found = {}
    for model, own in parts.items():
        lengths = range(1, len(own) + 1)
        others = [other for name, other in parts.items() if name != model]
        length = next((one for one in lengths if all(other[-one:] != own[-one:] for other in others)), len(own))
        found[model] = str(Path(*own[-length:])) if len(own) > 1 else model
    return found


def _lines(found: EvaluationResult) -> Iterator[_Line]:
    """The files, each group's after another and followed by what they come to; then the averages."""
    after = {group.members[-1]: place for place, group in enumerate(found.groups)}
    several = len({file.suite for file in found.files}) > 1
    for place, file in enumerate(found.files):
        label = f"{file.suite} {file.name}" if several and file.suite and file.suite != file.name else file.name
        tasks = dict.fromkeys(model.reports[place].task for model in found.models)
        for task in tasks:
            own = [model.reports[place] for model in found.models]
            yield _Line(label, own[0].rows, task, [report.scores if report.task == task else None for report in own])
        if place not in after:
            continue
        group, scores = found.groups[after[place]], [model.groups[after[place]] for model in found.models]
        name, rows = group.name, sum(len(found.files[member].rows.examples) for member in group.members)
        yield _Line(f"{name}, mean", rows, group.task.name, [None if own is None else own.mean for own in scores])
        yield _Line(f"{name}, mean by rows", rows, group.task.name, [None if own is None else own.weighted for own in scores])
        if group.pooled is not None:
            pooled = [own.pooled.scores if own is not None and own.pooled is not None else None for own in scores]
            yield _Line(f"{name}, all", rows, group.task.name, pooled)
    for place, average in enumerate(found.averages):
        means = [model.averages[place] for model in found.models]
        if (first := next((own for own in means if own is not None), None)) is not None:
            yield _Line(f"{average.name}, average", None, first.task, [None if own is None else own.mean for own in means])


def _of_models(lines: Sequence[_Line], models: Sequence[str]) -> list[list[str]]:
    """A column for each model."""
    rows = [["", "rows", *(one_line(model, _MODEL) for model in models), ""]]
    return rows + [[one_line(line.label, _LABEL), _count(line.rows), *line.main(), line.metric()] for line in lines]


def _of_similarities(lines: Sequence[_Line]) -> list[list[str]]:
    """One model: a column for each similarity."""
    rows = [["", "rows", *_SIMILARITIES, "Pearson"]]
    for line in lines:
        own = line.scores[0] or {}
        numbers = [_number(own, (name, "spearman")) for name in _SIMILARITIES]
        rows.append([one_line(line.label, _LABEL), _count(line.rows), *numbers, _number(own, ("cosine", "pearson"))])
    return rows


def _compared(one: Comparison, models: Mapping[str, str]) -> list[str]:
    """``STS12, all · a → b · +0.0123 · [+0.0011, +0.0220] · order turns in 0.4% · better beyond chance: b``."""
    of = one.subject if one.level == "file" else f"{one.subject}, {one.level}"
    interval = "" if one.interval is None else f"[{one.interval[0]:+.4f}, {one.interval[1]:+.4f}]"
    turns = "" if one.chance is None else f"the order turns in {one.chance:.1%}"
    first, second = (one_line(models[model], _MODEL) for model in one.models)
    better = one.describe() if one.better is None else f"better beyond chance: {one_line(models[one.better], _MODEL)}"
    return [one_line(of, _LABEL), f"{first} → {second}", f"{one.difference:+.4f}", interval, turns, better]


def _notes(found: EvaluationResult, models: Mapping[str, str]) -> Iterator[str]:
    """What is missing, what was left out, and what is to be known of files and models."""
    lacking = Counter(one.suite for one in found.missing)
    there = {file.suite for file in found.files}
    for missing in found.missing:
        if missing.suite not in there and lacking[missing.suite] > 1:
            yield f"{missing.suite}: all of its {lacking[missing.suite]} files are missing"
        else:
            yield missing.message if missing.message.startswith(missing.suite) else f"{missing.suite}: {missing.message}"
    for average in found.averages:
        if len(average.suites) < average.wanted:
            yield f"{average.name}: the average is over {len(average.suites)} of {average.wanted} suites ({', '.join(average.suites)})"
    for group in found.groups:
        if group.pooling_note:
            yield f"{group.name}: {group.pooling_note}"
    for left in found.left_out:
        yield f"{left.file} is left out: {left.why}"
    yield from found.notes
    for file in found.files:
        yield from (f"{file.name}: {note}" for note in file.notes)
    files = disambiguate_names([(file.suite, file.name) for file in found.files])
    for model in found.models:
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


_SAID_APART = ("confused", "interval", "intervals")
_LIST = ", ".join(SUITES) + "."


@with_overrides
def evaluate(
    *,
    models: Annotated[
        list[str],
        typer.Argument(metavar="MODEL...", help="Bundled names, run ids, folders or hub ids. Files among them are judged by, as --data."),
    ],
    data: Annotated[
        list[str] | None,
        typer.Option(
            metavar="FILE",
            help="Pairs with a score or label, triplets, texts with a label, a folder of them, or a public set by its id on the "
            "Hugging Face Hub (hf://datasets/OWNER/NAME); may be repeated.",
        ),
    ] = None,
    task: Annotated[str, typer.Option(help=f"auto, {', '.join(TASKS[:-1])} or {TASKS[-1]}.")] = "auto",
    suite: Annotated[str | None, typer.Option(metavar="NAME", help="Judge by a suite's files, which lie under --data: " + _LIST)] = None,
    known: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Rows whose answers are known: senteval learns from them, categories lays texts beside them."),
    ] = None,
    engine: Engine = None,
    address: Address = "",
    workers: Workers = 0,
    threads: Threads = 1,
    shard_rows: ShardRows = SHARD_ROWS,
    said: SchemaOverrides,
    json: Json = False,
) -> Answer:
    """Judge models on files, and compare them. What is uncertain of a file is asked, and answered by the same options as for a training."""
    from ..data.loading.formats import SUFFIXES

    named = [name for name in models if not _is_file(name)]
    files = [*(data or ()), *(name for name in models if _is_file(name))]
    for name in named:
        # A model's folder has no such ending: it is a file that is not there.
        if Path(name).suffix.lower() in SUFFIXES and existing_path(name) is None:
            raise StudioError(f"there is no file {name!r}", "check the path, or quote it if it holds spaces")
    if not files and not suite:
        raise StudioError("there is nothing to judge by", "name a file with --data, or a suite with --suite")
    if not named:
        raise StudioError("no model is named", "name one before the files")
    if engine is not None:
        if suite or known or len(named) > 1 or len(files) > 1:
            raise StudioError("--engine judges one model on one file, folder or pattern of Parquet", "leave out the others")
        how, sharding = parse_execution_options(engine, address, workers), parse_sharding_options(threads, shard_rows)
        with open_studio() as studio, progress("encoding", "pairs") as show:
            found_there = studio.shards.evaluate(named[0], files[0], how, sharding, task, progress=show)
        return _of_report(found_there)
    reject_engine_options(address, workers, threads=threads, cut=shard_rows != SHARD_ROWS)
    with open_studio() as studio, progress("encoding") as show:
        if suite or len(named) > 1 or len(files) > 1 or _is_folder(files[0]):
            found = studio.evaluation.evaluate_models(named, files, task, suite or "", show, said, known)
            return Answer(found.to_json(), format_evaluation(found))
        report = studio.evaluation.evaluate(named[0], files[0], task, show, said, known)
    return _of_report(report)


def _of_report(report: Report) -> Answer:
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
    """List the models that can be used."""
    with open_studio() as studio:
        found, notices = studio.models.list_available()
    for notice in notices:
        print_message(notice)
    lines = [
        [card.name, card.kind, "damaged", "", "", f"{card.title}: {card.damaged}"]
        if card.damaged
        else [
            card.name,
            card.kind,
            f"{card.dim}-d" if card.reads == "texts" else "pairs",
            card.size,
            card.pooling,
            card.title,
        ]
        for card in found
    ]
    return Answer({"models": [card.to_json() for card in found], "notices": notices}, lines)


def _interval(report: Report) -> list[str]:
    """How far chance may have moved the main score, which the line names: in the table it would seem to be of its columns."""
    low, high = report.scores.get("interval") or (None, None)
    if low is None or high is None:
        return []
    return [f"{describe_metric(main_score(report)[0])}: 95% interval {low:.4f} to {high:.4f}"]


def _rows(scores: Mapping[str, Any]) -> list[list[Any]]:
    """One row for each similarity, or for each single score."""
    rows: list[list[Any]] = []
    for name, value in scores.items():
        if name in _SAID_APART:
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


COMMANDS = (evaluate, models)


def leaderboard(
    data: Annotated[str, typer.Option("--set", metavar="NAME", help="Only what was judged on this set, by its name in the list.")] = "",
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write it too: FILE.csv for a spreadsheet, FILE.md for a document.")
    ] = None,
    remove: Annotated[int, typer.Option(metavar="ID", help="Remove the entry of this number first.")] = 0,
    json: Json = False,
) -> Answer:
    """List what models got where they were evaluated: set by set, the best first."""
    from ..services.leaderboard import entry_to_json, write_leaderboard

    with open_studio() as studio:
        board = studio.leaderboard
        if remove:
            board.forget(remove)
        found = board.entries(data=data)
        notices = list(studio.store.notices)
    for notice in notices:
        print_message(notice)
    written = {} if out is None else {"path": str(write_leaderboard(out, found))}
    if written:
        print_message(f"written to {out}")
    answer = {"entries": [entry_to_json(one) for one in found], "notices": notices, **written}
    return Answer(answer, _lines_leaderboard(found) if found else ["nothing was evaluated yet: sbert-studio evaluate MODEL --data FILE"])


def _lines_leaderboard(found: list[LeaderboardEntry]) -> list[list[str]]:
    from ..services.leaderboard import dataset_key, dataset_names

    names = dataset_names(found)
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
        for one in found
    ]


LEADERBOARD_COMMANDS = (leaderboard,)
