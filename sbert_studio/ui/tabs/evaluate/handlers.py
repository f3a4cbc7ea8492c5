"""Handlers of the form of the Evaluate tab and of background evaluation (see :mod:`..panel`)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from ....data.loading.hub import hub_address, parse_hub_address
from ....errors import StudioError
from ....evaluation.changes import SCORE_DIGITS
from ....evaluation.report import describe_metric
from ....i18n import _
from ....services.data_overview import describe_uses
from ....services.jobs import BeginPhase
from ....services.leaderboard import dataset_key, dataset_names, write_leaderboard
from ....services.questions import OpenQuestionsError, apply_answer
from ...components import NO_RERANKER, form_provenance
from ...page import Page
from ...panel import Selection
from ...sessions import file_store
from ...state import ModelUpdate, is_own_model
from ...views import UNCHANGED, Unchanged, Update, Value, chosen_option, column, placeholder, props, speed_cell, table
from .first_scores import first_scores
from .request import (
    AUTO,
    EVALUATE_AGAIN,
    FILE,
    PUBLIC,
    SUITE,
    EvaluationData,
    EvaluationForm,
    EvaluationOwner,
    EvaluationRequest,
    current_job,
    known_rows_file,
    last_request,
    reference_help,
    request_of,
)
from .retrieval import retrieval_result, searches_documents
from .view_model import (
    ComparedModels,
    EvaluationPanel,
    EvaluationView,
    FittingModels,
    FollowedData,
    FormParts,
    RestoredEvaluation,
    SourceGroups,
    SourceView,
    StartedEvaluation,
    TaskView,
    evaluation_result,
    evaluation_view,
    speed_chart,
)

if TYPE_CHECKING:
    import gradio as gr

    from ....data.retrieval import RetrievalSet
    from ....runs.scores import LeaderboardEntry
    from ....services.jobs import JobView

MAX_MODELS = 6
_STORED_AS = "judged"
_MAX_BYTES = 64 << 20  # maximum size of a file whose language is detected before the evaluation
_REPEAT = "press Evaluate again"


def start_form(page: Page, owner: object, model: str, saved_model: object, corpus: str | None, form: EvaluationForm) -> StartedEvaluation:
    data = form_data(page, form, corpus)
    form = replace(form, file=str(data.path)) if form.source == FILE and (form.file or corpus) else form
    form, fitting = fit_models(page, form, data, model, saved_model)
    _start_form(page, owner, model, form, corpus)
    return StartedEvaluation(show_evaluation(page, owner, corpus), fitting)


def follow_data(page: Page, owner: object, corpus: str | None, form: EvaluationForm) -> FollowedData:
    """Evaluate on newly selected data: clear the results of other data, and say what is missing if it has no answers to compare with."""
    selected = page.corpora.selected(corpus)
    last = last_request(page, owner, corpus)
    path, missing = str(selected.path), missing_note(page, corpus)
    group = _search_group(page, form.task, path)
    if last is not None and file_store.fingerprint(last.data.path) == file_store.fingerprint(selected.path):
        return FollowedData(path, group, missing, show_evaluation(page, owner, corpus))
    cleared = EvaluationView(None, "", None, props(visible=False), UNCHANGED) if form.source == FILE else UNCHANGED
    return FollowedData(path, group, missing, cleared)


def missing_note(page: Page, corpus: str | None) -> Value | None:
    """Return the note on what is missing in the selected data; ``None`` if models can be evaluated on it."""
    selected = page.corpora.selected(corpus)
    use = describe_uses(page.corpora.table(selected.path, selected.corpus.name), (selected.column,), selected.path)[-1]
    if use.is_possible:
        return None
    name = selected.corpus.name
    return {
        "text": _("{name} cannot be used to evaluate a model: {why}.", name=name, why=use.text),
        "theirs": page.corpora.user_names(selected),
    }


def show_first_scores(
    page: Page, owner: object, corpus: str | None, form: EvaluationForm, language: str, progress: gr.Progress | None = None
) -> EvaluationView | None:
    """Show what the tab opens with, unless the visitor has an evaluation or chose something else than their data."""
    selected, last = page.corpora.selected(corpus), last_request(page, owner, corpus)
    job = current_job(page, owner, corpus)
    if form.source != FILE or (job is not None and job.active):
        return None
    if last is not None and file_store.fingerprint(last.data.path) == file_store.fingerprint(selected.path):
        return show_evaluation(page, owner, corpus)
    found = first_scores(page, selected, language, progress)
    started = current_job(page, owner, corpus)
    if found is None or (started and started.id) != (job and job.id):
        return None  # the visitor has started an evaluation meanwhile, which is shown instead
    shown = EvaluationView(None, "", None, props(visible=False), UNCHANGED, conclusion=found.conclusion, scores=found.scores)
    return replace(shown, details=found.details, chart=found.chart, differences=found.differences)


def repeat_evaluation(page: Page, owner: object, model: str, form: EvaluationForm, corpus: str | None = None) -> EvaluationView:
    """Repeat the evaluation of the form. If its file was deleted, use that of the last evaluation, never a sample instead."""
    last = last_request(page, owner, corpus)
    if form.source == FILE and not form.file and last is not None and last.form.source == FILE and last.form.file:
        file = last.form.file if Path(last.form.file).is_file() else file_store.restore_form_file(page, owner, last.stored_file)
        if file is None:
            raise StudioError(_("the file {name} is no longer stored here", name=last.data.name), "upload it again, then press Evaluate")
        form = replace(form, file=file)
    _start_form(page, owner, model, form)
    return show_evaluation(page, owner, corpus)


def answer_question(page: Page, owner: object, selection: Selection, corpus: str | None = None) -> EvaluationView:
    job = current_job(page, owner, corpus)
    if job is None or not isinstance(job.error, OpenQuestionsError) or not isinstance(job.about, EvaluationRequest):
        raise StudioError("this question was already answered", _REPEAT)
    _, option = chosen_option(job.error.questions, selection.item, _REPEAT)
    data = replace(job.about.data, overrides=apply_answer(job.about.data.overrides, option.choice))
    start_evaluation(page, owner, replace(job.about, data=data))
    return show_evaluation(page, owner, corpus)


def show_evaluation(page: Page, owner: object, corpus: str | None = None) -> EvaluationView:
    return evaluation_view(current_job(page, owner, corpus))


def poll_evaluation(page: Page, owner: object, state: Value | None, corpus: str | None = None) -> EvaluationView | None:
    view = show_evaluation(page, owner, corpus)
    return None if view.state == state else view


def restore_evaluation(page: Page, owner: object, corpus: str | None = None) -> EvaluationView:
    """Show the latest evaluation on a page that has just been loaded, and has just drawn the leaderboard."""
    return replace(show_evaluation(page, owner, corpus), ended=UNCHANGED)


def stop_evaluation(page: Page, owner: object, job_id: str, corpus: str | None = None) -> EvaluationView:
    page.studio.evaluation_jobs.stop(page.visitor(owner), job_id)
    return show_evaluation(page, owner, corpus)


def choose_parts(page: Page, source: str, task: str, file: str | None) -> FormParts:
    """Show the parts of the form that belong to a source and a task."""
    return FormParts(choose_source(page, source), choose_task(page, task, file))


def choose_source(page: Page, source: str) -> SourceView:
    return SourceView(_source_groups(source), props(choices=suite_choices(page), info=suite_help(page)))


def choose_task(page: Page, task: str, file: str | None) -> TaskView:
    used = reference_help(task)
    return TaskView(props(visible=bool(used)), f'<p class="sb-note">{used}</p>', _search_group(page, task, file))


def _search_group(page: Page, task: str, file: str | None) -> Update:
    return props(visible=searches_documents(page, Path(file) if file else "", task))


def update_form_key(form: EvaluationForm) -> Value:
    """Return the value of the ``form`` view, with which a result is marked as outdated."""
    return {"form": "evaluate", "key": form.key}


def restore_form(page: Page, owner: object) -> RestoredEvaluation | None:
    """Restore the form of the visitor's last evaluation, without deleted models and files."""
    last = request_of(page.studio.evaluation_jobs.latest(page.visitor(owner)))
    if last is None or not last.form.source:
        return None
    form, stored = last.form, last.stored_known_rows
    known_rows = file_store.restore_form_file(page, owner, stored) if stored else None
    choices = _model_choices(page, owner)
    names = {name for _, name in choices}
    return RestoredEvaluation(
        models=props(choices=choices, value=[name for name in form.models or () if name in names or not is_own_model(name)]),
        source=form.source,
        suite=form.suite,
        public_set=form.public_set,
        task=form.task,
        known_rows=known_rows,
        groups=_source_groups(form.source),
        used=choose_task(page, form.task, form.file),
        reranker=form.reranker or "",
        passages=form.passages,
        header_model=last.header_model,
    )


