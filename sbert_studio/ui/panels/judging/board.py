"""The leaderboard on the page: what models got, by set, as a table and as files."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import gradio as gr

from ....errors import StudioError
from ....evaluation.report import describe_metric
from ....services.leaderboard import set_key, set_names, write_leaderboard
from ...components import download_button
from ...handlers import handle_errors
from ...page import Page
from ...views import Value, column, placeholder, speed_value, table, view

if TYPE_CHECKING:
    from ....runs.scores import LeaderboardEntry

_ALL = "All sets"
_BLANK = "Nothing was evaluated yet. Every evaluation above leaves its scores here."


def entries_of(page: Page, owner: Any, chosen: str | None = "") -> list[LeaderboardEntry]:
    """What a visitor sees: all of it on a machine of one's own, else what is theirs and what is everybody's; of one set where it is chosen.

    Raises:
        StudioError: the database cannot be read.
    """
    found = page.studio.judge.board.entries(page.visitor(owner) if page.shared else None)
    return [one for one in found if set_key(one) == chosen] if chosen else found


def choices_of(entries: Sequence[LeaderboardEntry]) -> list[tuple[str, str]]:
    """(words, key) of every set, in their order."""
    return [(_ALL, ""), *((name, key) for key, name in set_names(entries).items())]


def board_table(page: Page, owner: Any, entries: Sequence[LeaderboardEntry], of_one: bool = False) -> Value:
    """The entries as a table whose rows can be chosen."""
    if not entries:
        return placeholder(_BLANK)
    several = len({one.metric for one in entries}) > 1 or not of_one
    columns = [column("Model", main=True), column("Score", "bar", digits=4), column("95% interval", "interval")]
    columns += [] if of_one else [column("Set")]
    names = set_names(entries)
    columns += [column("Metric", ours=True)] if several else []
    columns += [column("Sentences/s", "count"), column("Dimensions", "count"), column("When")]
    rows = []
    for one in entries:
        row: list[Any] = [one.title, one.score, None if one.low is None else [one.low, one.score, one.high]]
        row += [] if of_one else [names[set_key(one)]]
        row += [describe_metric(one.metric)] if several else []
        row += [round(one.rate) if one.rate else None, one.dim or None, one.created[:16].replace("T", " ")]
        rows.append(row)
    caption = f"{entries[0].data} · {describe_metric(entries[0].metric)}" if of_one and not several else ""
    value = table(columns, rows, ids=[one.id for one in entries], action="Choose this entry", event="entry", caption=caption)
    return value


def speeds_of(entries: Sequence[LeaderboardEntry]) -> Value | None:
    """The chart of score against speed of one set: the newest entry of each model; nothing where there are not two."""
    newest = {one.fingerprint: one for one in sorted(entries, key=lambda one: one.created) if one.rate}
    shown = [one for one in entries if newest.get(one.fingerprint) is one and one.metric == entries[0].metric]
    if len(shown) < 2:
        return None
    spans = [None if one.low is None or one.high is None else (one.low, one.high) for one in shown]
    points = [(one.title, one.rate, one.score, span) for one, span in zip(shown, spans, strict=True)]
    return speed_value(points, describe_metric(shown[0].metric)) | {"theirs": [one.title for one in shown]}


def own(page: Page, owner: Any, entry_id: object) -> LeaderboardEntry | None:
    """The entry of that number, if the visitor may remove it."""
    mine = page.visitor(owner) if page.shared else None
    return next((one for one in entries_of(page, owner) if one.id == entry_id and mine in (None, one.owner)), None)


def file_of(page: Page, suffix: str, owner: Any, chosen: str | None) -> Path:
    """What is shown, as a file.

    Raises:
        StudioError: there is nothing yet.
    """
    found = entries_of(page, owner, chosen)
    if not found:
        raise StudioError("the leaderboard is empty", "evaluate a model first")
    return write_leaderboard(page.downloads.path(f"leaderboard{suffix}"), found)


class BoardPanel:
    """The table with a filter, its two files, and a button that removes the chosen entry."""

    def __init__(self, page: Page) -> None:
        self.page = page
        with gr.Column(elem_classes=["sb-panel", "sb-board"]):
            with gr.Row(elem_classes=["sb-board-head"]):
                view("intro", {"title": "Leaderboard", "text": "Every evaluation leaves its scores here, the best first."})
                self.sets = gr.Dropdown(
                    [(_ALL, "")], value="", label="Set", elem_id="board-set", elem_classes=["sb-data"], min_width=200, scale=0
                )
            self.chart = view("speeds", elem_id="board-chart")
            self.table = view("table", placeholder(_BLANK), elem_id="board-table")
            with gr.Row(elem_classes=["sb-buttons"]):
                inputs = [page.owner, self.sets]
                self.csv = download_button("Download CSV", partial(file_of, page, ".csv"), inputs, elem_id="board-csv", visible=False)
                self.markdown = download_button("Markdown", partial(file_of, page, ".md"), inputs, elem_id="board-md", visible=False)
                self.remove = gr.Button("Remove", variant="stop", visible=False, elem_id="board-remove")
        self.entry = gr.State(0)

    def listen(self, loaded: Any, ended: Any) -> None:
        """Bind the events; ``ended`` is the component that changes when an evaluation has ended."""
        page = self.page
        quiet = {"api_visibility": "private", "show_progress": "hidden"}
        outputs = [self.sets, self.chart, self.table, self.csv, self.markdown, self.remove, self.entry]

        def show(owner: Any, chosen: str | None) -> list[Any]:
            try:
                found = entries_of(page, owner)
            except StudioError as error:
                hidden = [gr.update(visible=False)] * 3
                return [gr.skip(), None, placeholder(f"The leaderboard cannot be read: {error.message}."), *hidden, 0]
            choices = choices_of(found)
            key = chosen if chosen in {key for _, key in choices} else ""
            shown = [one for one in found if set_key(one) == key] if key else found
            value, chart = board_table(page, owner, shown, bool(key)), speeds_of(shown) if key else None
            files = gr.update(visible=bool(found))
            return [gr.update(choices=choices, value=key), chart, value, files, files, gr.update(visible=False), 0]

        def on_entry(owner: Any, event: gr.SelectData) -> list[Any]:
            one = own(page, owner, event.index)
            if one is None:
                return [gr.update(visible=False), 0]
            return [gr.update(visible=True, value=f"Remove {one.title} on {one.data}"[:80]), one.id]

        def on_remove(owner: Any, entry: int, chosen: str | None) -> list[Any]:
            if not entry:
                raise StudioError("no entry is chosen", "click a row of the leaderboard, then Remove")
            page.studio.judge.board.forget(entry, page.visitor(owner) if page.shared else None)
            return show(owner, chosen)

        self.sets.input(handle_errors(show), [page.owner, self.sets], outputs, **quiet)
        ended.change(handle_errors(show), [page.owner, self.sets], outputs, **quiet)
        self.table.select(handle_errors(on_entry), page.owner, [self.remove, self.entry], **quiet)
        self.remove.click(handle_errors(on_remove), [page.owner, self.entry, self.sets], outputs, **quiet)
        loaded.then(handle_errors(show), [page.owner, self.sets], outputs, **quiet)
