"""Guided panel for documents: the steps from documents to a better search, each with its result, its button and a closer look."""

from __future__ import annotations

import secrets
from collections.abc import Collection
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import gradio as gr

from ....i18n import _, capitalize, join, ngettext, to_sentence
from ....progress import progress_share
from ....registry import fields_of
from ....services.written_queries import INSTRUCTION
from ...basket import VERDICTS, toggle_pair
from ...components import (
    describe_control,
    download_button,
    endpoint_boxes,
    form,
    form_values,
    form_view,
    group,
    parse_values,
    shown_state,
    to_control_value,
)
from ...handlers import time_left
from ...panel import Panel
from ...run_view import gain_view, use_model
from ...sessions.file_store import restore_form_file
from ...sessions.tasks import session_id
from ...state import SEARCH, JobTopic, ModelChoice
from ...task_list import job_state
from ...views import UNCHANGED, Unchanged, Update, Value, column, props, shorten, table, view
from . import documents
from .documents import COMPARISON, ESTIMATE, NEGATIVES, PAIRS, GuideSettings, MadeData, StepResult, WritingInputs
from .handlers import open_file
from .view_model import FileView

if TYPE_CHECKING:
    from ....runs.run import Run
    from ....services import Studio
    from ....services.jobs import JobView
    from ...page import Page
    from ...panel import Selection
    from ...state import SelectedCorpus

PASSAGES, TRAIN, USE = "passages", "train", "use"
RESUME = "resume"
_LABELS = {
    "structure": "Structure",
    "crop": "Sentences and spans",
    "llm": "Language model",
    "passages": "Passages",
    "input_price": "Price of input",
    "output_price": "Price of output",
    "per_row": "Hard negatives per pair",
    "margin": "Margin",
}
_EXAMPLES = 10
_JUDGED = 2_000  # characters of a passage that the visitor is asked about: nearly always the whole passage
_WRITING = ("passages", "input_price", "output_price")
_NO_CHOICE = ModelChoice(UNCHANGED, UNCHANGED)
_HIDDEN = props(visible=False)


@dataclass(frozen=True)
class GuideView:
    """The panel.

    Attributes:
        made: id of the file that a job has just made, or that is opened again for training, and what distinguishes this time.
    """

    guide: Update | Unchanged
    steps: Value | Unchanged | None = None
    guide_state: Value | Unchanged | None = None
    documents_timer: Update | Unchanged = UNCHANGED
    guide_timer: Update | Unchanged = UNCHANGED
    pairs_file: Update | Unchanged = UNCHANGED
    negatives_file: Update | Unchanged = UNCHANGED
    inspected: Value | Unchanged | None = UNCHANGED
    made: str | Unchanged = UNCHANGED


@dataclass(frozen=True)
class ClickedGuide:
    view: GuideView
    choice: ModelChoice = _NO_CHOICE
    tabs: Update | Unchanged = UNCHANGED
    chosen: str | Unchanged = UNCHANGED  # id of the run to follow
    runs_version: int | Unchanged = UNCHANGED


def show_guide(page: Page, corpus: str | None, owner: object) -> GuideView:
    """Show the panel if the selected data are documents."""
    return _view(page, corpus, owner, None, records_state=True)


def refresh_guide(page: Page, corpus: str | None, owner: object) -> GuideView:
    """Show the panel after a run has changed, with what is inspected."""
    return _view(page, corpus, owner)


def poll_guide(page: Page, corpus: str | None, owner: object, guide_state: Value | None) -> GuideView | None:
    """Show the progress of a job and of the training run, also of another page of the visitor, and open the data that the job has made."""
    if corpus is not None and corpus not in page.corpora:
        gone = {"title": "These documents are no longer open here: choose data at the top.", "steps": []}
        view = GuideView(UNCHANGED, gone, inspected=None, pairs_file=_HIDDEN, negatives_file=_HIDDEN)
        return replace(view, documents_timer=props(active=False), guide_timer=props(active=False))
    selected, visitor = page.corpora.selected(corpus), page.visitor(owner)
    job, run = documents.latest_job(page, visitor, selected), documents.find_made(page, visitor, selected).run
    state, shown = _state(job, run), guide_state or {}
    if state == guide_state:
        return None if _is_active(job, run) else GuideView(UNCHANGED, UNCHANGED, UNCHANGED, props(active=False))
    made: str | Unchanged = UNCHANGED
    is_new = job is not None and state["job"] != shown.get("job") and not _is_elsewhere(page, job)
    if is_new and job is not None and isinstance(job.result, StepResult) and job.result.file:
        made = f"{job.result.file} {job.id}"
    return _view(page, corpus, owner, made=made, records_state=True)