def update_model_choices(page: Page, owner: object) -> tuple[Update, Update]:
    """Return the choices of models, and of re-rankers."""
    return props(choices=_model_choices(page, owner)), props(choices=[NO_RERANKER, *page.model_choices(owner, "pairs")])


def follow_header_model(
    page: Page, owner: object, model: str | None, saved_model: object, models: list[str] | None, typed_model: str, header_model: str
) -> ComparedModels:
    """Add the model in the header to the comparison once; remove deleted models and a previous name typed in the header."""
    choices = _model_choices(page, owner)
    known = {name for _, name in choices}
    joined = join_models(models or [], model or "", header_model, typed_model, is_chosen=bool(saved_model))
    now = [name for name in joined if name in known or not is_own_model(name)][:MAX_MODELS]
    # Do not send an unchanged value: it may have been set in the meantime by restoring the form.
    update = props(choices=choices) if now == models else props(choices=choices, value=now)
    return ComparedModels(update, "" if model in known else model or "", model or "")


def join_models(models: Sequence[str], model: str, previous: str, typed: str, *, is_chosen: bool) -> list[str]:
    """Return the models of a comparison after the header's model has changed from ``previous`` to ``model``.

    Args:
        typed: name typed in the header; the next one replaces it.
        is_chosen: whether the visitor selected the model. If not, it replaces ``previous`` if that is the only model.
    """
    new = [model] if model != previous else []
    replaced = {typed, previous} if new and not is_chosen and list(models) == [previous] else {typed}
    return list(dict.fromkeys(name for name in [*(name for name in models if name not in replaced), *new] if name))


