"""The run on the page: polled by the page's timer, so that a reload or a second browser finds it where it stands."""

from __future__ import annotations

import html
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import gradio as gr

from ....errors import StudioError
from ....services.training_plan import in_sentences
from ...components import download_button
from ...handlers import handle_errors
from ...handover import SIMILARITY, compare_models
from ...page import Page
from ...push_panel import PushPanel
from ...views import Value, to_json, view
from . import settled
from .follow import Follow, no_run
from .pinning import pins_view
from .worst import mistakes_view, pair_of

if TYPE_CHECKING:
    from ....runs.run import Run


def attach(page: Page, owner: Any) -> Follow:
    """What the page should follow when it is loaded: this browser's run while it goes on, else the visitor's newest that does."""
    known = owner.get("job") if isinstance(owner, dict) else ""
    runs = page.studio.tune.runs(page.visitor(owner))
    own = [run for run in runs if run.id == known]
    open_runs = [run for run in runs if run.active] + [run for run in runs if run.status == "interrupted"]
    chosen = own if own and own[0].active else open_runs or own
    return Follow(chosen[0].id) if chosen else Follow()


def look(page: Page, follow: Follow) -> tuple[Follow, Value, Value | None, bool]:
    """The run as it stands: what is followed with the new events, the panel, the curves, whether anything changed."""
    if not follow.run_id:
        return follow, no_run(), None, False
    seen = page.studio.tune.run(follow.run_id, follow.cursor)
    now = follow.absorb(seen.events)
    changed = bool(seen.events) or seen.run.status != follow.status
    now = replace(now, status=seen.run.status)
    # Of a run that left no model nothing is learned yet: these are rows to learn from.
    begun = bool(seen.run.step) and seen.run.model_path is not None
    rows = [] if seen.run.active else list(in_sentences(page.studio.tune.accounts(seen.run.id), begun=begun))
    return now, now.panel(seen, origin(page, seen.run)) | {"rows": rows}, to_json(now.curves()), changed


def origin(page: Page, run: Run) -> str:
    """What the model is called that a run started from: the name of another run of the same visitor, else as it is known by."""
    known = {one.id: one.name for one in page.studio.tune.runs(run.owner)} if run.model.startswith("run-") else {}
    return known.get(run.model, run.model)


def write_zip(page: Page, run_id: str) -> Path:
    """The finished run as a zip."""
    run = page.studio.tune.run(run_id).run
    return page.studio.tune.export(run_id, page.downloads.path(f"{run.name}.zip")).path


