"""Handlers of the Fine-tune form (see :mod:`..panel`); those of the run are in :mod:`.run_panel`."""

from __future__ import annotations

import html
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import gradio as gr

from ....data.schema.roles import SchemaOverrides
from ....errors import StudioError
from ....i18n import _
from ....progress import checkpoint
from ....training.events import MAX_CHARACTERS, MAX_PAIRS, TrackedExamples
from ...components import answer_form, form_values
from ...handlers import progress_callback, warn
from ...sessions.language import notify_info
from ...sessions.tasks import TASKS, session_id
from ...state import FINE_TUNE, ModelUpdate, OtherTexts, SelectedCorpus, TrainingTable
from ...views import UNCHANGED, Unchanged, Update, Value, props
from . import draft as drafts
from .documents import MadeData, are_documents, find_made, keep_made
from .draft import Draft, restore_draft, save_draft
from .run_panel import select_run
from .view_model import (
    NO_PAIRS,
    DraftView,
    FileView,
    OpenedData,
    PinsView,
    PlanView,
    SettingsView,
    StartedRun,
    chosen_options,
    command_view,
    count_visible_pairs,
    deciding_values,
    default_settings,
    displayed_settings,
    draft_view,
    empty_draft,
    estimate_view,
    pin_names,
    pins_form,
    plan_view,
    read_overrides,
    reasons_view,
    settings_view,
    trainings_view,
)

if TYPE_CHECKING:
    from ....data.schema.roles import Kind
    from ...page import Page
    from ...panel import Selection


ESTIMATE = "estimate"
"""Task of the estimate of time and memory."""


@dataclass(frozen=True)
class ColumnInputs:
    kind: Kind | None
    columns: list[str] | None
    target: str | None
    low: float | None
    high: float | None
    group: str | None

    def choices(self) -> SchemaOverrides:
        scale = (float(self.low), float(self.high)) if self.low is not None and self.high is not None else None
        return SchemaOverrides(self.kind or None, tuple(self.columns or ()) or None, self.target or None, self.group or "", scale)


def show_data(
    page: Page,
    owner: object,
    corpus: str | None,
    draft: str | None,
    saved_form: object,
    model: str | None,
    saved_model: str,
    progress: gr.Progress | None = None,
) -> OpenedData | None:
    """Open the selected data as examples, with the form that the visitor left for it."""
    if draft and draft in page.drafts:
        return None
    selected = page.corpora.selected(corpus)
    results = find_made(page, page.visitor(owner), selected) if are_documents(selected) else MadeData()
    keep_made(page, page.visitor(owner), results)
    made = results.newest
    if isinstance(saved_form, dict) and saved_form.get("data") == selected.data_key:
        restored = restore_draft(page, owner, saved_form, model)
        # Another page of this visitor may have stored its form with the documents themselves after the pairs were made.
        if restored is not None and (made is None or restored.path != selected.path):
            restored = replace(restored, data=selected.data_key)
            view = draft_view(page, page.drafts.put(restored), restored, model)
            return OpenedData(FileView(view), str(saved_form.get("name") or ""), restore_pins(saved_form.get("pinned")))
    if made is None and page.studio.documents.is_source(selected.path):
        plan = PlanView(start=props(variant="secondary"))  # the button to press is that of the pairs
        return OpenedData(FileView(replace(empty_draft(), preview=NO_PAIRS, plan=plan)))
    path, name = (selected.path, _name(selected)) if made is None else (made.path, made.name)
    return OpenedData(open_file(page, path, name, model, saved_model, progress, selected.data_key))


def use_selected_data(
    page: Page, owner: object, corpus: str | None, model: str | None, saved_model: str, progress: gr.Progress | None = None
) -> OpenedData | None:
    """Open the selected data instead of rows passed by another tab."""
    return show_data(page, owner, corpus, None, None, model, saved_model, progress)


def clear_data(other_texts: OtherTexts | None = None) -> OpenedData:
    """Forget the examples of other data with everything derived from them: settings, estimate, reasons and the name of the model.

    Args:
        other_texts: texts that the banner warns of; those of a file are forgotten, typed ones are still there.
    """
    header = ModelUpdate(other_texts=None) if other_texts is not None and other_texts.name else ModelUpdate()
    plan = PlanView(settings_view(None, default_settings()), None, None, None, props(variant="primary"), None, None)
    return OpenedData(FileView(replace(empty_draft(), plan=plan), header), "")


