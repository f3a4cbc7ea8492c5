"""The languages of a model, as its card names them."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..encoders.catalog import Catalog

# "language: en", or a list of codes on the lines below.
_LANGUAGE = re.compile(r"^language:[ \t]*(\S.*|(?:\n[ \t]*-[ \t]*\S+)+)", re.MULTILINE)


def languages_of(catalog: Catalog, name: str) -> tuple[str, ...] | None:
    """The languages that the model's card names, or its base model's where that is bundled; ``None`` where nothing says."""
    from ..encoders.foreign import FOREIGN

    source = catalog.resolve(name)
    if source.kind == "foreign":
        return FOREIGN[source.name].languages
    found = _card_languages(source.path)
    if not found and source.base is not None and (base := catalog.resolve(source.base)).kind == "bundled":
        found = _card_languages(base.path)
    return found or None


def _card_languages(folder: Path | None) -> tuple[str, ...]:
    card = None if folder is None else folder / "README.md"
    if card is None or not card.is_file():
        return ()
    head = card.read_text(encoding="utf-8", errors="replace")[:20_000].split("\n---", 1)[0]
    found = _LANGUAGE.search(head)
    words = re.findall(r"[A-Za-z]+(?:-[A-Za-z]+)*", found[1]) if found else []
    return () if any(len(word) != 2 for word in words) else tuple(word.lower() for word in words)
