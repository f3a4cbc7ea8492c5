"""Languages of models and texts: warnings and the choice of the default model."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..errors import StudioError
from ..settings import MULTILINGUAL_MODEL

if TYPE_CHECKING:
    from ..data.corpus import Corpus
    from ..models.base import Encoder
    from ..models.catalog import Catalog
    from ..models.static.tokens import Coverage
    from ..settings import Settings


def model_languages(catalog: Catalog, name: str) -> tuple[str, ...] | None:
    """The languages that the model's card names, or its base model's where that is bundled; ``None`` where nothing says."""
    from ..models.card import read_languages
    from ..models.external import EXTERNAL_ENCODERS

    source = catalog.resolve(name)
    if source.kind == "foreign":
        return EXTERNAL_ENCODERS[source.name].languages
    found = read_languages(source.path)
    if not found and source.base is not None and (base := catalog.resolve(source.base)).kind == "bundled":
        found = read_languages(base.path)
    return found or None


def find_multilingual_model(catalog: Catalog, settings: Settings) -> str:
    """Return the name of a multilingual model: the one that was set, else the bundled one; ``""`` where neither can be used here."""
    names = (settings.multilingual, MULTILINGUAL_MODEL)
    return next((name for name in names if name and _is_here(catalog, name)), "")


def choose_default_model(catalog: Catalog, settings: Settings, found: Counter[str]) -> str:
    """Return the model that is used where none is chosen: another one than the default for texts that are mostly not English.

    Args:
        found: how many texts are in each language (:func:`sbert_studio.data.language.count_languages`).
    """
    from ..data.language import dominant_foreign_language

    other = settings.multilingual
    return other if other and dominant_foreign_language(found) and _is_here(catalog, other) else settings.default_model


def _is_here(catalog: Catalog, name: str) -> bool:
    if name == MULTILINGUAL_MODEL:
        return name in catalog.bundled()
    try:
        catalog.resolve(name)
    except StudioError:
        return False
    return True


def language_mismatch_notes(
    catalog: Catalog, model: str, found: Counter[str], what: str = "The texts", at_hand: str = ""
) -> tuple[str, ...]:
    """One sentence, or none; see :func:`sbert_studio.data.language.language_mismatch_note`.

    Args:
        found: how many texts are in each language (:func:`sbert_studio.data.language.count_languages`).
        at_hand: the model that the sentence proposes (:func:`multilingual_at_hand`).
    """
    from ..data.language import language_mismatch_note

    note = language_mismatch_note(found, model_languages(catalog, model), what, at_hand)
    return (note,) if note else ()


def unknown_word_notes(found: Coverage | None, texts: int, what: str = "the texts") -> tuple[str, ...]:
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


_READ = 200
_HARDLY = 0.5
_AT_MOST = 3
_UNSPACED = ("zh", "ja", "th")


@dataclass(frozen=True)
class ReadabilityWarning:
    """Most of a corpus is in a language or script that a model hardly reads.

    Attributes:
        words: what is wrong, in a sentence.
        readers: models at hand that were trained on the language, at most three.
        spaced: whether the texts part their words by spaces, so that a table of words could be made from them.
    """

    words: str
    readers: tuple[str, ...] = ()
    spaced: bool = True


def check_readability(
    catalog: Catalog, model: str, corpus: Corpus, at_hand: Iterable[str], encoder: Encoder | None = None, first: str = ""
) -> ReadabilityWarning | None:
    """What is to be said above everything that the model makes of the corpus, or ``None``.

    Args:
        at_hand: names of models that could be chosen instead.
        encoder: the model where it may be asked for its tokens; where not, its card alone is.
        first: the one of them that is proposed first, whichever the language is; empty for none.
    """
    from ..data.language import LANGUAGE_NAMES, dominant_foreign_language

    told = Counter({code: times for code, times in corpus.languages.items() if code})
    code = told.most_common(1)[0][0] if told else ""
    known = model_languages(catalog, model)
    others = sorted((name for name in at_hand if name != model), key=lambda name: name != first)
    readers = tuple(name for name in others if name == first or (code and code in (model_languages(catalog, name) or ())))[:_AT_MOST]
    spaced = code not in _UNSPACED
    if known and (foreign := dominant_foreign_language(corpus.languages, known)):
        return ReadabilityWarning(
            f"Most texts of {corpus.name} look like {LANGUAGE_NAMES.get(foreign, foreign)}, which this model was not trained on: "
            "its scores say little about them.",
            readers,
            spaced,
        )
    texts = corpus.texts[:: max(1, len(corpus.texts) // _READ)]
    share = 0.0 if encoder is None or encoder.tokens is None else encoder.tokens.unknown_share(texts)
    if share <= _HARDLY:
        return None
    what = "words" if encoder is not None and encoder.coverage(()) is not None else "tokens"
    return ReadabilityWarning(
        f"This model does not know {share:.0%} of the {what} of {corpus.name}: what it says is about the rest.",
        readers,
        spaced,
    )