def _name(selected: SelectedCorpus) -> str | None:
    return None if selected.id.startswith("sample:") else selected.corpus.name


def open_tab(training_table: TrainingTable | None) -> Update | Unchanged:
    return UNCHANGED if training_table is None else props(selected=FINE_TUNE)


def open_training_table(
    page: Page, training_table: TrainingTable | None, model: str | None, saved_model: str, progress: gr.Progress | None = None
) -> FileView | None:
    if training_table is None:
        return None
    return open_file(page, training_table.path, training_table.name, model, saved_model, progress)


def open_file(
    page: Page, path: Path, name: str | None, model: str | None, saved_model: str, progress: gr.Progress | None, data: str = ""
) -> FileView:
    draft, fitting, header = open_fitting(page, path, name, model, saved_model, progress)
    draft = replace(draft, data=data)
    checkpoint()  # a draft that no page will show must not become the newest
    return FileView(draft_view(page, page.drafts.put(draft), draft, fitting), header)


def open_fitting(
    page: Page, path: Path, name: str | None, model: str | None, saved_model: str, progress: gr.Progress | None = None
) -> tuple[Draft, str, ModelUpdate]:
    """Return the rows of a file, the model that fits its language, and the update that selects it (see :meth:`.page.Page.fit_model`).

    The rows are not checked yet, so that they are shown at once: :func:`check_draft` does it when the draft has been drawn.
    """
    table = page.studio.data.read_table(path, name, progress_callback(progress, "Reading"))
    fitting, header = page.fit_model(model, saved_model, name or path.name, page.studio.data.count_languages(table))
    return drafts.preview_draft(path, fitting, name, table), fitting, header


def check_draft(page: Page, draft: str | None, corpus: str | None, progress: gr.Progress | None = None) -> DraftView | None:
    """Check the rows of a draft that was just opened, and choose its settings."""
    opened = page.drafts.get(draft) if draft and draft in page.drafts else None
    if opened is not None and _is_of_other_data(page, opened, corpus):
        # It was opened or checked while other data was being selected. Cleared, the tab asks for the rows of the selected data, unless they
        # are on their way: if they are checked, they were shown before this draft, whose answer came too late.
        newest = page.drafts.last()
        return clear_data().file.view if newest == draft or (newest and page.drafts.get(newest).is_checked) else None
    if opened is None or opened.is_checked:
        return None
    checked = drafts.plan_again(page.studio, opened, opened.request.model, progress_callback(progress, "Checking"))
    # Other data may have been opened, or another model chosen, in the meantime.
    if draft not in page.drafts or page.drafts.last() != draft or page.drafts.get(draft) is not opened:
        return None
    return draft_view(page, page.drafts.put(checked, draft), checked, opened.request.model)


def _is_of_other_data(page: Page, draft: Draft, corpus: str | None) -> bool:
    if corpus and corpus not in page.corpora:
        return False  # it left the memory, which is no other data
    return draft.data not in ("", page.corpora.selected(corpus).data_key)


def change_columns(page: Page, draft: str, model: str | None, inputs: ColumnInputs) -> DraftView | None:
    current, chosen = page.drafts.get(draft), inputs.choices()
    if drafts.has_columns(current, chosen):
        return None
    return _show(page, drafts.with_columns(page.studio, current, chosen, model), model)


def change_rows(page: Page, draft: str, model: str | None, selection: Selection) -> DraftView:
    changed = drafts.change_rows(page.studio, page.drafts.get(draft), selection.action, selection.item, model)
    return _show(page, changed, model)


def write_changed_file(page: Page, draft: str | None) -> Path:
    """Write the changed file as a CSV with exactly the rows used for training."""
    current = page.drafts.get(draft)
    path = page.downloads.path(current.file_name)
    current.table.to_csv(path, guarded=False)
    return path


def change_dev_file(page: Page, draft: str | None, dev: str | None, model: str | None) -> DraftView | None:
    if draft is None:
        return None
    changed = page.drafts.get(draft).with_request(dev=Path(dev) if dev else None)
    return _show(page, drafts.plan_again(page.studio, changed, model), model)


