"""Leaderboard of the Evaluate tab: scores of all evaluations, filtered by dataset, as a table, a chart and files."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ....errors import StudioError
from ....evaluation.report import describe_metric
from ....i18n import _
from ....services.leaderboard import dataset_key, dataset_names, write_leaderboard
from ...page import Page
from ...panel import Selection
from ...views import UNCHANGED, Unchanged, Update, Value, column, placeholder, props, table
from .view_model import speed_chart

if TYPE_CHECKING:
    from ....runs.scores import LeaderboardEntry

ALL_SETS = "All datasets"
NO_ENTRIES = placeholder("Nothing has been evaluated yet. The scores of each evaluation appear here.")


@dataclass(frozen=True)
class LeaderboardView:
    sets: Update | Unchanged
    leaderboard: Value
    speeds: Value | None
    csv: Update
    markdown: Update
    remove: Update
    entry: int = 0


def show_leaderboard(page: Page, owner: object, sets: str | None) -> LeaderboardView:
    hidden = props(visible=False)
    try:
        found = visible_entries(page, owner)
    except StudioError as error:
        message = placeholder(_("The leaderboard cannot be read: {message}.", message=error.message))
        return LeaderboardView(UNCHANGED, message, None, hidden, hidden, hidden)
    choices = [(ALL_SETS, ""), *((name, key) for key, name in dataset_names(found).items())]
    key = sets if sets in {key for _, key in choices} else ""
    shown = [entry for entry in found if dataset_key(entry) == key] if key else found
    files = props(visible=bool(found))
    chart = entries_chart(shown) if key else None
    return LeaderboardView(props(choices=choices, value=key), entries_table(shown, bool(key)), chart, files, files, hidden)


def select_entry(page: Page, owner: object, selection: Selection) -> tuple[Update, int]:
    """Return the button that removes the clicked entry, and its id; 0 if it does not belong to the visitor."""
    visitor = page.visitor(owner) if page.shared else None
    entries = (entry for entry in visible_entries(page, owner) if entry.id == selection.item and visitor in (None, entry.owner))
    entry = next(entries, None)
    if entry is None:
        return props(visible=False), 0
    return props(visible=True, value=_("Remove {title} on {data}", title=entry.title, data=entry.data)[:80]), entry.id


def remove_entry(page: Page, owner: object, entry: int, sets: str | None) -> LeaderboardView:
    if not entry:
        raise StudioError("no entry is selected", "click a row of the leaderboard, then Remove")
    page.studio.leaderboard.remove(entry, page.visitor(owner) if page.shared else None)
    return show_leaderboard(page, owner, sets)


def write_file(page: Page, suffix: str, owner: object, sets: str | None) -> Path:
    found = visible_entries(page, owner, sets)
    if not found:
        raise StudioError("the leaderboard is empty", "evaluate a model first")
    return write_leaderboard(page.downloads.path(f"leaderboard{suffix}"), found)


def visible_entries(page: Page, owner: object, key: str | None = "") -> list[LeaderboardEntry]:
    """Return the entries of a dataset (empty: of all) that the visitor may see: on a shared page their own and public ones."""
    found = page.studio.leaderboard.entries(page.visitor(owner) if page.shared else None)
    return [entry for entry in found if dataset_key(entry) == key] if key else found


def entries_table(entries: Sequence[LeaderboardEntry], is_one_set: bool = False) -> Value:
    if not entries:
        return NO_ENTRIES
    has_metric = not is_one_set or len({entry.metric for entry in entries}) > 1
    columns = [column("Model", main=True), column("Score", "bar", digits=4), column("95% interval", "interval")]
    columns += [] if is_one_set else [column("Set")]
    columns += [column("Metric", ours=True)] if has_metric else []
    columns += [column("Sentences/s", "count"), column("Dimensions", "count"), column("When")]
    names = dataset_names(entries)
    rows = []
    for entry in entries:
        row: list[object] = [entry.title, entry.score, None if entry.low is None else [entry.low, entry.score, entry.high]]
        row += [] if is_one_set else [names[dataset_key(entry)]]
        row += [describe_metric(entry.metric)] if has_metric else []
        row += [round(entry.rate) if entry.rate else None, entry.dim or None, entry.created[:16].replace("T", " ")]
        rows.append(row)
    caption = "" if has_metric else _("{data} · {metric}", data=entries[0].data, metric=describe_metric(entries[0].metric))
    return table(columns, rows, ids=[entry.id for entry in entries], action="Select this entry", event="entry", caption=caption)


def entries_chart(entries: Sequence[LeaderboardEntry]) -> Value | None:
    """Return the chart of score against speed for one dataset, with the newest entry of each model; ``None`` for fewer than two."""
    newest = {entry.fingerprint: entry for entry in sorted(entries, key=lambda entry: entry.created) if entry.rate}
    shown = [entry for entry in entries if newest.get(entry.fingerprint) is entry and entry.metric == entries[0].metric]
    intervals = [None if entry.low is None or entry.high is None else (entry.low, entry.high) for entry in shown]
    points = [(entry.title, entry.rate, entry.score, interval) for entry, interval in zip(shown, intervals, strict=True)]
    return speed_chart(points, shown[0].metric) if shown else None
