"""The runs that wait or train, when there is more than the one that is followed: each can be looked at and stopped."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import gradio as gr

from ...errors import StudioError
from ..follow import Follow
from ..page import Page, guarded
from ..views import Value, plain, view
from .run_panel import RunPanel

if TYPE_CHECKING:
    from ...studio.results import RunView

_MOST = 20


def listing(page: Page, owner: Any, follow: Follow) -> Value | None:
    """The value of a ``runs`` view; ``None`` where there is nothing beside the run that is followed."""
    found = [seen for seen in page.studio.under_way(page.visitor(owner)) if seen.run.active]
    if all(seen.run.id == follow.run_id for seen in found):
        return None
    rows = [_row(seen, follow) for seen in found[:_MOST]]
    more = len(found) - len(rows)
    return plain({"rows": rows, "note": f"{more} more wait." if more else ""})  # type: ignore[no-any-return]


def _row(seen: RunView, follow: Follow) -> Value:
    run = seen.run
    words = "Training" + (f" · step {run.step:,} of {run.steps:,}" if run.steps else "")
    if run.status == "queued":
        words = f"Waiting · {seen.waiting} before it" if seen.waiting else "Waiting for its turn"
    share = run.step / run.steps if run.steps and run.status == "running" else 0.0
    return {
        "id": run.id,
        "name": run.name,
        "status": run.status,
        "words": "Stopping…" if seen.stopping else words,
        "share": min(1.0, share),
        "followed": run.id == follow.run_id,
        "stopping": seen.stopping,
    }


class RunList:
    """The list above the run panel."""

    def __init__(self, page: Page, panel: RunPanel) -> None:
        self.page, self.panel = page, panel
        self.view = view("runs", elem_id="tune-runs")
        self.shown = gr.State(None)

    def listen(self, loaded: Any) -> None:
        """Bind the events; ``loaded`` is the page's own load event."""
        page, panel = self.page, self.panel
        quiet = {"api_visibility": "private", "show_progress": "hidden"}

        def show(owner: Any, follow: Follow, shown: Any) -> Any:
            value = listing(page, owner, follow)
            return gr.skip() if value == shown else (value, value)

        def on_select(owner: Any, follow: Follow, event: gr.SelectData) -> Any:
            known = {run.id for run in page.studio.runs(page.visitor(owner))}
            if event.index not in known:
                raise StudioError("this run is no longer there", "reload the page")
            if event.value == "stop":
                page.studio.stop(event.index)
                # What is followed is shown anew as well: it may be the one that was stopped.
                return [listing(page, owner, follow), gr.skip(), *panel.show(follow)]
            now = Follow(event.index)
            browser = {**(owner if isinstance(owner, dict) else {}), "job": event.index}
            return [listing(page, owner, now), browser, *panel.show(now)]

        inputs, outputs = [page.owner, panel.follow, self.shown], [self.view, self.shown]
        for event in (page.runs_timer.tick, page.runs_changed.change, panel.follow.change):
            event(guarded(show), inputs, outputs, queue=False, trigger_mode="once", **quiet)
        loaded.then(guarded(show), inputs, outputs, **quiet)
        self.view.select(guarded(on_select), [page.owner, panel.follow], [self.view, page.owner, *panel.outputs], **quiet)