def start_evaluation(page: Page, owner: object, request: EvaluationRequest) -> JobView:
    studio, visitor, data = page.studio, page.visitor(owner), request.data
    request = replace(request, models=select_models(request.models))
    titles = page.model_titles(owner, "texts", "pairs")
    name, shown = data.suite or data.name, [titles.get(model, model) for model in request.models]
    if request.run is not None:
        title = _("Models at hand on {name}", name=name)
    elif len(shown) > 1:
        title = _("{shown} models on {name}", shown=len(shown), name=name)
    else:
        title = _("{shown} on {name}", shown=shown[0], name=name)
    words = _("{=shown} · {name}", shown=", ".join(shown), name=name)
    provenance = form_provenance("evaluate", request.form.key, words, request.repeat_button, theirs=shown)
    whose = EvaluationOwner(visitor, titles, provenance)
    run = request.run or _evaluate
    return studio.evaluation_jobs.submit(visitor, title, lambda begin: run(page, request, whose, begin), about=request)


def _evaluate(page: Page, request: EvaluationRequest, whose: EvaluationOwner, begin: BeginPhase) -> EvaluationPanel:
    data, studio = request.data, page.studio
    name = data.suite or data.name
    if (judged := retrieval_set(page, request)) is not None:
        ranked = studio.retrieval.evaluate(request.models, judged, request.retrieval, owner=whose.visitor, begin_phase=begin)
        return retrieval_result(ranked, whose.titles, name, whose.provenance)
    found = studio.evaluation.evaluate_models(
        request.models,
        () if data.suite else (data.path,),
        request.task,
        data.suite,
        overrides=data.overrides,
        reference=data.known_rows,
        owner=whose.visitor,
        begin_phase=begin,
    )
    return evaluation_result(found, whose.titles, name, whose.provenance)


