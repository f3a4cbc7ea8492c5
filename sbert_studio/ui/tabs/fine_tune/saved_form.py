"""The Fine-tune form as the browser stores it, with its files in the visitor's folder, so that a reload restores it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ....data.samples import list_samples
from ....data.schema.roles import SchemaOverrides
from ....errors import StudioError
from ...sessions.file_store import StoredFile
from ...views import Value, to_json
from .draft import Draft, open_draft, plan_again

if TYPE_CHECKING:
    from ...page import Page

PURPOSE = "examples"
_SAMPLE, _FILE = "sample:", "file:"
_MAX_FILES = 500  # whose ids are remembered
_TUPLES = ("columns", "scale", "order")


def save_draft(page: Page, owner: object, draft: Draft, name: str, pinned: Sequence[str] = ()) -> Value:
    """Return the form for the browser to store; its files are copied into the visitor's folder.

    Args:
        name: of the new model.
        pinned: texts of the example pairs to track, and the query.
    """
    # A changed file is written anew, and needs no choice of format.
    choices = replace(draft.choices, encoding=None, delimiter=None, header=None) if draft.changes else draft.choices
    return {
        "file": _file_id(page, owner, draft.path, draft.file_name, draft),
        "dev": _file_id(page, owner, draft.request.dev, "validation examples"),
        "first": _file_id(page, owner, draft.request.first, "first stage"),
        "choices": to_json(asdict(choices)),
        "overrides": to_json(draft.overrides),
        "name": name,
        "pinned": list(pinned),
    }


def restore_draft(page: Page, owner: object, saved: object, model: str | None) -> Draft | None:
    """Return the draft of a stored form, which anybody can have written; ``None`` if there is none, or its file is gone."""
    stored = _mapping(saved)
    found = _find_file(page, owner, stored.get("file"))
    if found is None:
        return None
    path, name = found
    try:
        draft = open_draft(page.studio, path, model, name=name)
        dev, first = (_find_file(page, owner, stored.get(part)) for part in ("dev", "first"))
        changed = draft.with_request(
            choices=_column_choices(stored.get("choices")),
            overrides={key: value for key, value in _mapping(stored.get("overrides")).items() if isinstance(key, str)},
            dev=dev[0] if dev else None,
            first=first[0] if first else None,
        )
        restored = plan_again(page.studio, changed, model)
        return draft if restored.plan is None and draft.plan is not None else restored
    except (StudioError, TypeError, ValueError):
        return None  # of another version, or made up


def _file_id(page: Page, owner: object, path: object, name: str, draft: Draft | None = None) -> str:
    """Return the id by which a file is found again; empty without a file, or if it is too large to store.

    Args:
        draft: whose table is stored instead of the file if it was changed.
    """
    if not isinstance(path, Path):
        return ""
    changes = draft.changes if draft is not None else ()
    sample = next((item.id for item in list_samples() if item.path == path and not changes), None)
    if sample is not None:
        return f"{_SAMPLE}{sample}"
    key = (page.visitor(owner), path, changes)
    if key not in page.form_files:
        if draft is not None and changes:
            path = page.downloads.path(draft.file_name)
            draft.table.to_csv(path, guarded=False)
        stored = page.files.save(key[0], path, name if Path(name).suffix else name + path.suffix, "", PURPOSE)
        if len(page.form_files) >= _MAX_FILES:
            page.form_files.clear()
        page.form_files[key] = "" if stored is None else f"{_FILE}{stored.id}"
    return page.form_files[key]


def _find_file(page: Page, owner: object, file_id: object) -> tuple[Path, str] | None:
    if not isinstance(file_id, str) or not file_id:
        return None
    if file_id.startswith(_SAMPLE):
        sample = next((one for one in list_samples() if one.id == file_id.removeprefix(_SAMPLE)), None)
        return None if sample is None else (sample.path, sample.path.name)
    try:
        stored: StoredFile = page.files.get(page.visitor(owner), file_id.removeprefix(_FILE))
    except StudioError:
        return None
    return stored.path, stored.name


def _column_choices(value: object) -> SchemaOverrides:
    names = {item.name for item in fields(SchemaOverrides)}
    values = {
        name: tuple(one) if name in _TUPLES and isinstance(one, list) else one for name, one in _mapping(value).items() if name in names
    }
    return SchemaOverrides(**values)  # type: ignore[arg-type]


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}
