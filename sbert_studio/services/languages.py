"""Languages of texts and models: the default model, and warnings if a model does not fit the texts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING

from ..data.corpus import Corpus
from ..data.language import LANGUAGE_NAMES, count_languages, dominant_foreign_language, language_mismatch_note
from ..data.schema.content import kept_as_texts
from ..errors import StudioError
from ..i18n import _, join, ngettext, to_sentence
from ..models.base import Encoder
from ..models.prompts import Role
from ..progress import checkpoint
from ..settings import MULTILINGUAL_MODEL
from .resources import Service

if TYPE_CHECKING:
    from ..models.catalog import Catalog
    from ..models.static.tokens import Coverage

_SAMPLE_TEXTS = 200
_MAX_UNKNOWN_SHARE = 0.5
_MAX_ALTERNATIVES = 3
_BLOCK = 1_024
_SURELY_LONG = 32  # characters per token of the limit: the rest of a longer text need not be counted
_UNSEGMENTED = ("zh", "ja", "th")


@dataclass(frozen=True)
class ReadabilityWarning:
    """Most of a corpus is in a language or script that the model barely supports.

    Attributes:
        message: one sentence.
        alternatives: up to three available models trained on the language.
        is_spaced: whether words are separated by spaces, so that static embeddings could be trained on the corpus.
    """

    message: str
    alternatives: tuple[str, ...] = ()
    is_spaced: bool = True


class LanguageService(Service):
    """Languages of texts and models."""

    @property
    def multilingual(self) -> str:
        """Name of a multilingual model that needs no download: the configured one, else the bundled one; ``""`` if neither."""
        names = (self.settings.multilingual, MULTILINGUAL_MODEL)
        return next((name for name in names if name and self._is_available(name)), "")

    def default_model(self, languages: Counter[str]) -> str:
        """Return the model to use if none is chosen: the multilingual one for texts that are mostly not English.

        Args:
            languages: number of texts by language (:func:`sbert_studio.data.language.count_languages`).
        """
        other = self.settings.multilingual
        return other if other and dominant_foreign_language(languages) and self._is_available(other) else self.settings.default_model

    def load(self, model: str | None, role: Role = "symmetric") -> Encoder:
        """Load a model (the default one if ``None``) with the prompt of ``role``."""
        return self.catalog.load(model or self.settings.default_model).for_role(role)

    def language_notes(self, texts: Sequence[str] | Corpus, model: str | None = None, subject: str = "The texts") -> tuple[str, ...]:
        """Return a sentence if the texts are in a language that the model was not trained on."""
        found = count_languages(texts) if isinstance(texts, Sequence) else texts.languages
        known = model_languages(self.catalog, model or self.settings.default_model)
        note = language_mismatch_note(found, known, subject, self.multilingual)
        return (note,) if note else ()

    def vocabulary_notes(self, texts: Sequence[str] | Corpus, encoder: Encoder, subject: str = "the texts") -> tuple[str, ...]:
        """Return a sentence if a static model lacks words of the texts. Counts over a corpus are cached."""
        if isinstance(texts, Sequence):
            return unknown_word_notes(encoder.coverage(texts), len(texts), subject)
        if encoder.coverage(()) is None:
            return ()
        from ..models.static.tokens import Coverage

        found = self._resources.coverages.get(
            (texts.digest, encoder.fingerprint), lambda: encoder.coverage(texts.texts) or Coverage(0, 0, 0), checkpoint
        )
        return unknown_word_notes(found, len(texts.texts), subject)

    def reading_notes(self, texts: Sequence[str] | Corpus, model: str | None = None) -> tuple[str, ...]:
        """Return :meth:`language_notes`, :meth:`vocabulary_notes` and :meth:`length_notes`."""
        encoder = self.load(model)
        return (*self.language_notes(texts, model), *self.vocabulary_notes(texts, encoder), *self.length_notes(texts, encoder))

    def corpus_notes(self, corpus: Corpus, model: str | None, encoder: Encoder) -> tuple[str, ...]:
        """Return notes for any result on the corpus: repeated texts, reading notes, language, vocabulary and length."""
        notes = (*corpus.reading_notes(), *corpus.repeat_notes(), *kept_as_texts(corpus.notes), *self.language_notes(corpus, model))
        return (*notes, *self.vocabulary_notes(corpus, encoder), *self.length_notes(corpus, encoder))

    def length_notes(self, corpus: Sequence[str] | Corpus, encoder: Encoder) -> tuple[str, ...]:
        """Return a sentence if the model reads only the beginning of some texts. Counts over a corpus are cached."""
        if isinstance(corpus, Sequence):
            return long_text_notes(count_long_texts(corpus, encoder), len(corpus), encoder.max_length)
        read = corpus if corpus.passages is None else corpus.passages
        key = read.digest, encoder.fingerprint
        long = self._resources.long_texts.get(key, lambda: count_long_texts(read.texts, encoder), checkpoint)
        notes = long_text_notes(long, len(read), encoder.max_length)
        return (*notes, "To use all of their text, cut them into passages (--passages on the command line).") if notes else ()

    def check_readability(self, corpus: Corpus, candidates: Sequence[str], model: str | None = None) -> ReadabilityWarning | None:
        """Return a warning if the model was not trained on the language of most texts, or does not know most of their tokens.

        No model is downloaded for the check.

        Args:
            candidates: models that may be suggested instead, the multilingual one first.
        """
        name, preferred = model or self.settings.default_model, self.multilingual
        encoder = self.catalog.load(name) if self.catalog.resolve(name).path is not None else None
        known = Counter({code: count for code, count in corpus.languages.items() if code})
        code = known.most_common(1)[0][0] if known else ""
        languages = model_languages(self.catalog, name)
        others = sorted((other for other in candidates if other != name), key=lambda other: other != preferred)
        readers = [other for other in others if other == preferred or (code and code in (model_languages(self.catalog, other) or ()))]
        alternatives, is_spaced = tuple(readers[:_MAX_ALTERNATIVES]), code not in _UNSEGMENTED
        if languages and (foreign := dominant_foreign_language(corpus.languages, languages)):
            return ReadabilityWarning(
                _(
                    "Most texts of {name} look like {language_names}, which this model was not trained on: its scores are unreliable here.",
                    name=corpus.name,
                    language_names=LANGUAGE_NAMES.get(foreign, foreign),
                ),
                alternatives,
                is_spaced,
            )
        if encoder is None or encoder.tokens is None:
            return None
        share = encoder.tokens.unknown_share(corpus.texts[:: max(1, len(corpus.texts) // _SAMPLE_TEXTS)])
        if share <= _MAX_UNKNOWN_SHARE:
            return None
        unit = "tokens" if encoder.coverage(()) is None else "words"
        return ReadabilityWarning(
            _(
                "This model does not know {share} of the {unit} of {name}: its results are based only on the rest.",
                share=f"{share:.0%}",
                unit=unit,
                name=corpus.name,
            ),
            alternatives,
            is_spaced,
        )

    def _is_available(self, name: str) -> bool:
        if name == MULTILINGUAL_MODEL:
            return name in self.catalog.bundled()
        try:
            self.catalog.resolve(name)
        except StudioError:
            return False
        return True


def model_languages(catalog: Catalog, name: str) -> tuple[str, ...] | None:
    """Return the languages listed in a model's card, or in that of its bundled base model; ``None`` if unknown."""
    from ..models.card import read_languages
    from ..models.external import EXTERNAL_ENCODERS

    source = catalog.resolve(name)
    if source.kind == "foreign":
        return EXTERNAL_ENCODERS[source.name].languages
    found = read_languages(source.path)
    if not found and source.base is not None and (base := catalog.resolve(source.base)).kind == "bundled":
        found = read_languages(base.path)
    return found or None


