"""What changed: two models, the corpus in the header, and what a person sees of the difference."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import gradio as gr

from ....errors import StudioError
from ....runs.files import RunFiles
from ....services.model_diff import MOST_QUERIES
from ...components import cancel_button, download_button, start_task
from ...forms import form_key, form_provenance
from ...handlers import PROGRESS, handle_errors, progress_callback
from ...handover import ModelPair, base_model
from ...html_export import write_html
from ...page import Page
from ...routing import on_location
from ...views import Value, placeholder, server_function, text_range, view
from ..tuning.follow import before_after
from .value import changed_value

if TYPE_CHECKING:
    from ....data.corpus import Corpus
    from ....runs.run import Run
    from ...routing import Location

_BLANK = "Both models on one corpus: maps that turn into each other, pairs that moved, neighbours lost and gained."
_NONE = "No category"
TAB, SUBTAB = "Evaluate", "changed"
_REMEMBER = "(from, to, ask) => { if (from && to) SB.place({ tab: 'evaluate', view: 'changed', from, to, ask }); }"


@dataclass(frozen=True)
class Shown:
    """What stands on the page: the key of the changes, and what the saved file needs beside them."""

    key: str
    typed: bool
    outcome: Value | None
    made: str


def queries_of(words: str | None) -> list[str]:
    """The first queries that were typed, one a line."""
    return [line.strip() for line in (words or "").splitlines() if line.strip()][:MOST_QUERIES]


def form_value(before: str | None, after: str | None, words: str | None, column: str | None) -> Value:
    """The value of the ``form`` view: what the form says now."""
    return {"form": "changed", "key": form_key(before, after, queries_of(words), column or "")}


def outcome_of(page: Page, before: str, after: str) -> Value | None:
    """The scores of the run that made ``after`` of ``before``, and of which rows they are; ``None`` if it is no such run, or has none."""
    if not after.startswith("run-"):
        return None
    run = page.studio.store.get(after)
    scores = before_after(run) if run.model == before else None
    return None if scores is None else scores | {"of": _judged_by(page, run)}


def _judged_by(page: Page, run: Run) -> str:
    """Which rows the run's own scores are of; nothing where its folder is gone."""
    try:
        files = RunFiles(page.studio.workspace.run(run.id)).source()
        learned, judged = files["data"]["name"], files.get("dev", {}).get("name")
    except (StudioError, OSError, ValueError, KeyError):
        return ""
    rows = f"{run.dev_rows:,} held-out rows" if run.dev_rows else "held-out rows"
    if judged is not None:
        return f"Judged by {rows} of {judged}, beside the file that it was trained on, {learned}; not by the corpus at hand."
    return f"Judged by {rows} of {learned}, the file that it was trained on; not by the corpus at hand."


def look(
    page: Page,
    key: str | None,
    before: str | None,
    after: str | None,
    words: str | None,
    column: str | None,
    progress: Any = None,
) -> tuple[str, Shown, Value]:
    """Compare two models on the visitor's corpus.

    Returns:
        the corpus' key, what stands on the page, and the value of the view.

    Raises:
        StudioError: two different models are not chosen; see :meth:`~sbert_studio.services.changing.Changing.changes`.
    """
    if not before or not after:
        raise StudioError("two models are needed", "choose one more; a run of the Fine-tune tab is one")
    key, chosen = page.corpora.current(key)
    corpus, queries = chosen.corpus, queries_of(words)
    column = column if column in corpus.fields else None
    begin = None if progress is None else lambda phase: progress_callback(progress, phase)
    found = page.studio.explore.changes(corpus, before, after, queries=queries, column=column, begin=begin)
    titles = (page.model_title(before), page.model_title(after))
    outcome = outcome_of(page, before, after)
    made = f"{titles[0]} → {titles[1]} · {corpus.name}"
    shown = Shown(page.model_diffs.put(found), bool(queries), outcome, made)
    stale = form_provenance(
        "changed", form_value(before, after, words, column)["key"], made, "changed-go", corpus, (*titles, *page.corpora.user_names(chosen))
    )
    return key, shown, changed_value(found, titles, shown.key, typed=shown.typed, outcome=outcome) | {"made": stale}


