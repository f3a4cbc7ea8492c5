"""What is said where a model is asked about texts in a language that it was not trained on, or about words that it does not know."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from .cards import languages_of

if TYPE_CHECKING:
    from ..encoders.catalog import Catalog
    from ..wordvectors.tokens import Coverage


def foreign_notes(catalog: Catalog, model: str, found: Counter[str], what: str = "The texts") -> tuple[str, ...]:
    """One sentence, or none; see :func:`sbert_studio.data.language.foreign_note`.

    Args:
        found: how many texts are in each language (:func:`sbert_studio.data.language.languages_in`).
    """
    from ..data.language import foreign_note

    note = foreign_note(found, languages_of(catalog, model), what)
    return (note,) if note else ()


def unknown_notes(found: Coverage | None, texts: int, what: str = "the texts") -> tuple[str, ...]:
    """One sentence where a table of words does not know all of some texts, or none.

    Args:
        found: what the model's ``coverage`` counted; ``None`` of a model that reads every word.
        texts: how many there are.
        what: what they are called.
    """
    if found is None or not (found.unknown or found.empty):
        return ()
    said = []
    if found.unknown:
        one = found.unknown == 1
        said.append(
            f"{found.unknown:,} of {found.known + found.unknown:,} words of {what} {'is' if one else 'are'} not in the model's table and "
            f"{'is' if one else 'are'} passed over"
        )
    if found.empty:
        which = f"{found.empty:,} of {texts:,} texts {'holds' if found.empty == 1 else 'hold'}" if texts > 1 else "it holds"
        said.append(f"{which} no word that it knows: a vector of zeros, whose scores say nothing")
    note = "; ".join(said)
    return (f"{note[:1].upper()}{note[1:]}.",)