def change_first_file(page: Page, draft: str | None, first: str | None, model: str | None) -> DraftView | None:
    if draft is None:
        return None
    return _show(page, drafts.with_first_stage(page.studio, page.drafts.get(draft), Path(first) if first else None, model), model)


def change_model(page: Page, draft: str | None, model: str | None) -> DraftView | None:
    """Plan again for another model, because its tokens and its evidence for the columns differ."""
    current = page.drafts.get(draft) if draft else None
    if current is None or current.request.model == model:
        return None
    changed = drafts.plan_again(page.studio, current, model)
    # Another file may have been selected in the meantime, and its response may have arrived first.
    return draft_view(page, page.drafts.put(changed, draft), changed, model) if page.drafts.last() == draft else None


def answer_question(page: Page, draft: str, model: str | None, settings: Value, selection: Selection) -> DraftView:
    current = page.drafts.get(draft)
    edited = current.with_request(overrides=_overrides(current, settings))
    answered = drafts.answer_question(page.studio, edited, selection.item, model)
    return _show(page, answered, model, settings)


def start_training(
    page: Page,
    draft: str | None,
    model: str | None,
    owner: object,
    name: str,
    runs_version: int,
    corpus: str | None,
    pins: Value,
    settings: Value,
) -> StartedRun:
    TASKS.stop(session_id(), ESTIMATE, replaced=True)  # the run would wait for its end
    pinned = parse_pins(pin_texts(pins))
    planned = _planned(page, draft, corpus, model, settings)
    run = drafts.start_run(page.studio, planned, page.visitor(owner), name, pinned)
    wanted = drafts.model_name(planned, name)
    if run.name != wanted:
        words = _(
            "Another model of yours is named “{wanted}”, so this one is named “{name}”.",
            wanted=html.escape(wanted),
            name=html.escape(run.name),
        )
        notify_info(words, title="Name changed")
    return StartedRun(_show(page, planned, model, settings), select_run(owner, run.id), runs_version + 1)


def estimate_training(page: Page, draft: str | None, model: str | None, corpus: str | None, settings: Value) -> DraftView | None:
    """Estimate time and memory with the form's settings; discard the result if they, or the rows, were changed in the meantime."""
    planned = _planned(page, draft, corpus, model, settings)
    before = _newest_choices(page)
    forecast = estimate_view(page.studio, planned)
    # An edit made just before the click may be answered during the estimate, which knows of it.
    if _newest_choices(page) not in (before, _choices(planned)):
        notify_info("Press the button again for the present settings.", title="The settings were changed during the estimate")
        return None
    return draft_view(page, page.drafts.put(planned), planned, model, settings, forecast)


def _newest_choices(page: Page) -> tuple[object, ...]:
    """Return what the visitor has chosen for the page's newest draft."""
    key = page.drafts.last()
    return _choices(page.drafts.get(key)) if key and key in page.drafts else ()


def _choices(draft: Draft) -> tuple[object, ...]:
    """Return what the visitor has chosen for a draft: its rows, columns and settings."""
    return draft.path, draft.changes, draft.choices, draft.request.dev, draft.request.first, draft.overrides


def change_settings(
    page: Page, owner: object, corpus: str | None, draft: str | None, name: str, model: str | None, pins: Value, settings: Value
) -> SettingsView:
    plan = _replan(page, draft, model, settings)
    return SettingsView(plan, store_form(page, owner, corpus, draft, name, pins))


