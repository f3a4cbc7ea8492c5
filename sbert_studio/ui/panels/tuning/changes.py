"""What a click changes in a draft's rows: a fix, a conversion, and the way back."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ....data.schema.overrides import SchemaOverrides
from ....errors import StudioError
from .drafts import Draft, as_file, checked

if TYPE_CHECKING:
    from ....services import Studio


def changed(studio: Studio, draft: Draft, action: Any, which: Any, model: str | None) -> Draft:
    """The draft after a button of the findings; ``action`` and ``which`` come from the browser.

    Raises:
        StudioError: there is no such fix or conversion.
    """
    if action == "undo":
        back = draft.asking(changes=(), choices=as_file(draft.asked))
        return checked(studio, replace(back, table=draft.original), model)
    return converted(studio, draft, which, model) if action == "convert" else apply_fix(studio, draft, which, model)


def apply_fix(studio: Studio, draft: Draft, index: Any, model: str | None) -> Draft:
    """Return the draft after the fix of finding ``index``.

    Raises:
        StudioError: that finding has no fix.
    """
    findings = draft.diagnosis.findings if draft.diagnosis else ()
    fix = findings[index].fix if isinstance(index, int) and 0 <= index < len(findings) else None
    if fix is None:
        raise StudioError("that finding has no fix", "check the file again")
    done = draft.asking(changes=(*draft.changes, fix.label), choices=draft.asked.after(fix))
    return checked(studio, replace(done, table=studio.read.fix(draft.table, fix)), model)


def converted(studio: Studio, draft: Draft, name: Any, model: str | None) -> Draft:
    """The draft with its examples made into those of another kind; an objective of one's own does not outlive that.

    Raises:
        StudioError: that conversion is not offered.
    """
    diagnosis = draft.diagnosis
    offer = next((offer for offer in diagnosis.offers if offer.name == name), None) if diagnosis else None
    if offer is None or diagnosis is None:
        raise StudioError("that conversion does not fit this file", "check the file again")
    table = studio.read.convert(draft.table, offer.name, diagnosis.roles, model)
    done = draft.asking(changes=(*draft.changes, offer.describe()), choices=SchemaOverrides(kind=offer.kind)).without_objective()
    return checked(studio, replace(done, table=table), model)