def retrieval_set(page: Page, request: EvaluationRequest) -> RetrievalSet | None:
    """Return the queries and documents of a request; ``None`` if it is for another task."""
    data = request.data
    if data.suite or not searches_documents(page, data.path, request.task):
        return None
    return replace(page.studio.retrieval.read(data.path, request.retrieval), name=data.name)


def select_models(models: Sequence[str] | None) -> tuple[str, ...]:
    """Return the models without duplicates.

    Raises:
        StudioError: there are none, or too many.
    """
    names = tuple(dict.fromkeys(name for name in models or () if isinstance(name, str) and name))
    if not 1 <= len(names) <= MAX_MODELS:
        raise StudioError(_("{names} models are selected", names=len(names)), _("choose 1 to {max_models}", max_models=MAX_MODELS))
    return names


def form_data(page: Page, form: EvaluationForm, corpus: str | None = None) -> EvaluationData:
    """Return the data of a form; its file may still be that of other data if ``corpus`` was selected a moment ago."""
    if form.source == PUBLIC:
        return public_set(form.public_set)
    if form.source == SUITE:
        if form.suite not in {name for _, name in suite_choices(page)}:
            raise StudioError("no suite is selected", suite_help(page))
        return EvaluationData("", form.suite or "", suite=form.suite or "")
    if form.file and not (corpus and corpus in page.corpora):
        path, sample = Path(form.file), page.corpora.sample()
        return EvaluationData(path, sample.corpus.name if path == sample.path else path.name)
    chosen = page.corpora.chosen(corpus)
    return EvaluationData(chosen.path, chosen.corpus.name)


def public_set(address: str | None) -> EvaluationData:
    """Return a public dataset on the Hugging Face Hub by its id or address.

    Raises:
        StudioError: it is neither.
    """
    text = hub_address(address or "")
    repository, file = parse_hub_address(text)
    return EvaluationData(text, f"{repository}/{file}".rstrip("/"))


def fit_models(
    page: Page, form: EvaluationForm, data: EvaluationData, model: str, saved_model: object
) -> tuple[EvaluationForm, FittingModels]:
    """Replace a model that the visitor did not select with the one for the file's language.

    Args:
        model: the model in the header.
        saved_model: the model selected by the visitor, if any.
    """
    if data.suite or not isinstance(data.path, Path):
        return form, FittingModels()
    try:
        if data.path.stat().st_size > _MAX_BYTES:
            return form, FittingModels()
        table = page.studio.data.read_table(data.path, overrides=data.overrides)
    except (OSError, StudioError):
        return form, FittingModels()  # the evaluation reports it
    fitting, header = page.fit_model(model, saved_model, data.name, page.studio.data.count_languages(table))
    if tuple(form.models or ()) != (model,):
        return form, FittingModels()  # selected explicitly; the evaluation reports which of them do not support the texts
    if fitting == model:
        return form, FittingModels(ModelUpdate(other_texts=header.other_texts))
    return replace(form, models=(fitting,)), FittingModels(header, [fitting], fitting)


def suite_choices(page: Page) -> list[tuple[str, str]]:
    return [
        (
            _("{name} · {parts} of {wanted} files", name=one.name, parts=one.parts, wanted=one.wanted)
            if one.parts < one.wanted
            else one.name,
            one.name,
        )
        for one in page.studio.evaluation.list_suites()
    ]


def suite_help(page: Page) -> str:
    if page.studio.evaluation.list_suites():
        return "Benchmarks from the literature that are available on this machine."
    folder = "" if page.shared else f": {page.studio.workspace.home / 'suites'}"
    return _("There are none on this machine. Put folders such as sts12/ or stsb/ into “suites” in the data folder{folder}", folder=folder)


