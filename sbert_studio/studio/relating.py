"""Verbs that explain a score: what is usual for a model, and which words made it."""

from __future__ import annotations

import csv
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from ..data.progress import checkpoint
from ..data.samples import ASSETS
from ..encoders.base import finite
from ..errors import StudioError
from ..workspace import digest_texts
from .cards import languages_of
from .comparing import Comparing, given
from .results import Suggestions

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ..data.corpus import Corpus
    from ..data.progress import Progress
    from ..explore.alignment import Alignment
    from ..explore.calibration import Usual

_EVERYDAY = "everyday sentences"
_MOST_WORDS = 160
_NEAR = 0.99


class Relating(Comparing):
    """What stands behind a score."""

    def usual(self, corpus: Corpus | None = None, model: str | None = None) -> Usual:
        """How alike texts are by the model that were taken at random: 300 at most of the corpus, every pair of them.

        Everyday sentences take its place where there is none, or where it has fewer than 20 different texts. They are in the languages
        that the model's card names; in English where it names none.
        """
        from ..explore.calibration import FEWEST_TEXTS, Usual, some_texts, usual_cosines

        encoder = self._encoder(model)
        texts, of = (some_texts(corpus.texts), corpus.name) if corpus is not None else ([], "")
        if len(texts) < FEWEST_TEXTS:
            known = languages_of(self.catalog, model or self.settings.default_model)
            sentences = everyday()
            spoken = [text for language, text in sentences if language in (known or ("en",))]
            texts, of = some_texts(spoken if len(spoken) >= FEWEST_TEXTS else [text for _, text in sentences]), _EVERYDAY
        key = digest_texts(texts), encoder.fingerprint

        def measure() -> Usual:
            return Usual(usual_cosines(finite(encoder.encode(texts))), of)

        found = self._services.usuals.get(key, measure, checkpoint)
        return found if found.of == of else Usual(found.cosines, of)

    def alignment(self, a: str, b: str, model: str | None = None) -> Alignment:
        """Two texts word by word; see :func:`sbert_studio.explore.alignment.align`.

        Raises:
            StudioError: the model has no vectors of words, or a text has no word that it reads, or too many.
        """
        from ..encoders.word_states import word_states
        from ..explore.alignment import align

        encoder = self._encoder(model)
        states = [word_states(encoder, given(text, which)) for text, which in ((a, "first"), (b, "second"))]
        left, right = states
        if left is None or right is None:
            raise StudioError(f"{encoder.name} gives no vectors of single words", "choose a transformer, or a table of words")
        if max(len(left.words), len(right.words)) > _MOST_WORDS:
            raise StudioError(
                f"a text has more than {_MOST_WORDS} words and punctuation marks", "compare shorter texts to see which words make the score"
            )
        found = align(left, right)
        if found is None:
            raise StudioError("a text holds no word that the model knows", "use other words, or another model")
        return found

    def worth_labelling(
        self,
        corpus: Corpus,
        model: str | None = None,
        other: str | None = None,
        count: int = 12,
        judged: Sequence[tuple[str, str, bool]] = (),
        progress: Progress | None = None,
    ) -> Suggestions:
        """Pairs of the corpus that are worth a person's word; of a large one 3,000 texts are looked at.

        Args:
            other: a second model: the pairs on which both disagree. Without one, those of which the model is least sure.
            judged: pairs that were judged already, and whether they belong together. They are not asked for again, and with four of
                either kind they say where the model's line between alike and not alike lies; before that it is where 99 of 100
                random pairs are less alike.

        Raises:
            StudioError: the corpus has fewer than two different texts.
        """
        from ..explore.suggesting import boundary, contested, near, some_rows

        rows = some_rows(corpus.texts)
        if len(rows) < 2:
            raise StudioError("the corpus has fewer than two different texts", "choose another one")
        texts = [corpus.texts[row] for row in rows.tolist()]
        vectors = self._of_texts(texts, model, progress)
        places = {text: place for place, text in enumerate(texts)}
        known = {(min(pair), max(pair)) for a, b, _ in judged if a in places and b in places for pair in [(places[a], places[b])]}
        usual = self.usual(corpus, model)
        if other is not None:
            found = contested(
                vectors, self._of_texts(texts, other, progress), usual.shares, self.usual(corpus, other).shares, count, known, progress
            )
            line = None
        else:
            line = self._line(judged, model, boundary) if judged else None
            line = usual.quantile(_NEAR) if line is None else line
            found = near(vectors, line, count, known, progress)
        return Suggestions(tuple((texts[a], texts[b], cosine) for a, b, cosine in found), line)

    def _of_texts(self, texts: Sequence[str], model: str | None, progress: Progress | None) -> np.ndarray:
        """The vectors of some texts, from the cache."""
        return self._services.vectors.get(texts, digest_texts(texts), self._encoder(model), progress)

    def _line(
        self, judged: Sequence[tuple[str, str, bool]], model: str | None, boundary: Callable[[np.ndarray, np.ndarray], float | None]
    ) -> float | None:
        from ..evaluation.similarity import alike

        lefts, rights, together = zip(*judged, strict=True)
        return boundary(alike(self._encoder(model), list(lefts), list(rights)), np.array(together, bool))


@lru_cache(maxsize=1)
def everyday() -> tuple[tuple[str, str], ...]:
    """The (language, sentence) pairs of the probe of everyday language, the first sentence of each of its pairs."""
    with (ASSETS / "probe" / "general.csv").open(encoding="utf-8", newline="") as source:
        return tuple((row["language"], row["sentence1"]) for row in csv.DictReader(source))
