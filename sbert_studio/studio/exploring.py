"""Verbs by which a person looks at texts: compare, search, mine, draw."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np

from ..data.columns.roles import Roles
from ..data.progress import checkpoint
from ..data.values.no_answer import kept_as_texts
from ..errors import StudioError
from .languages import foreign_notes, unknown_notes
from .part import Part
from .results import (
    Agreement,
    ClusterInfo,
    Encoded,
    MapView,
    Mined,
    MinedPair,
    PairScore,
    PairScores,
    SearchResult,
    Similarity,
    TextHit,
)

if TYPE_CHECKING:
    from ..data.corpus import Corpus
    from ..data.progress import Progress
    from ..data.tables import Table
    from ..encoders.base import Encoder
    from ..encoders.scorers.pair_scorer import PairScorer
    from ..explore.groups.clustering import ClusterParams
    from ..explore.projection import ProjectionParams
    from ..explore.search import Hit, LexicalIndex, SemanticIndex
    from .reading import Reading
    from .services import Services

Mode = Literal["semantic", "lexical", "hybrid"]
MODES: tuple[Mode, ...] = ("semantic", "lexical", "hybrid")
_POOL = 100  # how deep each ranking goes that hybrid search fuses, and how many hits are ranked again


class Exploring(Part):
    """Texts → numbers and pictures. Vectors come from one cache, so that no control encodes a corpus twice."""

    def __init__(self, services: Services, read: Reading) -> None:
        super().__init__(services)
        self.read = read

    def similarity(self, a: str, b: str, model: str | None = None) -> Similarity:
        """Two texts compared."""
        encoder = self._encoder(model)
        vectors = encoder.encode([_text(a, "first"), _text(b, "second")])
        foreign, found = self.language_notes([a, b], model), encoder.coverage([a, b])
        doubtful = bool(foreign) or (found is not None and found.empty > 0)
        return replace(_compare(vectors[:1], vectors[1:])[0], notes=(*foreign, *unknown_notes(found, 2)), doubtful=doubtful)

    def language_notes(self, texts: Sequence[str] | Corpus, model: str | None = None, what: str = "The texts") -> tuple[str, ...]:
        """A sentence where the texts are in a language that the model was not trained on."""
        from ..data.language import languages_in

        found = languages_in(texts) if isinstance(texts, Sequence) else texts.languages
        return foreign_notes(self.catalog, model or self.settings.default_model, found, what)

    def reading_notes(self, texts: Sequence[str] | Corpus, model: str | None = None) -> tuple[str, ...]:
        """:meth:`language_notes`, and a sentence where the model is a table that does not know all their words."""
        return (*self.language_notes(texts, model), *self._unknown(texts, model))

    def _unknown(self, texts: Sequence[str] | Corpus, model: str | None, what: str = "the texts") -> tuple[str, ...]:
        encoder = self._encoder(model)
        if isinstance(texts, Sequence):
            return unknown_notes(encoder.coverage(texts), len(texts), what)
        if encoder.coverage(()) is None:
            return ()

        def count() -> Coverage:
            return encoder.coverage(texts.texts) or Coverage(0, 0, 0)

        from ..wordvectors.tokens import Coverage

        found = self._services.coverages.get((texts.digest, encoder.fingerprint), count, checkpoint)
        return unknown_notes(found, len(texts.texts), what)

    def _notes(self, corpus: Corpus, model: str | None) -> tuple[str, ...]:
        return (*corpus.repeats(), *kept_as_texts(corpus.notes), *self.reading_notes(corpus, model))

    def similarity_pairs(self, path: str | Path | Table, model: str | None = None, progress: Progress | None = None) -> PairScores:
        """Every row of a file of pairs compared that has both its texts; with the scores or labels that it holds, as far as it does."""
        from ..data.accounts import account_of
        from ..data.examples import build_examples, detect_roles

        table = self.read.table(path)
        roles = detect_roles(table)
        if len(roles.texts) < 2:
            raise StudioError("this file has one column of texts, pairs need two", "put the two texts of a pair into two columns")
        examples, findings = build_examples(table, Roles("positive_pairs", roles.texts[:2]))
        lefts, rights = examples.texts[:2]
        vectors = self._encoder(model).encode([*lefts, *rights], progress=progress)
        found = _compare(vectors[: len(lefts)], vectors[len(lefts) :])
        rows = (PairScore(int(line), a, b, one) for line, a, b, one in zip(examples.lines, lefts, rights, found, strict=True))
        account = account_of(table, findings, examples.lines)
        agreement = _agreement(table, roles, np.array([one.cosine for one in found]))
        notes = (*kept_as_texts(findings), *self.reading_notes([*lefts, *rights], model))
        return PairScores(tuple(rows), (roles.texts[0], roles.texts[1]), account, agreement, notes)

    def similarity_matrix(self, texts: Sequence[str], model: str | None = None) -> np.ndarray:
        """Cosines of all texts with all: (n, n) float32."""
        if not texts:
            raise StudioError("there is no text to compare", "write one text a line")
        from ..evaluation.similarity import normalised

        vectors = normalised(self._encoder(model).encode([_text(text, f"{number}.") for number, text in enumerate(texts, 1)]))
        return np.asarray(np.clip(vectors @ vectors.T, -1, 1))

    def encode(
        self, texts: Sequence[str] | Corpus, model: str | None = None, precision: str = "float32", progress: Progress | None = None
    ) -> Encoded:
        """Texts as vectors, past the cache, with the time it took; of a corpus a vector for each row of its file (see :class:`Encoded`)."""
        from ..data.accounts import RowAccount

        encoder = self.catalog.load(model or self.settings.default_model, precision)
        found = texts if isinstance(texts, Sequence) else texts.texts
        if not found:
            raise StudioError("there is no text to encode", "check the file and its column")
        start = time.perf_counter()
        vectors = encoder.encode(found, progress=progress)
        seconds = time.perf_counter() - start
        rate, account = len(vectors) / max(seconds, 1e-9), RowAccount(len(found), len(found))
        if not isinstance(texts, Sequence):
            vectors, account = _aligned(vectors, texts), texts.account
        return Encoded(vectors, len(vectors), vectors.shape[1], seconds, rate, account, self.reading_notes(texts, model))

    def vectors_of(self, corpus: Corpus, model: str | None = None, progress: Progress | None = None) -> np.ndarray:
        """The corpus' vectors from the cache: (n, dim) float32, read-only."""
        return self._services.vectors.get(corpus.texts, corpus.digest, self._encoder(model), progress)

    def search(
        self,
        corpus: Corpus,
        query: str,
        k: int = 10,
        mode: Mode = "semantic",
        *,
        rerank: bool | str = False,
        model: str | None = None,
        progress: Progress | None = None,
    ) -> SearchResult:
        """The ``k`` texts nearest to a query: by meaning, by words (BM25), or by both rankings fused.

        Args:
            rerank: rank the best hits again by this model's score of the query with each (``True``: by that of the settings). A
                cross-encoder reads every pair whole; a poly-encoder reads the corpus once, and then the query alone.
        """
        from ..explore.search import fuse

        query, k = _text(query, "query"), _at_least_one(k, "k")
        if mode not in MODES:
            raise StudioError(f"there is no search mode {mode!r}", f"choose one of {', '.join(MODES)}")
        semantic = None if mode == "lexical" else self._semantic(corpus, model, progress)
        lexical = None if mode == "semantic" else self._lexical(corpus)
        reader = self._reader(rerank)
        again = self._again(corpus, reader, progress) if reader else None
        start = time.perf_counter()
        depth = max(k, _POOL) if mode == "hybrid" or again else k
        rankings = []
        if semantic:
            rankings.append(semantic.search(self._encoder(model).encode([query])[0], depth))
        if lexical:
            rankings.append(lexical.search(query, depth))
        hits = fuse(rankings) if len(rankings) > 1 else rankings[0]
        found = _result(corpus, again(query, hits[:depth]) if again else hits, k, start)
        foreign = (self.language_notes(corpus, model) or self.language_notes([query], model, "Your words")) if semantic else ()
        unknown = (*self._unknown(corpus, model), *self._unknown([query], model, "your query")) if semantic else ()
        return replace(found, notes=(*corpus.repeats(), *foreign, *unknown))

    def neighbours(self, corpus: Corpus, row: int, k: int = 10, model: str | None = None) -> SearchResult:
        """The ``k`` texts nearest to row ``row`` (from 0) of the corpus, itself left out."""
        if not 0 <= row < len(corpus.texts):
            raise StudioError(f"the corpus has no row {row}", f"choose one from 0 to {len(corpus.texts) - 1}")
        index, vectors = self._semantic(corpus, model), self.vectors_of(corpus, model)
        start = time.perf_counter()
        hits = [hit for hit in index.search(vectors[row], _at_least_one(k, "k") + 1) if hit.row != row]
        return replace(_result(corpus, hits, k, start), notes=self._notes(corpus, model))

    def mine(self, corpus: Corpus, top: int = 10, model: str | None = None, progress: Progress | None = None) -> Mined:
        """The most similar pairs of the corpus, exactly."""
        from ..explore.mining import most_similar_pairs

        if len(corpus.texts) < 2:
            raise StudioError("the corpus has fewer than two texts", "add texts to compare")
        _at_least_one(top, "top")
        vectors = self.vectors_of(corpus, model, progress)
        start = time.perf_counter()
        found = most_similar_pairs(vectors, top, progress)
        seconds = time.perf_counter() - start
        texts, lines = corpus.texts, corpus.lines
        pairs = (MinedPair(texts[p.a], texts[p.b], p.a, p.b, lines[p.a], lines[p.b], float(p.score)) for p in found)
        return Mined(tuple(pairs), seconds, corpus.account, self._notes(corpus, model))

    def map(
        self,
        corpus: Corpus,
        projection: ProjectionParams | None = None,
        clusters: ClusterParams | None = None,
        model: str | None = None,
        progress: Progress | None = None,
    ) -> MapView:
        """The corpus drawn in 2-D or 3-D, with labelled clusters; what did not change comes from the caches."""
        from ..explore.groups.clustering import ClusterParams, cluster
        from ..explore.projection import ProjectionParams, project

        encoder = self._encoder(model)
        vectors = self._services.vectors.get(corpus.texts, corpus.digest, encoder, progress)
        base = f"{corpus.digest}-{encoder.fingerprint}"
        drawn = project(vectors, projection or ProjectionParams(), base, self.workspace, progress)
        groups = cluster(vectors, corpus.texts, clusters or ClusterParams(), base, self.workspace, progress=progress)
        infos = [ClusterInfo(number, label, size) for number, (label, size) in enumerate(zip(groups.labels, groups.sizes, strict=True))]
        if groups.noise:
            infos.append(ClusterInfo(-1, "no cluster", groups.noise))
        return MapView(drawn.xy, groups.ids, tuple(infos), drawn.key, corpus.account, self._notes(corpus, model))

    def _encoder(self, model: str | None) -> Encoder:
        return self.catalog.load(model or self.settings.default_model)

    def _reader(self, rerank: bool | str) -> PairScorer | None:
        """The model to rank by; only that of the settings may be a folder where strangers reach the page.

        Raises:
            StudioError: it cannot be read, or cannot rank.
        """
        if not rerank:
            return None
        named = isinstance(rerank, str)
        name = rerank if isinstance(rerank, str) else self.settings.reranker
        reader = self.catalog.load_scorer(name, allow_folders=None if named else True)
        if reader.labels > 1:
            raise StudioError(f"{reader.name} sorts pairs into classes and cannot rank", "choose a cross-encoder with a single score")
        return reader

    def _again(self, corpus: Corpus, reader: PairScorer, progress: Progress | None) -> Callable[[str, Sequence[Hit]], list[Hit]]:
        """A query and hits → the hits by the reader's scores, the highest first; what it makes of the corpus comes from the cache."""
        of = reader.candidates
        vectors = None if of is None else self._services.vectors.get(corpus.texts, corpus.digest, of, progress)

        def ranked(query: str, hits: Sequence[Hit]) -> list[Hit]:
            rows = [hit.row for hit in hits]
            if vectors is None:
                scores = reader.predict([(query, corpus.texts[row]) for row in rows])
            else:
                scores = reader.against([query], vectors[rows])[0]
            return [replace(hits[place], score=float(scores[place])) for place in np.argsort(-scores, kind="stable")]

        return ranked

    def _semantic(self, corpus: Corpus, model: str | None, progress: Progress | None = None) -> SemanticIndex:
        from ..explore.search import SemanticIndex

        key = f"{corpus.digest}-{self._encoder(model).fingerprint}"
        return self._services.meanings.get(key, lambda: SemanticIndex(self.vectors_of(corpus, model, progress)), checkpoint)

    def _lexical(self, corpus: Corpus) -> LexicalIndex:
        from ..explore.search import LexicalIndex

        return self._services.wordings.get(corpus.digest, lambda: LexicalIndex(corpus.texts), checkpoint)