def asked_for(page: Page, owner: Any, place: Location | None) -> tuple[list[tuple[str, str]], str, str, str] | None:
    """What an address asks to be compared: the models to choose from, the two, and the queries.

    ``None`` where it names none, or one that is not at hand, which :func:`~sbert_studio.ui.routing.open_location` has told.
    """
    if place is None or not (place.before and place.after):
        return None
    choices = page.model_choices(owner)
    here = {place.before, place.after} <= {known for _, known in choices}
    return (choices, place.before, place.after, place.ask) if here else None


def texts(page: Page, request: Any) -> list[str]:
    """Some texts of the corpus that was compared; ``request`` is ``{key, start, count}`` from the browser."""
    request = request if isinstance(request, dict) else {}
    return text_range(page.model_diffs.get(request.get("key")).corpus, request)


def save(page: Page, shown: Shown | None) -> Path:
    """All of it as one file that opens anywhere.

    Raises:
        StudioError: nothing was compared yet.
    """
    if shown is None:
        raise StudioError("nothing was compared yet", "press Show what changed")
    found = page.model_diffs.get(shown.key)
    titles = (page.model_title(found.before), page.model_title(found.after))
    value = changed_value(found, titles, "file", typed=shown.typed, outcome=shown.outcome)
    corpus = found.corpus
    rows = {"key": "file", "start": 0, "count": len(corpus)}
    value["texts"] = text_range(corpus, rows, len(corpus))
    data = {"title": f"What changed from {titles[0]} to {titles[1]}", "made": f"{corpus.name} · {len(corpus):,} texts", "value": value}
    return write_html(page.downloads.path(f"{titles[0]} to {titles[1]}.html"), "changes/changed-file", data)


def column_update(corpus: Corpus, column: str | None) -> Any:
    """An update of the chooser of categories for a corpus: the column that was chosen, or its first one that could hold some."""
    columns = corpus.category_columns()
    value = column if column in columns else columns[0] if columns else ""
    return gr.update(choices=[(_NONE, ""), *((name, name) for name in columns)], value=value, visible=bool(columns))


