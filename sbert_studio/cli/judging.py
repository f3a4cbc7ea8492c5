"""Commands by which models are judged and listed: evaluate, models."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..evaluation.report import TASKS
from ..evaluation.words import confused_in_words
from .answers import Answer, Json, progress, say
from .columns import asks
from .studio import open_studio

if TYPE_CHECKING:
    from ..data.choices.column_choices import ColumnChoices


@asks
def evaluate(
    *,
    model: Annotated[str, typer.Argument(metavar="MODEL", help="A bundled name, a run id, a folder or a hub id.")],
    data: Annotated[Path, typer.Option(metavar="FILE", help="Pairs with a score or label, triplets, or texts with a label.")],
    task: Annotated[str, typer.Option(help=f"auto, {', '.join(TASKS[:-1])} or {TASKS[-1]}.")] = "auto",
    said: ColumnChoices,
    json: Json = False,
) -> Answer:
    """Judge a model on a file. What is uncertain of the file is asked, and answered by the same options as for a training."""
    with open_studio() as studio, progress("encoding") as show:
        report = studio.judge.evaluate(model, data, task, show, said)
    account = [report.account.in_short("judged")] if report.account is not None else []
    confused = confused_in_words(report.scores)
    lines = [f"{report.task} on {report.rows:,} rows", *account, *_rows(report.scores), *confused, *report.notes]
    return Answer(report.to_json(), lines)


def models(json: Json = False) -> Answer:
    """List the models that can be used."""
    with open_studio() as studio:
        found, notices = studio.judge.models_at_hand()
    for notice in notices:
        say(notice)
    lines = [
        [card.name, card.kind, "damaged", "", "", f"{card.title}: {card.damaged}"]
        if card.damaged
        else [card.name, card.kind, f"{card.dim}-d" if card.dim else "pairs", f"{card.parameters / 1e6:.1f} M", card.pooling, card.title]
        for card in found
    ]
    return Answer({"models": [card.to_json() for card in found], "notices": notices}, lines)


def _rows(scores: Mapping[str, Any]) -> list[list[Any]]:
    """One row for each similarity, or for each single score."""
    rows: list[list[Any]] = []
    for name, value in scores.items():
        if isinstance(value, Mapping):
            rows.append([name, *(f"{inner} {score:.4f}" for inner, score in value.items() if isinstance(score, float))])
        elif name == "confused":
            continue
        elif isinstance(value, list | tuple):
            rows.append([name, *(f"{score:.4f}" for score in value if isinstance(score, float))])
        else:
            rows.append([name, value])
    return rows


COMMANDS = (evaluate, models)