def _replan(page: Page, key: str | None, model: str | None, settings: Value) -> PlanView:
    values = form_values(settings)
    if not key or key not in page.drafts:  # Start reports a draft that is no longer in memory
        return PlanView(settings=answer_form(settings, settings_view(None, default_settings(), values)))
    draft = page.drafts.get(key)
    before, kind = displayed_settings(draft), draft.diagnosis.roles.kind if draft.diagnosis else None
    try:
        planned = drafts.with_settings(page.studio, draft, model, read_overrides(values, before, draft.request.overrides))
    except StudioError as error:
        _warn_once(page, key, draft, chosen_options(values), chosen_options(before), error)
        return PlanView(settings=answer_form(settings, settings_view(kind, before, values)))
    if planned.plan is None:
        page.drafts.put(replace(planned, refused=()), key)
        return PlanView(settings=answer_form(settings, settings_view(kind, before, values)))
    after = displayed_settings(planned)
    # An estimate of the same settings may have been shown before this answer.
    forecast = UNCHANGED if _newest_choices(page) == _choices(planned) else None
    is_objective_gone = values.get("loss") not in ("auto", after["loss"])
    if deciding_values(before) == deciding_values(after) and not is_objective_gone:
        # No other setting depends on the edit, so the form stays as it is: the visitor may still be typing.
        page.drafts.put(replace(draft, edited=planned.request.overrides, refused=()), key)
        default = page.studio.settings.default_model
        return PlanView(
            reasons=reasons_view(planned),
            command=command_view(planned, model or "", default),
            forecast=forecast,
            trainings=trainings_view(page.studio, planned),
        )
    page.drafts.put(replace(planned, refused=()), key)
    return plan_view(page, planned, model, settings, forecast)


def _warn_once(page: Page, key: str, draft: Draft, chosen: tuple[str, ...], before: tuple[str, ...], error: StudioError) -> None:
    """Warn once if a choice has no effect on the plan; Start reports a number that is incompletely typed."""
    if chosen == before:
        return
    refused = (*chosen, str(error))
    if draft.refused != refused:
        warn(error)
    page.drafts.put(replace(draft, refused=refused), key)


def store_form(page: Page, owner: object, corpus: str | None, draft: str | None, name: str, pins: Value) -> Value | Unchanged:
    """Store the form in the browser. Its settings are those of the last response, because those sent by the browser may be older."""
    if not draft or draft not in page.drafts or _is_of_other_data(page, page.drafts.get(draft), corpus):
        return UNCHANGED
    saved = save_draft(page, owner, page.drafts.get(draft), name, pin_texts(pins))
    return saved | {"data": page.corpora.selected(corpus).data_key}


def restore_pins(stored: object) -> PinsView:
    """Restore the form of example pairs with the stored texts; unchanged if there are none."""
    count = len(pin_names())
    texts = [text[:MAX_CHARACTERS] if isinstance(text, str) else "" for text in stored] if isinstance(stored, list) else []
    if len(texts) != count or not any(texts):
        return PinsView()
    visible = max((place // 2 + 1 for place, text in enumerate(texts[:-1]) if text), default=1)
    return PinsView(pins_form(texts, visible), props(visible=visible < MAX_PAIRS), props(open=True))


def show_another_pair(pins: Value) -> PinsView:
    visible = min(MAX_PAIRS, count_visible_pairs(pins) + 1)
    return PinsView(answer_form(pins, pins_form(pin_texts(pins), visible)), props(visible=visible < MAX_PAIRS))


def pin_texts(pins: object) -> list[str]:
    values = form_values(pins)
    return [value if isinstance(value := values.get(name), str) else "" for name in pin_names()]


def parse_pins(texts: Sequence[str]) -> TrackedExamples | None:
    return TrackedExamples.parse(list(zip(texts[:-1:2], texts[1:-1:2], strict=True)), texts[-1])


def _planned(page: Page, key: str | None, corpus: str | None, model: str | None, settings: Value) -> Draft:
    if key:
        draft = page.drafts.get(key)
        if _is_of_other_data(page, draft, corpus):  # the answer with the rows of the selected data is still on its way
            raise StudioError("the selected data is still being read", "press the button again once its rows are shown")
        draft = draft if draft.is_checked else drafts.plan_again(page.studio, draft, model)
        overrides = _overrides(draft, settings)
    else:
        selected = page.corpora.selected(corpus)
        if page.studio.documents.is_source(selected.path):
            raise StudioError("there are documents, but no pairs to train on yet", "press Make pairs first")
        draft = drafts.open_draft(page.studio, selected.path, model, name=_name(selected))
        overrides = read_overrides(form_values(settings), default_settings(), {})
    return drafts.with_settings(page.studio, draft, model, overrides)


def _overrides(draft: Draft, settings: Value) -> dict[str, object]:
    return read_overrides(form_values(settings), displayed_settings(draft), draft.request.overrides)


def _show(page: Page, draft: Draft, model: str | None, sent: object = None) -> DraftView:
    return draft_view(page, page.drafts.put(draft), draft, model, sent)