class ChangesPanel:
    """The form and the view. ``tabs`` are those in which it stands, by the id :data:`SUBTAB`."""

    def __init__(self, page: Page, tabs: Any) -> None:
        self.page, self.tabs = page, tabs
        self.shown = gr.State(None)
        with gr.Column(elem_classes=["sb-panel"]):
            with gr.Row():
                choices = page.model_choices(None)
                self.before = gr.Dropdown(
                    choices, value=None, label="From", elem_id="changed-before", elem_classes=["sb-data"], min_width=200
                )
                self.after = gr.Dropdown(choices, value=None, label="To", elem_id="changed-after", elem_classes=["sb-data"], min_width=200)
                self.column = column_chooser(page)
            self.words = gr.Textbox(
                label="Your queries: up to three, one a line",
                info="Where you type none, the three texts whose neighbours changed most are shown.",
                lines=1,
                max_lines=3,
                max_length=2000,
                elem_id="changed-queries",
            )
            self.go = gr.Button("Show what changed", variant="primary", elem_id="changed-go")
            cancel_button("changed")
        self.form = view("form", elem_id="changed-form")

        with gr.Row(elem_classes=["sb-downloads"], visible=False) as self.ways:  # not below all that is shown
            download_button("Save as one HTML file", lambda shown: save(page, shown), [self.shown], elem_id="changed-file")
        self.view = view("changed", placeholder(_BLANK), elem_id="changed-view", server=[server_function(page, "changed_texts", texts)])

    def listen(self, loaded: Any) -> None:
        """Bind the events; ``loaded`` is the page's own load event."""
        page, quiet = self.page, {"api_visibility": "private", "show_progress": "hidden"}
        inputs = [page.corpus, self.before, self.after, self.words, self.column]
        outputs = [page.corpus, self.shown, self.view, self.ways]
        form = inputs[1:]

        def on_go(key: str | None, before: str, after: str, words: str, column: str, progress: Any = PROGRESS) -> Any:
            return (*look(page, key, before, after, words, column, progress), gr.update(visible=True))

        def on_models(owner: Any, before: str | None, after: str | None) -> Any:
            # Where nothing was chosen: the newest run, and what it began from.
            choices = page.model_choices(owner)
            names = [name for _, name in choices]
            kept = after if after in names else next((name for name in names if name.startswith("run-")), None)
            first = before if before in names else base_model(page, kept)
            return gr.update(choices=choices, value=first), gr.update(choices=choices, value=kept)

        def on_after(owner: Any, after: str | None) -> Any:
            base = base_model(page, after)
            known = base != after and base in {name for _, name in page.model_choices(owner)}
            return base if known and after and after.startswith("run-") else gr.skip()

        def on_corpus(key: str | None, column: str | None) -> Any:
            return column_update(page.corpora.current(key)[1].corpus, column)

        def on_compare(owner: Any, asked: ModelPair | None) -> Any:
            if asked is None:
                return (gr.skip(),) * 4
            choices = page.model_choices(owner)
            before, after = (gr.update(choices=choices, value=name) for name in (asked.before, asked.after))
            return gr.Tabs(selected=TAB), gr.Tabs(selected=SUBTAB), before, after

        def on_compared(
            asked: ModelPair | None, key: str | None, before: str, after: str, words: str, column: str, progress: Any = PROGRESS
        ) -> Any:
            if asked is None:
                return (gr.skip(),) * 4
            return on_go(key, asked.before, asked.after, words, column, progress)

        def on_arrive(owner: Any, place: Location | None) -> Any:
            found = asked_for(page, owner, place)
            if found is None or place is None:
                return gr.skip()
            models = (gr.update(choices=found[0], value=name) for name in found[1:3])
            return *models, found[3], place if place.view == SUBTAB else gr.skip()

        def on_arrived(
            owner: Any, place: Location | None, key: str | None, before: str, after: str, words: str, column: str, progress: Any = PROGRESS
        ) -> Any:
            found = asked_for(page, owner, place)
            return (gr.skip(),) * 4 if found is None else on_go(key, *found[1:], column, progress)

        went = start_task(self.go.click, "changed", on_go, inputs, outputs, show_progress_on=self.view)
        there = page.models_to_compare.change(
            handle_errors(on_compare), [page.owner, page.models_to_compare], [page.tabs, self.tabs, self.before, self.after], **quiet
        )
        led = start_task(there.success, "changed", on_compared, [page.models_to_compare, *inputs], outputs, show_progress_on=self.view)
        for event in (went, led):
            event.success(None, [self.before, self.after, self.words], None, js=_REMEMBER)
        to_compare = on_location(page, on_arrive, [page.owner, page.location], [self.before, self.after, self.words])
        again = [page.owner, page.location, *inputs]
        start_task(to_compare, "changed", on_arrived, again, outputs, show_progress_on=self.view)
        self.after.input(handle_errors(on_after), [page.owner, self.after], self.before, **quiet)
        for event in (loaded.then, page.runs_version.change):
            event(handle_errors(on_models), [page.owner, self.before, self.after], [self.before, self.after], **quiet)
        page.corpus.change(handle_errors(on_corpus), [page.corpus, self.column], self.column, **quiet)
        # One work for all parts: of several the answer to an earlier state of the form could come last.
        gr.on([part.change for part in form], handle_errors(form_value), form, self.form, trigger_mode="always_last", **quiet)


def column_chooser(page: Page) -> Any:
    """The chooser of the column of categories, for the corpus that is there by itself."""
    columns = page.corpora.sample().corpus.category_columns()
    return gr.Dropdown(
        [(_NONE, ""), *((name, name) for name in columns)],
        value=columns[0] if columns else "",
        label="Category",
        visible=bool(columns),
        elem_id="changed-column",
        elem_classes=["sb-data"],
        min_width=160,
    )