def _is_elsewhere(page: Page, job: JobView) -> bool:
    """Return whether another page that is still open began a job: it opens what the job has made, this one keeps its own rows."""
    session = job.about.session if isinstance(job.about, JobTopic) else ""
    return session != session_id() and page.sessions.is_open(session)


def click_step(
    page: Page,
    corpus: str | None,
    owner: object,
    model: str | None,
    settings_form: Value,
    writing: WritingInputs,
    runs_version: int,
    selection: Selection,
) -> ClickedGuide:
    """Carry out an action of a step: start or stop its job, show or load its result, continue the run, or use the model."""
    selected, visitor, action, step = page.corpora.selected(corpus), page.visitor(owner), selection.action, str(selection.item)
    if action == "start":
        settings = GuideSettings(**parse_values(fields_of(GuideSettings), form_values(settings_form)))
        if step == PAIRS:
            documents.start_pairs(page, visitor, selected, model, settings, writing)
        elif step == NEGATIVES:
            documents.start_negatives(page, visitor, selected, model, settings)
        elif step == COMPARISON:
            documents.start_comparison(page, visitor, selected)
    made = documents.find_made(page, visitor, selected)
    if action == "stop":
        job = documents.latest_job(page, visitor, selected)
        if job is not None:
            page.studio.document_jobs.stop(visitor, job.id)
    elif action == "show":
        shown = _passages_table(selected) if step == PASSAGES else made.about(step).get("shown")
        return ClickedGuide(_view(page, corpus, owner, shown))
    elif action == "ask":
        return ClickedGuide(_view(page, corpus, owner, _doubtful_table(made)))
    elif action == "load":
        file = made.negatives if step == NEGATIVES else made.pairs
        # The same file may be opened again.
        return ClickedGuide(_view(page, corpus, owner, made="" if file is None else f"{file.id} {secrets.token_hex(4)}"))
    elif action == RESUME and made.run is not None:
        with documents.SUBMITTING:
            if not page.studio.fine_tune.get_run(made.run.id).run.active:  # it is after a second click
                page.studio.fine_tune.resubmit(made.run.id)
        return ClickedGuide(_view(page, corpus, owner), chosen=made.run.id, runs_version=runs_version + 1)
    elif action == "use" and made.run is not None:
        return ClickedGuide(_view(page, corpus, owner), use_model(page, made.run.id, owner), props(selected=SEARCH))
    return ClickedGuide(_view(page, corpus, owner))


def answer_doubtful(page: Page, corpus: str | None, owner: object, selection: Selection) -> int | Unchanged:
    """Put a text that may be relevant into the basket, with the query and the visitor's judgment."""
    made = documents.find_made(page, page.visitor(owner), page.corpora.selected(corpus))
    doubtful = made.about(NEGATIVES).get("doubtful") or []
    row = selection.row(len(doubtful))
    if row is None or selection.action not in VERDICTS:
        return UNCHANGED
    query, text, _score = doubtful[row]
    return toggle_pair(page, owner, documents.doubtful_pair(query, text, VERDICTS[str(selection.action)]))


def open_made(
    page: Page, made: str, corpus: str | None, owner: object, model: str | None, saved_model: str, progress: gr.Progress | None = None
) -> FileView | None:
    """Open pairs that were just made as training data."""
    selected = page.corpora.selected(corpus)
    found = documents.find_made(page, page.visitor(owner), selected)
    file = next((one for one in (found.pairs, found.negatives) if one is not None and one.id == made.partition(" ")[0]), None)
    return None if file is None else open_file(page, file.path, file.name, model, saved_model, progress, selected.data_key)


