"""Which model a command uses where none was named."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from .answers import say

if TYPE_CHECKING:
    from ..data.corpus import Corpus
    from ..data.loading.table import Table
    from ..studio import Studio


def model_for(studio: Studio, named: str | None, texts: Sequence[str] | Corpus | Table) -> str:
    """Return ``named``, or the usual model for the language of the texts; where that is not the default, stderr says so."""
    from ..data.corpus import Corpus
    from ..data.language import NAMES, languages_in, mostly_foreign
    from ..data.loading.table import Table

    if named:
        return named
    if isinstance(texts, Table):
        found = studio.read.languages(texts)
    else:
        found = texts.languages if isinstance(texts, Corpus) else languages_in(texts)
    model = studio.read.usual_model(found)
    say_model(studio, model, NAMES.get(mostly_foreign(found), ""))
    return model


def say_model(studio: Studio, model: str, language: str = "") -> None:
    """Say on stderr that the language of the texts chose ``model``, unless it is the default."""
    default = studio.settings.default_model
    if model != default:
        say(f"the texts are mostly {language or 'not English'}: using {model}; --model {default} for the English one")
