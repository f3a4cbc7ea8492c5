"""What stands in the Fine-tune form, kept by the browser and by the visitor's files, so that a reload brings it back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ....data.schema.overrides import SchemaOverrides
from ....errors import StudioError
from ...views import to_json
from . import drafts

if TYPE_CHECKING:
    from ...page import Page
    from .drafts import Draft

USE = "examples"
_SAMPLE, _FILE = "sample:", "file:"
_MOST = 500  # places of files that need not be looked for again
_TUPLES = ("columns", "scale", "order")


def remember(page: Page, owner: Any, draft: Draft, overrides: Mapping[str, Any], name: str, pinned: Sequence[str] = ()) -> dict[str, Any]:
    """A form as the browser keeps it; its files are kept here, those of a shared page in the visitor's part of the disk.

    Args:
        overrides: the settings that were chosen by hand, as the controls stand.
        name: what the new model is called.
        pinned: what the training is to be watched by, as its controls hold it.
    """
    said = as_changed(draft.asked) if draft.changes else draft.asked
    return {
        "file": _place(page, owner, draft.path, draft.saved_as, draft),
        "dev": _place(page, owner, draft.request.dev, "held-out examples"),
        "first": _place(page, owner, draft.request.first, "a first stage"),
        "choices": to_json(asdict(said)),
        "overrides": to_json(dict(overrides)),
        "name": name,
        "pinned": list(pinned),
    }


def restore(page: Page, owner: Any, saved: Any, model: str | None) -> Draft | None:
    """The draft of a form that :func:`remember` kept; ``None`` where there is none, or its file is gone. None of it is trusted."""
    known = saved if isinstance(saved, Mapping) else {}
    found = _found(page, owner, known.get("file"))
    if found is None:
        return None
    path, name = found
    try:
        draft = drafts.open_draft(page.studio, path, model, name=name)
        held, first = (_found(page, owner, known.get(part)) for part in ("dev", "first"))
        asked = draft.asking(
            choices=_choices(known.get("choices")),
            overrides={key: value for key, value in _mapping(known.get("overrides")).items() if isinstance(key, str)},
            dev=held[0] if held else None,
            first=first[0] if first else None,
        )
        again = drafts.checked(page.studio, asked, model)
        return draft if again.plan is None and draft.plan is not None else again
    except (StudioError, TypeError, ValueError):
        return None  # written by another version, or by hand


def as_changed(asked: SchemaOverrides) -> SchemaOverrides:
    """What was said of the columns; a mended file is written anew, and read without being told how."""
    return replace(asked, encoding=None, delimiter=None, header=None)


def _place(page: Page, owner: Any, path: object, name: str, draft: Draft | None = None) -> str:
    """What finds the file ``path`` again; empty where there is none, or it is too large to keep.

    Args:
        draft: what may have changed the file: then its table as it is now is kept.
    """
    from ....data.samples import list_samples

    if not isinstance(path, Path):
        return ""
    changes = draft.changes if draft is not None else ()
    sample = next((item.id for item in list_samples() if item.path == path and not changes), None)
    if sample is not None:
        return f"{_SAMPLE}{sample}"
    known = (page.visitor(owner), path, changes)
    if known not in page.form_files:
        if draft is not None and changes:
            path = page.downloads.path(draft.saved_as)
            draft.table.to_csv(path, guarded=False)
        kept = page.files.save(known[0], path, name if Path(name).suffix else name + path.suffix, "", USE)
        if len(page.form_files) >= _MOST:
            page.form_files.clear()
        page.form_files[known] = "" if kept is None else f"{_FILE}{kept.id}"
    return page.form_files[known]


def _found(page: Page, owner: Any, place: Any) -> tuple[Path, str] | None:
    from ....data.samples import list_samples

    if not isinstance(place, str) or not place:
        return None
    if place.startswith(_SAMPLE):
        item = next((one for one in list_samples() if one.id == place.removeprefix(_SAMPLE)), None)
        return None if item is None else (item.path, item.path.name)
    try:
        kept = page.files.get(page.visitor(owner), place.removeprefix(_FILE))
    except StudioError:
        return None
    return kept.path, kept.name


def _choices(value: Any) -> SchemaOverrides:
    known = {item.name for item in fields(SchemaOverrides)}
    given = {
        name: tuple(one) if name in _TUPLES and isinstance(one, list) else one for name, one in _mapping(value).items() if name in known
    }
    return SchemaOverrides(**given)  # type: ignore[arg-type]


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}
