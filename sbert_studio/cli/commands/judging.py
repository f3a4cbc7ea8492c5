"""Commands by which models are judged and listed: evaluate, models."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ...data.public import is_public
from ...errors import StudioError
from ...evaluation.in_words import confused_in_words, metric_in_words
from ...evaluation.suites import SUITES
from ...evaluation.tasks import TASKS, primary
from ...scale.job import ROWS
from ...workspace import existing
from ..answers import Answer, Json, progress, say
from ..columns import asks
from ..judged import evaluation_in_lines
from ..sharded import Address, Engine, ShardRows, Threads, Workers, how_of, require_alone, sharding_of
from ..studio import open_studio

if TYPE_CHECKING:
    from ...data.schema.overrides import SchemaOverrides
    from ...evaluation.report import Report

_SAID_APART = ("confused", "interval", "intervals")
_LIST = ", ".join(SUITES) + "."


@asks
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
    shard_rows: ShardRows = ROWS,
    said: SchemaOverrides,
    json: Json = False,
) -> Answer:
    """Judge models on files, and compare them. What is uncertain of a file is asked, and answered by the same options as for a training."""
    from ...data.readers.content import SUFFIXES

    named = [name for name in models if not _is_file(name)]
    files = [*(data or ()), *(name for name in models if _is_file(name))]
    for name in named:
        # A model's folder has no such ending: it is a file that is not there.
        if Path(name).suffix.lower() in SUFFIXES and existing(name) is None:
            raise StudioError(f"there is no file {name!r}", "check the path, or quote it if it holds spaces")
    if not files and not suite:
        raise StudioError("there is nothing to judge by", "name a file with --data, or a suite with --suite")
    if not named:
        raise StudioError("no model is named", "name one before the files")
    if engine is not None:
        if suite or known or len(named) > 1 or len(files) > 1:
            raise StudioError("--engine judges one model on one file, folder or pattern of Parquet", "leave out the others")
        how, sharding = how_of(engine, address, workers), sharding_of(threads, shard_rows)
        with open_studio() as studio, progress("encoding", "pairs") as show:
            found_there = studio.scale.evaluate(named[0], files[0], how, sharding, task, progress=show)
        return _of_report(found_there)
    require_alone(address, workers, threads=threads, cut=shard_rows != ROWS)
    with open_studio() as studio, progress("encoding") as show:
        if suite or len(named) > 1 or len(files) > 1 or _is_folder(files[0]):
            found = studio.judge.evaluate_all(named, files, task, suite or "", show, said, known)
            return Answer(found.to_json(), evaluation_in_lines(found))
        report = studio.judge.evaluate(named[0], files[0], task, show, said, known)
    return _of_report(report)


def _of_report(report: Report) -> Answer:
    account = [report.account.in_short("judged")] if report.account is not None else []
    confused = confused_in_words(report.scores)
    lines = [f"{report.task} on {report.rows:,} rows", *account, *_rows(report.scores), *_interval(report), *confused, *report.notes]
    return Answer(report.to_json(), lines)


def _is_file(name: str) -> bool:
    if is_public(name):
        return True
    found = existing(name)
    return found is not None and found.is_file()


def _is_folder(name: str) -> bool:
    found = None if is_public(name) else existing(name)
    return found is not None and found.is_dir()


def models(json: Json = False) -> Answer:
    """List the models that can be used."""
    with open_studio() as studio:
        found, notices = studio.judge.models_at_hand()
    for notice in notices:
        say(notice)
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
    return [f"{metric_in_words(primary(report)[0])}: 95% interval {low:.4f} to {high:.4f}"]


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