class RunPanel:
    """The panel's components.

    Args:
        chosen: the ``gr.State`` with the id of the run to follow, which only a person's choice changes.
        follow: the ``gr.State`` with what the page knows of it, a :class:`Follow`. An answer to the timer may come after a
            choice that was made meanwhile, so the two are kept apart and the next tick puts right what a late one showed.
    """

    def __init__(self, page: Page, chosen: Any, follow: Any) -> None:
        self.page, self.chosen, self.follow = page, chosen, follow
        with gr.Column(elem_classes=["sb-panel"]):
            self.panel = view("run", no_run(), elem_id="tune-run")
            self.asking = view("questions", elem_id="tune-alarm")
            self.dial = view("strength", elem_id="tune-strength")
            self.pins = view("pins", elem_id="tune-pins")
            self.mistakes = view("mistakes", elem_id="tune-mistakes")
            with gr.Row(elem_classes=["sb-buttons"]):
                self.stop = gr.Button("Stop", variant="stop", visible=False, elem_id="tune-stop")
                self.resume = gr.Button("Resume", variant="primary", visible=False, elem_id="tune-resume")
                self.use = gr.Button("Use this model", variant="primary", visible=False, elem_id="tune-use")
                self.changes = gr.Button("Show what changed", visible=False, elem_id="tune-changes")
                self.save = download_button(
                    "Download zip", lambda follow: write_zip(page, follow.run_id), [follow], elem_id="tune-zip", visible=False
                )
            self.push = PushPanel(page, "tune")
            self.curves = view("curves", elem_id="tune-curves")
            # The timer's answers pass by the queue, and a State that changes there tells nobody; a text in the page does.
            self.ended = gr.Textbox("", visible="hidden", label="ended", elem_id="tune-ended")

    @property
    def outputs(self) -> list[Any]:
        """What :meth:`show` updates."""
        return [self.chosen, *self._drawn]

    @property
    def _drawn(self) -> list[Any]:
        buttons = [self.stop, self.resume, self.use, self.changes, self.save, self.push.whole]
        return [self.follow, self.panel, self.curves, *buttons, self.asking, self.dial, self.pins, self.mistakes, self.page.timer]

    def show(self, follow: Follow) -> list[Any]:
        """Updates of :attr:`outputs`, whether or not anything changed."""
        return [follow.run_id, *self._draw(follow)]

    def _draw(self, follow: Follow) -> list[Any]:
        now, panel, curves, _ = look(self.page, follow)
        live = now.status in ("queued", "running")
        run = self.page.studio.tune.run(now.run_id, now.cursor).run if now.run_id else None
        usable = run is not None and run.status in ("finished", "stopped") and run.model_path is not None
        of_texts = run is not None and run.spec.get("architecture", "siamese") == "siamese"
        buttons = (
            live and not panel.get("stopping"),
            now.status in ("interrupted", "stopped", "failed"),
            usable,
            usable and of_texts,
            usable,
            usable,
        )
        question = self.page.studio.settle.question(now.run_id) if now.status == "asks" else None
        pins = self.page.studio.tune.pins(now.run_id) if now.run_id else None
        dial, wrong = (settled.strength(run), mistakes_view(self.page.studio, run)) if run is not None else (None, None)
        after = (settled.asked(question), dial, pins_view(pins, now), wrong)
        return [now, panel, curves, *(gr.update(visible=one) for one in buttons), *after, gr.Timer(active=live)]

    def listen(self, loaded: Any) -> None:
        """Bind the events; ``loaded`` is the page's own load event."""
        page, private = self.page, {"api_visibility": "private"}
        quiet = {**private, "show_progress": "hidden"}

        def on_tick(chosen: str, follow: Follow) -> Any:
            known = follow if follow.run_id == chosen else Follow(chosen)
            now, *rest = self._draw(known)
            # Of a run that waits nothing comes, so what a late answer drew over it would stay.
            if now == follow and now.status != "queued":
                return gr.skip()
            ended = now.status != follow.status and now.status not in ("queued", "running")
            return [now, *rest, f"{now.run_id} {now.cursor}" if ended else gr.skip()]

        def on_stop(follow: Follow) -> Any:
            page.studio.tune.stop(follow.run_id)
            return self.show(follow)

        def on_resume(follow: Follow) -> Any:
            page.studio.tune.resume(follow.run_id)
            return self.show(follow)

        def on_answer(follow: Follow, owner: Any, event: gr.SelectData) -> Any:
            run = settled.answer(page.studio, follow.run_id, event.index)
            browser = {**(owner if isinstance(owner, dict) else {}), "job": run.id}
            return [*self.show(follow if run.id == follow.run_id else Follow(run.id)), browser]

        def on_strength(follow: Follow, changes: int, event: gr.SelectData) -> Any:
            run = page.studio.settle.set_strength(follow.run_id, settled.chosen(event.index))
            gr.Info(f"{html.escape(run.name)} now has strength {run.after['strength']:g}.", title="Model changed")
            return [*self.show(Follow(run.id)), changes + 1]

        def on_mistake(follow: Follow, event: gr.SelectData) -> Any:
            return pair_of(page.studio, follow.run_id, event.index), gr.Tabs(selected=SIMILARITY)

        def on_load(owner: Any) -> Any:
            return self.show(attach(page, owner))

        def on_change(follow: Follow) -> Any:
            # The run may have been deleted in the Models tab.
            known = {run.id for run in page.studio.tune.runs()}
            return gr.skip() if not follow.run_id or follow.run_id in known else self.show(Follow())

        page.runs_version.change(handle_errors(on_change), self.follow, self.outputs, **quiet)
        page.timer.tick(
            handle_errors(on_tick),
            [self.chosen, self.follow],
            [*self._drawn, self.ended],
            queue=False,
            trigger_mode="once",
            **quiet,
        )
        self.ended.change(lambda changes: changes + 1, page.runs_version, page.runs_version, **quiet)
        loaded.then(handle_errors(on_load), page.owner, self.outputs, **quiet)
        self.stop.click(None, js="() => SB.stopping('tune-stop')")
        self.stop.click(handle_errors(on_stop), self.follow, self.outputs, queue=False, **quiet)
        answered = [*self.outputs, page.owner]
        self.asking.select(handle_errors(on_answer), [self.follow, page.owner], answered, **private, show_progress_on=self.asking)
        self.mistakes.select(handle_errors(on_mistake), self.follow, [page.pair_to_compare, page.tabs], trigger_mode="multiple", **quiet)
        self.changes.click(handle_errors(lambda follow: compare_models(page, follow.run_id)), self.follow, page.models_to_compare, **quiet)
        changed = [*self.outputs, page.runs_version]
        self.dial.select(handle_errors(on_strength), [self.follow, page.runs_version], changed, **private, show_progress_on=self.dial)
        self.resume.click(handle_errors(on_resume), self.follow, self.outputs, **private)
        self.push.listen(self.chosen)
        self.use.click(handle_errors(partial(use, page)), [self.follow, page.owner], [page.model, page.saved_model], **quiet)


def use(page: Page, follow: Follow, owner: Any) -> Any:
    """Choose the run's model in the header, also after a reload.

    Raises:
        StudioError: it was deleted meanwhile.
    """
    choices = page.model_choices(owner)
    title = next((title for title, name in choices if name == follow.run_id), None)
    if title is None and any(name == follow.run_id for _, name in page.model_choices(owner, "pairs")):
        raise StudioError(
            "this model reads pairs, and is not made to compare, search or draw by itself",
            "choose it in the Search tab, to rank what was found again, or in Evaluate",
        )
    if title is None:
        raise StudioError("this model is no longer there", "choose another one")
    gr.Info(f"{html.escape(title)} now answers in every tab.", title="Model chosen")
    return gr.update(choices=choices, value=follow.run_id), follow.run_id
