"""The form by which models are judged, as it stood: for the key that results are told by, and for a reload that fills it again."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from ...forms import form_key
from ...sessions import file_store
from .known import known_rows

if TYPE_CHECKING:
    from ...page import Page

FILE, SUITE, PUBLIC = "file", "suite", "public"
_USE = "judged"


@dataclass(frozen=True)
class Form:
    """What stands in the form.

    Attributes:
        models, source, path, suite, address, task, known: its parts, in the order of its controls.
        kept_path, kept_known: what finds its files again.
        model: that in the header.
    """

    models: tuple[str, ...] = ()
    source: str = ""
    path: str | None = None
    suite: str | None = None
    address: str | None = None
    task: str = "auto"
    known: str | None = None
    kept_path: str = ""
    kept_known: str = ""
    model: str = ""

    @property
    def key(self) -> str:
        """The same as long as the form says the same, as far as it counts."""
        file = [file_store.fingerprint(self.path), self.task, file_store.fingerprint(known_rows(self.task, self.known))]
        on: Any = {FILE: file, SUITE: self.suite, PUBLIC: (self.address or "").strip()}.get(self.source)
        return form_key(sorted(self.models or ()), self.source, on)

    def kept(self, page: Page, owner: Any, model: str) -> Form:
        """The form with its files kept, and the header's model."""
        path, known = (file_store.save_form_file(page, owner, one, _USE) for one in (self.path, self.known))
        return replace(self, models=tuple(self.models or ()), kept_path=path, kept_known=known, model=model or "")

    def found(self, page: Page, owner: Any) -> Form:
        """The form with its files where an upload box may hold them; without those that are gone."""
        path, known = (file_store.restore_form_file(page, owner, one) if one else None for one in (self.kept_path, self.kept_known))
        return replace(self, path=path, known=known)
