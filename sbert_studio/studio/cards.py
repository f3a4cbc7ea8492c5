"""The languages of a model, as its card names them."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..encoders.catalog import Catalog


def languages_of(catalog: Catalog, name: str) -> tuple[str, ...] | None:
    """The languages that the model's card names, or its base model's where that is bundled; ``None`` where nothing says."""
    from ..encoders.foreign import FOREIGN
    from ..encoders.storage.card import languages_in

    source = catalog.resolve(name)
    if source.kind == "foreign":
        return FOREIGN[source.name].languages
    found = languages_in(source.path)
    if not found and source.base is not None and (base := catalog.resolve(source.base)).kind == "bundled":
        found = languages_in(base.path)
    return found or None