def _start_form(page: Page, owner: object, model: str, form: EvaluationForm, corpus: str | None = None) -> None:
    start_evaluation(page, owner, form_request(page, owner, model, form, corpus))


def form_request(page: Page, owner: object, model: str, form: EvaluationForm, corpus: str | None = None) -> EvaluationRequest:
    data, last = form_data(page, form, corpus), last_request(page, owner, corpus)
    if last is not None and data.path and file_store.fingerprint(last.data.path) == file_store.fingerprint(data.path):
        data = replace(last.data, path=data.path)  # answers to questions about this file still apply
    task = form.task if form.source == FILE else AUTO
    data = replace(data, known_rows=known_rows_file(task, form.known_rows))
    return _request(page, owner, model, form, data, task)


def _request(
    page: Page, owner: object, model: str, form: EvaluationForm, data: EvaluationData, task: str, repeat_button: str = EVALUATE_AGAIN
) -> EvaluationRequest:
    models = select_models(form.models)
    file, known_rows = (file_store.save_form_file(page, owner, path, _STORED_AS) for path in (form.file, form.known_rows))
    return EvaluationRequest(
        data, models, task, replace(form, models=tuple(form.models or ())), file, known_rows, model or "", repeat_button
    )


def _model_choices(page: Page, owner: object) -> list[tuple[str, str]]:
    return page.model_choices(owner, "texts", "pairs")


def _source_groups(source: str) -> SourceGroups:
    return SourceGroups(*(props(visible=source == name) for name in (FILE, SUITE, PUBLIC)))


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


_MEASURED_ONCE = "Speeds without a range were measured only once: whether they differ is unknown."


def entries_table(entries: Sequence[LeaderboardEntry], is_one_set: bool = False) -> Value:
    if not entries:
        return NO_ENTRIES
    has_metric = not is_one_set or len({entry.metric for entry in entries}) > 1
    columns = [column("Model", main=True), column("Score", "bar", digits=SCORE_DIGITS), column("95% interval", "interval")]
    columns += [] if is_one_set else [column("Set", ours=True)]
    columns += [column("Metric", ours=True)] if has_metric else []
    columns += [column("Sentences/s", "speed"), column("Dimensions", "count"), column("When")]
    names = dataset_names(entries)
    rows = []
    for entry in entries:
        row: list[object] = [entry.title, entry.score, None if entry.low is None else [entry.low, entry.score, entry.high]]
        row += [] if is_one_set else [names[dataset_key(entry)]]
        row += [describe_metric(entry.metric)] if has_metric else []
        row += [speed_cell(entry.rate, entry.rate_spread), entry.dim or None, entry.created[:16].replace("T", " ")]
        rows.append(row)
    caption = "" if has_metric else _("{data} · {metric}", data=entries[0].data, metric=describe_metric(entries[0].metric))
    note = _MEASURED_ONCE if any(entry.rate and entry.rate_spread is None for entry in entries) else ""
    ids = [entry.id for entry in entries]
    return table(columns, rows, ids=ids, action="Select this entry", event="entry", caption=caption, note=note)


def entries_chart(entries: Sequence[LeaderboardEntry]) -> Value | None:
    """Return the chart of score against speed for one dataset, with the newest entry of each model; ``None`` for fewer than two."""
    newest = {entry.fingerprint: entry for entry in sorted(entries, key=lambda entry: entry.created) if entry.rate}
    shown = [entry for entry in entries if newest.get(entry.fingerprint) is entry and entry.metric == entries[0].metric]
    intervals = [None if entry.low is None or entry.high is None else (entry.low, entry.high) for entry in shown]
    points = [(entry.title, entry.rate, entry.rate_spread, entry.score, interval) for entry, interval in zip(shown, intervals, strict=True)]
    return speed_chart(points, shown[0].metric) if shown else None
