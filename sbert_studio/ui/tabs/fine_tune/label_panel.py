"""Suspicious labels of a finished run: they are checked, and the file with corrected labels and without dropped rows opens as new data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from ....data.schema.roles import SchemaOverrides
from ....errors import StudioError
from ....runs.files import RunFiles
from ....services.questions import overrides_from_json
from ....services.training_plan import TrainRequest
from ...handlers import progress_callback
from ...views import UNCHANGED, Unchanged, Value
from . import draft as drafts
from .draft import Draft
from .run_panel import labels_view
from .view_model import DraftView, draft_view

if TYPE_CHECKING:
    import gradio as gr

    from ....services import Studio
    from ...page import Page
    from ...panel import Selection
    from ...run_view import FollowedRun


@dataclass(frozen=True)
class CheckedLabels:
    labels: Value | Unchanged | None = UNCHANGED
    view: DraftView | Unchanged = UNCHANGED


def use_labels(
    page: Page, followed: FollowedRun, model: str | None, selection: Selection, progress: gr.Progress | None = None
) -> CheckedLabels:
    """Check the labels of the followed run, or open its file with the corrections that the visitor made in the list."""
    studio, run_id = page.studio, followed.run_id
    if selection.action == "check":
        studio.labels.check_run(run_id, progress_callback(progress, "Checking labels"))
        return CheckedLabels(labels_view(studio, studio.store.get(run_id)))
    sent = selection.item if isinstance(selection.item, Mapping) else {}
    if sent.get("run") != run_id or not isinstance(sent.get("edits"), Mapping):
        raise StudioError("this list belongs to another run", "select the run again")
    edits = {int(row): label for row, label in sent["edits"].items() if str(row).isdecimal() and isinstance(label, str | None)}
    labels = {row: label for row, label in edits.items() if label is not None}
    fixed = _corrected(studio, run_id, labels, [row for row, label in edits.items() if label is None], model)
    return CheckedLabels(view=draft_view(page, page.drafts.put(fixed), fixed, model))


def _corrected(studio: Studio, run_id: str, labels: Mapping[int, str], dropped: list[int], model: str | None) -> Draft:
    fixes, table = studio.labels.correction(run_id, labels, dropped), studio.labels.read_run_table(run_id)
    files = RunFiles(studio.workspace.run(run_id))
    plan = files.plan()
    choices = SchemaOverrides(**overrides_from_json((plan.get("choices") or {}).get("data") or {}))
    request = TrainRequest(files.path("data"), choices=choices, overrides=dict(plan.get("overrides") or {}), model=model)
    draft = Draft(files.source()["data"]["name"], files.path("data"), table, studio.data.fix(table, fixes), request)
    changed = draft.with_request(changes=tuple(fix.label for fix in fixes))
    return drafts.plan_again(studio, replace(changed, is_checked=True), model)
