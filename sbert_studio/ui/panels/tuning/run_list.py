"""The runs that wait or train, when there is more than the one that is followed: each can be looked at and stopped."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import gradio as gr

from ....errors import StudioError
from ...handlers import handle_errors
from ...page import Page
from ...views import Value, to_json, view
from .follow import Follow
from .run_panel import RunPanel

if TYPE_CHECKING:
    from ....services.results import RunView

_MOST = 20


def under_way(page: Page, owner: Any) -> list[RunView]:
    """The visitor's runs that wait or train."""
    return [seen for seen in page.studio.tune.under_way(page.visitor(owner)) if seen.run.active]


def listing(found: list[RunView], chosen: str) -> Value | None:
    """The value of a ``runs`` view; ``None`` where there is nothing beside the run that is followed, ``chosen``."""
    if all(seen.run.id == chosen for seen in found):
        return None
    rows = [_row(seen, chosen) for seen in found[:_MOST]]
    more = len(found) - len(rows)
    return to_json({"live": True, "rows": rows, "note": f"{more} more wait." if more else ""})  # type: ignore[no-any-return]


def _row(seen: RunView, chosen: str) -> Value:
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
        "followed": run.id == chosen,
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

        def show(owner: Any, chosen: str, shown: Any) -> Any:
            found = under_way(page, owner)
            value = listing(found, chosen)
            drawn = (gr.skip(), gr.skip()) if value == shown else (value, value)
            # A late answer may have told of another run's end, and with it have ended the timer of the one that is followed.
            return *drawn, gr.Timer(active=True) if any(seen.run.id == chosen for seen in found) else gr.skip()

        def on_select(owner: Any, chosen: str, follow: Follow, event: gr.SelectData) -> Any:
            known = {run.id for run in page.studio.tune.runs(page.visitor(owner))}
            if event.index not in known:
                raise StudioError("this run is no longer there", "reload the page")
            if event.value == "stop":
                page.studio.tune.stop(event.index)
                # What is followed is shown anew as well: it may be the one that was stopped.
                return [listing(under_way(page, owner), chosen), gr.skip(), *panel.show(follow)]
            now = Follow(event.index)
            browser = {**(owner if isinstance(owner, dict) else {}), "job": event.index}
            return [listing(under_way(page, owner), now.run_id), browser, *panel.show(now)]

        inputs, outputs = [page.owner, panel.chosen, self.shown], [self.view, self.shown, page.timer]
        for event in (page.runs_timer.tick, page.runs_version.change, panel.chosen.change):
            event(handle_errors(show), inputs, outputs, queue=False, trigger_mode="once", **quiet)
        loaded.then(handle_errors(show), inputs, outputs, **quiet)
        inputs, outputs = [page.owner, panel.chosen, panel.follow], [self.view, page.owner, *panel.outputs]
        self.view.select(handle_errors(on_select), inputs, outputs, trigger_mode="multiple", **quiet)