def write_made(page: Page, step: str, corpus: str | None, owner: object) -> Path | None:
    """Return a copy of the pairs, or of the pairs with negatives, for a download."""
    found = documents.find_made(page, page.visitor(owner), page.corpora.selected(corpus))
    file = found.negatives if step == NEGATIVES else found.pairs
    copy = None if file is None else restore_form_file(page, owner, file.id)
    return None if copy is None else Path(copy)


def _view(
    page: Page,
    corpus: str | None,
    owner: object,
    inspected: Value | Unchanged | None = UNCHANGED,
    *,
    made: str | Unchanged = UNCHANGED,
    records_state: bool = False,
) -> GuideView:
    """Return the panel.

    Args:
        records_state: the state of the job counts as shown. Otherwise the next poll compares it with the one before: the job may have
            ended just now, and what it has made is still to be opened.
    """
    selected, visitor = page.corpora.selected(corpus), page.visitor(owner)
    if not documents.are_documents(selected):
        return GuideView(_HIDDEN, inspected=None, documents_timer=props(active=False), guide_timer=props(active=False))
    job, found = documents.latest_job(page, visitor, selected), documents.find_made(page, visitor, selected)
    return GuideView(
        guide=props(visible=True),
        steps=steps_view(page, selected, found, job),
        guide_state=_state(job, found.run) if records_state else UNCHANGED,
        documents_timer=props(active=not records_state or _is_active(job, found.run)),
        guide_timer=props(active=True),
        pairs_file=props(visible=found.pairs is not None),
        negatives_file=props(visible=found.negatives is not None),
        inspected=inspected,
        made=made,
    )


def _is_active(job: JobView | None, run: Run | None) -> bool:
    return (job is not None and job.active) or (run is not None and run.active)


def _state(job: JobView | None, run: Run | None) -> Value:
    """Return what the steps show of the job and of the training run."""
    return {"job": job_state(job, with_seconds=False), "run": None if run is None else [run.id, run.status, _run_share(run)]}


def _run_share(run: Run) -> str:
    return f"{progress_share(run.step, run.steps) or 0.0:.0%}"


def steps_view(page: Page, selected: SelectedCorpus, results: MadeData, job: JobView | None) -> Value:
    """Return the value of the ``steps`` view: for each step its title, status, one sentence and actions."""
    count, topic = documents.count_documents(selected), PAIRS if _topic(job) == ESTIMATE else _topic(job)
    running = topic if job is not None and job.active else ""
    title = (
        ngettext("You have {n} document and no pairs", "You have {n} documents and no pairs", count)
        if results.pairs is None
        else ngettext("{n} document", "{n} documents", count)
    )
    passages = 0 if selected.passages is None else len(selected.passages)
    steps = [
        _step(PASSAGES, "Passages", "done", _passages_text(passages), [("Show", "show")] if passages else []),
        _pairs_step(results, job),
        _negatives_step(results),
        _train_step(results.run, () if results.run is None else page.studio.fine_tune.list_actions(results.run), results.pairs is not None),
        _comparison_step(results),
        _step(USE, "Use", "", "The model finds passages in Search.", [("Use in Search", "use")] if _has_model(results.run) else []),
    ]
    for step in steps:
        own = job if step["name"] == topic else None
        if running:
            step["actions"] = [["Stop", "stop"]] if own else [one for one in step["actions"] if one[1] != "start"]
            step["status"] = "running" if own else step["status"]
        if own is not None and own.status != "finished":
            step["text"] = _job_text(own)
        if own is not None and own.status == "stopped":
            step["actions"] = [["Continue" if action == "start" else label, action] for label, action in step["actions"]]
    current = next((step for step in steps if not step["status"] and step["name"] != NEGATIVES), None)
    if current is not None and all(step["status"] != "running" for step in steps):
        current["status"] = "current"
    return {"title": title, "steps": steps}


def _step(name: str, title: str, status: str, text: str, actions: list[tuple[str, str]] | None = None) -> Value:
    return {"name": name, "title": title, "status": status, "text": text, "actions": [list(one) for one in actions or ()]}


