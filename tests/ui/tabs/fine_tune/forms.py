"""The Fine-tune form as a browser holds it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from sbert_studio.ui.page import Page
from sbert_studio.ui.tabs.fine_tune import view_model
from sbert_studio.ui.tabs.fine_tune.draft import Draft, open_draft
from sbert_studio.ui.tabs.fine_tune.view_model import displayed_settings, pins_form


def values_of(displayed: dict[str, object], **changed: object) -> dict[str, Any]:
    """Values of the form that shows some settings, with some changed by hand."""
    return {**view_model.settings_view(None, displayed)["values"], **changed}


def form_of(draft: Draft, **changed: object) -> dict[str, Any]:
    """The form that shows a draft, with some settings changed by hand."""
    return {"values": values_of(displayed_settings(draft), **changed), "revision": 1}


def open_path(page: Page, path: Path, model: str | None = None) -> Draft:
    return open_draft(page.studio, path, model)


def start(page: Page, key: str | None, form: dict[str, Any], model: str | None = None, owner: Any = None, name: str = "") -> str:
    """Press Start; return the id of the run."""
    from sbert_studio.ui.tabs.fine_tune.handlers import start_training

    return start_training(page, key, model, owner, name, 0, None, pins_form(), form).selected.chosen
