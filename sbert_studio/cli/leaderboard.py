"""The command that shows what models got."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..evaluation.report import describe_metric
from .options import open_studio
from .output import Answer, Json, one_line, say

if TYPE_CHECKING:
    from ..runs.scores import LeaderboardEntry


def leaderboard(
    data: Annotated[str, typer.Option("--set", metavar="NAME", help="Only what was judged on this set, by its name in the list.")] = "",
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write it too: FILE.csv for a spreadsheet, FILE.md for a document.")
    ] = None,
    remove: Annotated[int, typer.Option(metavar="ID", help="Remove the entry of this number first.")] = 0,
    json: Json = False,
) -> Answer:
    """List what models got where they were evaluated: set by set, the best first."""
    from ..services.leaderboard import as_json, write_leaderboard

    with open_studio() as studio:
        board = studio.judge.board
        if remove:
            board.forget(remove)
        found = board.entries(data=data)
        notices = list(studio.store.notices)
    for notice in notices:
        say(notice)
    written = {} if out is None else {"path": str(write_leaderboard(out, found))}
    if written:
        say(f"written to {out}")
    answer = {"entries": [as_json(one) for one in found], "notices": notices, **written}
    return Answer(answer, _lines(found) if found else ["nothing was evaluated yet: sbert-studio evaluate MODEL --data FILE"])


def _lines(found: list[LeaderboardEntry]) -> list[list[str]]:
    from ..services.leaderboard import set_key, set_names

    names = set_names(found)
    return [
        [
            str(one.id),
            one_line(names[set_key(one)], 36),
            describe_metric(one.metric),
            f"{one.score:.4f}",
            "" if one.low is None or one.high is None else f"[{one.low:.4f}, {one.high:.4f}]",
            f"{one.rate:,.0f} sentences/s" if one.rate else "",
            one_line(one.title, 40),
            one.created[:16].replace("T", " "),
        ]
        for one in found
    ]


COMMANDS = (leaderboard,)