def count_long_texts(texts: Iterable[str], encoder: Encoder) -> int:
    """Return the number of texts with more tokens than the encoder reads.

    Of most texts the tokens need not be counted: an ASCII text has at most as many tokens as characters.
    """
    tokens, limit = encoder.tokens, encoder.max_length
    if tokens is None:
        return 0
    room, found, remaining = limit - tokens.count_tokens([""])[0], 0, iter(texts)
    while block := list(islice(remaining, _BLOCK)):
        checkpoint()
        longest = max(map(len, block))
        if 4 * longest <= room or (longest <= room and all(map(str.isascii, block))):
            continue
        unsure = [text[: _SURELY_LONG * limit] for text in block if len(text) * (1 if text.isascii() else 4) > room]
        found += sum(count > limit for count in tokens.count_tokens(unsure)) if unsure else 0
    return found


def long_text_notes(long: int, texts: int, limit: int) -> tuple[str, ...]:
    """Return one sentence if the model reads only the beginning of ``long`` of so many texts."""
    if not long:
        return ()
    return (
        ngettext(
            "{n} of {texts} texts is longer than the {limit} tokens that the model reads: the rest of it is not used.",
            "{n} of {texts} texts are longer than the {limit} tokens that the model reads: the rest of them is not used.",
            long,
            texts=f"{texts:,}",
            limit=f"{limit:,}",
        ),
    )


def unknown_word_notes(coverage: Coverage | None, texts: int, subject: str = "the texts") -> tuple[str, ...]:
    """Return one sentence if a static model lacks words of some texts.

    Args:
        coverage: coverage reported by the model; ``None`` if it has no unknown words.
        texts: number of texts.
    """
    if coverage is None or not (coverage.unknown or coverage.empty):
        return ()
    parts, total = [], coverage.known + coverage.unknown
    if coverage.unknown == 1:
        parts.append(
            _("1 of {total} words of {subject} is not in the model's vocabulary and is ignored", total=f"{total:,}", subject=subject)
        )
    elif coverage.unknown:
        parts.append(
            _(
                "{unknown} of {total} words of {subject} are not in the model's vocabulary and are ignored",
                unknown=f"{coverage.unknown:,}",
                total=f"{total:,}",
                subject=subject,
            )
        )
    if coverage.empty and texts == 1:
        parts.append("the text contains no known word, so its vector is zero and its scores are meaningless")
    elif coverage.empty:
        parts.append(
            _(
                "{empty} of {texts} texts contain no known word, so their vectors are zero and their scores are meaningless",
                empty=f"{coverage.empty:,}",
                texts=f"{texts:,}",
            )
        )
    note = join("; ", parts)
    return (to_sentence(note),)
