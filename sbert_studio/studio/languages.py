"""What is said where a model is asked about texts in a language that it was not trained on."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from .cards import languages_of

if TYPE_CHECKING:
    from ..encoders.catalog import Catalog


def foreign_notes(catalog: Catalog, model: str, found: Counter[str], what: str = "The texts") -> tuple[str, ...]:
    """One sentence, or none; see :func:`sbert_studio.data.language.foreign_note`.

    Args:
        found: how many texts are in each language (:func:`sbert_studio.data.language.languages_in`).
    """
    from ..data.language import foreign_note

    note = foreign_note(found, languages_of(catalog, model), what)
    return (note,) if note else ()