def _job_text(job: JobView) -> str:
    """Return how far a job is, or why it has ended without a result."""
    if job.status == "stopped":
        return "Stopped. What was encoded and written so far is used when you continue."
    if job.status != "running":
        parts = [job.message, job.hint] if job.status == "failed" else ["waiting for its turn"]
        return join(" ", [to_sentence(part) for part in parts if part])
    if job.stopping:
        return "Stopping…"
    counted = _("{done} of {total}", done=f"{job.done:,}", total=f"{job.total:,}") if job.total else ""
    left = time_left(job.done, job.total, job.done / job.rate) if job.rate else ""
    return join("", [join(" · ", [part for part in (capitalize(job.phase), counted) if part]), left])


def _passages_text(passages: int) -> str:
    if not passages:
        return "Long texts are cut into passages that fit the model."
    return ngettext(
        "{n} passage that fits the model.", "{n} passages that fit the model, with some overlap for search; pairs have none.", passages
    )


def _passages_table(selected: SelectedCorpus) -> Value | None:
    """Return ten passages, spread over the documents, with the length in characters and where they are."""
    if selected.passages is None:
        return None
    texts, places = selected.passages.texts, selected.passages.places
    chosen = range(0, len(places), max(1, len(places) // _EXAMPLES))[:_EXAMPLES]
    rows = [[places[row].file, shorten(texts[row]), len(texts[row])] for row in chosen]
    columns = [column("File"), column("Passage", main=True), column("Characters", "count")]
    return table(columns, rows, caption="Ten passages")


def _pairs_step(results: MadeData, job: JobView | None) -> Value:
    text = results.about(PAIRS).get("text")
    if _topic(job) == ESTIMATE and job is not None and isinstance(job.result, StepResult):
        sentence = join(" ", [job.result.text, "Press the button again to write them."])
        return _step(PAIRS, "Pairs", "done" if text else "", sentence, [("Write queries", "start")])
    if not text:
        return _step(PAIRS, "Pairs", "", "A query and the passage that it should find.", [("Make pairs", "start")])
    return _step(PAIRS, "Pairs", "done", text, [("Show", "show"), ("Train on these", "load"), ("Make again", "start")])


def _negatives_step(results: MadeData) -> Value:
    about = results.about(NEGATIVES) if results.negatives is not None else {}
    if not about:
        text = "Optional: similar passages that do not answer the query."
        return _step(NEGATIVES, "Hard negatives", "", text, [("Mine hard negatives", "start")] if results.pairs is not None else [])
    count = len(about.get("doubtful") or ())
    doubtful = [(ngettext("Check {n} doubtful text", "Check {n} doubtful texts", count), "ask")] if count else []
    actions = [("Show", "show"), *doubtful, ("Train on these", "load"), ("Mine again", "start")]
    return _step(NEGATIVES, "Hard negatives", "done", about["text"], actions)


def _has_model(run: Run | None) -> bool:
    return run is not None and run.model_path is not None and not run.active


def _train_step(run: Run | None, actions: Collection[str], has_pairs: bool) -> Value:
    if run is None:
        text = "Check the settings, then press Start training." if has_pairs else "With the pairs, as with any other data."
        return _step(TRAIN, "Train", "", text)
    if run.active:
        return _step(TRAIN, "Train", "running", _("{name}: {share} done.", name=run.name, share=_run_share(run)))
    gain, status = gain_view(run), "done" if run.status == "finished" and _has_model(run) else ""
    if gain is None or not status:
        offered = [("Resume", RESUME)] if RESUME in actions else []
        return _step(TRAIN, "Train", status, to_sentence(_("{name}: {status}", name=run.name, status=run.status)), offered)
    values = {"name": run.name, "before": gain["before"], "after": gain["after"], "verdict": gain["verdict"]}
    text = (
        _("{name}: {before} before, {after} after, on held-out pairs: {verdict}.", **values)
        if gain["verdict"]
        else _("{name}: {before} before, {after} after, on held-out pairs.", **values)
    )
    return _step(TRAIN, "Train", "done", text)


def _comparison_step(results: MadeData) -> Value:
    about, run = results.about(COMPARISON), results.run
    same = _("Training kept the base model, so the search is the same before and after.")
    notes = [same] if run is not None and _has_model(run) and run.after.get("strength") == 0 else []
    if not about:
        text = notes[0] if notes else "Search with the old and the new model, and count what is found."
        return _step(COMPARISON, "Evaluate", "", text, [("Compare the search before and after", "start")] if _has_model(run) else [])
    return _step(COMPARISON, "Evaluate", "done", join(" ", [about["text"], *notes]), [("Show", "show"), ("Compare again", "start")])


def _topic(job: JobView | None) -> str:
    return job.about.step if job is not None and isinstance(job.about, JobTopic) else ""


def _doubtful_table(results: MadeData) -> Value | None:
    doubtful = results.about(NEGATIVES).get("doubtful") or []
    rows = [[shorten(query), shorten(text, _JUDGED), score] for query, text, score in doubtful]
    columns = [column("Query"), column("Passage", main=True), column("Score", "number")]
    caption = "Do these passages answer the query?"
    note = (
        "Similar: it answers the query. Dissimilar: it does not, and becomes a hard negative when you press Mine again. "
        "Your answers are added to the basket."
    )
    pairs = [(query, text) for query, text, _score in doubtful]
    return table(columns, rows, ids=list(range(len(rows))), pairs=pairs, caption=caption, note=note) if rows else None


def settings_form(studio: Studio) -> Value:
    """Return the form of the steps' settings."""
    fields = {field.name: field for field in fields_of(GuideSettings)}
    items = {name: describe_control(field, label=_LABELS[name]) for name, field in fields.items()}
    offered = studio.language_models.is_offered
    written = group([items["llm"], group([items[name] for name in _WRITING], row=True)], name="writing", visible=offered)
    values = {name: to_control_value(field, field.default) for name, field in fields.items()}
    return form_view("guide", [items["structure"], items["crop"], written, items["per_row"], items["margin"]], values)


def draw(page: Page, panel: Panel) -> None:
    """Draw the panel, hidden until documents are selected."""
    studio = page.studio
    with gr.Column(visible=False, elem_id="tune-guide", elem_classes=["sb-tight"]) as guide:
        own: dict[str, gr.components.Component] = {"steps": view("steps", elem_id="guide-steps")}
        with gr.Row(elem_classes=["sb-buttons"]):
            for step, name, label in ((PAIRS, "pairs_file", "Download pairs"), (NEGATIVES, "negatives_file", "Download with negatives")):
                write = partial(write_made, page, step)
                own[name] = download_button(label, write, [page.corpus, page.owner], elem_id=f"guide-{step}-file", visible=False)
        with gr.Accordion("Settings of pairs and negatives", open=False, elem_id="guide-settings"):
            own["settings_form"] = form(settings_form(studio), elem_id="guide-form")
            with gr.Accordion("Language model", open=False, visible=studio.language_models.is_offered, elem_id="guide-llm"):
                own |= endpoint_boxes(studio, "guide")
                own["instruction"] = gr.Textbox(INSTRUCTION, label="Instruction", lines=3, max_lines=8, elem_id="guide-instruction")
                own["examples"] = gr.Textbox(
                    label="Questions of your users, one per line",
                    lines=3,
                    max_lines=8,
                    max_length=documents.MAX_EXAMPLES,
                    elem_id="guide-examples",
                )
        own["inspected"] = view("table", elem_id="guide-inspected")
    # A State changed by an event outside the queue, such as the timer's, triggers no event; a textbox does. Outside of the column, whose
    # parts are all shown with it.
    own["made"] = gr.Textbox("", visible="hidden", label="made", elem_id="guide-made")
    panel.components |= {"guide": guide, "guide_state": shown_state("guide-state"), **own}


def connect(page: Page, panel: Panel) -> None:
    """Connect the events of the panel."""
    panel.on(page.data.change, show_guide, quiet=True)
    panel.on(page.runs_version.change, refresh_guide, quiet=True)
    panel.on([page.documents_timer.tick, page.guide_timer.tick], poll_guide, queue=False, trigger_mode="once", quiet=True)
    clicked = panel.on(panel["steps"].select, click_step, each=True, quiet=True)
    clicked.success(None, js="() => SB.revealShown('guide-inspected')")
    panel.on(panel["inspected"].select, answer_doubtful, output="basket_version", each=True, quiet=True)
    panel.on(panel["made"].change, open_made, task="tune", progress_on="preview")