def _text(text: str, which: str) -> str:
    if not text.strip():
        raise StudioError(f"the {which} text is empty" if which != "query" else "the query is empty", "write a few words")
    return text


def _at_least_one(number: int, name: str) -> int:
    if number < 1:
        raise StudioError(f"{name} is {number}", "choose at least 1")
    return number


def _compare(left: np.ndarray, right: np.ndarray) -> list[Similarity]:
    """Matching rows of two (n, d) arrays by every measure."""
    from ..evaluation.similarity import MEASURES, measures

    found = measures(left, right)
    return [Similarity(*(float(found[name][row]) for name in MEASURES)) for row in range(len(left))]


def _result(corpus: Corpus, hits: Sequence[Hit], k: int, start: float) -> SearchResult:
    """The first ``k`` hits with their texts; the clock started at ``start``."""
    milliseconds = (time.perf_counter() - start) * 1000
    found = (
        TextHit(
            hit.row,
            int(corpus.lines[hit.row]),
            corpus.texts[hit.row],
            float(hit.score),
            {name: values[hit.row] for name, values in corpus.fields.items()},
        )
        for hit in hits[:k]
    )
    return SearchResult(tuple(found), milliseconds, corpus.account)


def _aligned(vectors: np.ndarray, corpus: Corpus) -> np.ndarray:
    """The (n, d) vectors of a corpus as those of its file's rows, NaN where a row has no text."""
    places, rows = corpus.places()
    if rows == len(vectors):
        return vectors
    found = np.full((rows, vectors.shape[1]), np.nan, dtype=vectors.dtype)
    found[places] = vectors
    return found


def _agreement(table: Table, roles: Roles, cosines: np.ndarray) -> Agreement | None:
    """How the cosines of the rows that have both their texts go with the scores or labels beside them."""
    from ..data.examples import build_examples
    from ..evaluation.measures.sts import pearson, spearman

    if roles.kind not in ("scored_pairs", "labelled_pairs") or roles.target is None:
        return None
    # Rows that were spread from one line of the file share its number: they are told apart by their place in the table.
    placed = replace(table, lines=np.arange(len(table)))
    compared = build_examples(placed, Roles("positive_pairs", roles.texts[:2]))[0].lines
    try:
        told, _ = build_examples(placed, roles)
    except StudioError:
        return None  # No compared row holds one.
    found = cosines[np.searchsorted(compared, told.lines)]
    targets = np.asarray(told.targets)
    if roles.kind == "scored_pairs":
        return Agreement(roles.target, len(told), spearman(found, targets), pearson(found, targets))
    means = {label: float(found[targets == number].mean()) for number, label in enumerate(roles.labels) if (targets == number).any()}
    return Agreement(roles.target, len(told), mean_by_label=means)
