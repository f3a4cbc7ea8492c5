"""What a click changes in a draft's rows: a mend, a conversion, and the way back."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ....data.choices.column_choices import ColumnChoices
from ....errors import StudioError
from .drafts import Draft, as_file, checked

if TYPE_CHECKING:
    from ....services import Studio


def changed(studio: Studio, draft: Draft, action: Any, which: Any, model: str | None) -> Draft:
    """The draft after a button of the findings; ``action`` and ``which`` come from the browser.

    Raises:
        StudioError: there is no such mend or offer.
    """
    if action == "undo":
        back = draft.asking(changes=(), choices=as_file(draft.asked))
        return checked(studio, replace(back, table=draft.original), model)
    return converted(studio, draft, which, model) if action == "convert" else mended(studio, draft, which, model)


def mended(studio: Studio, draft: Draft, index: Any, model: str | None) -> Draft:
    """The draft after the mend of finding ``index``.

    Raises:
        StudioError: that finding has no mend.
    """
    findings = draft.diagnosis.findings if draft.diagnosis else ()
    mend = findings[index].mend if isinstance(index, int) and 0 <= index < len(findings) else None
    if mend is None:
        raise StudioError("that finding has no mend", "check the file again")
    done = draft.asking(changes=(*draft.changes, mend.label), choices=draft.asked.after(mend))
    return checked(studio, replace(done, table=studio.read.mend(draft.table, mend)), model)


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
    done = draft.asking(changes=(*draft.changes, offer.in_words()), choices=ColumnChoices(kind=offer.kind)).without_objective()
    return checked(studio, replace(done, table=table), model)
