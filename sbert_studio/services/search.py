"""Verbs by which a person looks at a corpus: search, mine, draw."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Literal

import numpy as np

from ..errors import StudioError
from ..models.base import require_finite_vectors
from ..progress import checkpoint
from ..workspace import digest_texts
from .results import ClusterInfo, Duplicates, MapView, MinedPair, MinedPairs, SearchResult, TextHit
from .similarity import SimilarityService, require_text

if TYPE_CHECKING:
    from ..data.corpus import Corpus
    from ..explore.approximate_mining import PairRecall
    from ..explore.bm25 import LexicalIndex
    from ..explore.clusters import ClusterParams
    from ..explore.exact_search import Hit
    from ..explore.projection import ProjectionParams
    from ..explore.search import SemanticIndex
    from ..models.base import Encoder, PairScorer
    from ..models.prompts import Role, SearchSettings
    from ..progress import Progress

Mode = Literal["semantic", "lexical", "hybrid"]
MODES: tuple[Mode, ...] = ("semantic", "lexical", "hybrid")
Phase = Literal["encode", "layout", "groups"]
_TIMES = 2  # one question, as the command line asks, is answered faster than an index is built
_POOL = 100  # how deep each ranking goes that hybrid search fuses, and how many hits are ranked again


class SearchService(SimilarityService):
    """Texts → numbers and pictures. Vectors come from one cache, so that no control encodes a corpus twice."""

    def vectors_of(self, corpus: Corpus, model: str | None = None, progress: Progress | None = None) -> np.ndarray:
        """The corpus' vectors from the cache: (n, dim) float32, read-only."""
        return self._vectors(corpus, self._encoder(model), progress)

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
        among: Sequence[int] | None = None,
        settings: SearchSettings | None = None,
    ) -> SearchResult:
        """The ``k`` texts nearest to a query: by meaning, by words (BM25), or by both rankings fused.

        Args:
            among: the rows of the corpus, from 0, of which the ``k`` are found; all where not given.
            rerank: rank the best hits again by this model's score of the query with each (``True``: by that of the settings). A
                cross-encoder reads every pair whole; a poly-encoder reads the corpus once, and then the query alone.
            settings: prompts and a length of vectors in the place of the model's.
        """
        from ..explore.exact_search import reciprocal_rank_fusion

        query, k = require_text(query, "query"), _at_least_one(k, "k")
        if mode not in MODES:
            raise StudioError(f"there is no search mode {mode!r}", f"choose one of {', '.join(MODES)}")
        only = None if among is None else np.unique(np.asarray(among, np.int64))
        if only is not None and len(only) and not (only[0] >= 0 and only[-1] < len(corpus)):
            raise StudioError("a row is not in the corpus", f"choose rows from 0 to {len(corpus) - 1}")
        encoder = None if mode == "lexical" else self._reading(model, "document", settings)
        semantic = None if encoder is None else self._semantic(corpus, encoder, progress)
        lexical = None if mode == "semantic" else self._lexical(corpus, progress)
        reader = self._reader(rerank)
        again = self._again(corpus, reader, progress) if reader else None
        start = time.perf_counter()
        depth = max(k, _POOL) if mode == "hybrid" or again else k
        rankings: list[list[Hit]] = []
        recall = None
        if encoder is not None and semantic is not None:
            asks = self._reading(model, "query", settings)
            by_meaning = semantic.find(require_finite_vectors(asks.encode([query]))[0], depth, only)
            rankings, recall = [by_meaning.hits], by_meaning.recall
        if lexical:
            rankings.append(lexical.search(query, depth, only))
        hits = reciprocal_rank_fusion(rankings) if len(rankings) > 1 else rankings[0]
        found = _result(corpus, again(query, hits[:depth]) if again else hits, k, start)
        quicker = encoder is not None and semantic is not None and self._quicken(semantic, corpus, encoder)
        foreign = (self.language_notes(corpus, model) or self.language_notes([query], model, "Your words")) if encoder is not None else ()
        unknown = (*self._unknown(corpus, encoder), *self._unknown([query], encoder, "your query")) if encoder is not None else ()
        notes = (*_told(recall, quicker), *_compared_by(encoder), *corpus.repeat_notes(), *foreign, *unknown)
        by = "cosine" if encoder is None else encoder.similarity_name
        return replace(found, notes=notes, recall=recall, similarity_fn_name=by)

    def _reading(self, model: str | None, role: Role, settings: SearchSettings | None) -> Encoder:
        return self._encoder(model, role) if settings is None else settings.apply(self._encoder(model, "plain"), role)

    def neighbours(self, corpus: Corpus, row: int, k: int = 10, model: str | None = None) -> SearchResult:
        """The ``k`` texts nearest to row ``row`` (from 0) of the corpus, itself left out."""
        if not 0 <= row < len(corpus.texts):
            raise StudioError(f"the corpus has no row {row}", f"choose one from 0 to {len(corpus.texts) - 1}")
        encoder = self._encoder(model)
        index, vectors = self._semantic(corpus, encoder), self._vectors(corpus, encoder)
        start = time.perf_counter()
        found = index.find(vectors[row], _at_least_one(k, "k") + 1)
        result = _result(corpus, [hit for hit in found.hits if hit.row != row], k, start)
        quicker = self._quicken(index, corpus, encoder)
        notes = (*_told(found.recall, quicker), *_compared_by(encoder), *self._notes(corpus, model, encoder))
        return replace(result, notes=notes, recall=found.recall, similarity_fn_name=encoder.similarity_name)

    def mine(
        self,
        corpus: Corpus,
        top: int = 10,
        model: str | None = None,
        progress: Progress | None = None,
        *,
        comparing: Progress | None = None,
        exact: bool = False,
    ) -> MinedPairs:
        """The most similar pairs of the corpus: exactly, or, from 200,000 texts on unless ``exact``, approximately, which is said.

        Args:
            progress: told of texts encoded.
            comparing: told of pairs compared; where not all are, about how many there will be is known better once their lists are there.
        """
        from ..explore.approximate_mining import EXACT_BELOW, approximate_paraphrase_mining
        from ..explore.paraphrase_mining import paraphrase_mining, paraphrase_mining_by, require_top

        if len(corpus.texts) < 2:
            raise StudioError("the corpus has fewer than two texts", "add texts to compare")
        require_top(top)
        encoder = self._encoder(model)
        vectors = self._vectors(corpus, encoder, progress)
        start = time.perf_counter()
        if encoder.similarity_name != "cosine":
            found, recall = paraphrase_mining_by(vectors, encoder.similarity_name, top, comparing or progress), None
        elif exact or len(vectors) < EXACT_BELOW:
            found, recall = paraphrase_mining(vectors, top, comparing or progress), None
        else:
            found, recall = approximate_paraphrase_mining(vectors, top, comparing or progress)
        seconds = time.perf_counter() - start
        texts, lines = corpus.texts, corpus.lines
        pairs = (MinedPair(texts[p.a], texts[p.b], p.a, p.b, lines[p.a], lines[p.b], float(p.score)) for p in found)
        notes = (*_missing(recall), *_compared_by(encoder), *self._notes(corpus, model, encoder))
        return MinedPairs(tuple(pairs), seconds, corpus.account, notes, None if recall is None else recall.share)

    def duplicates(self, corpus: Corpus, model: str | None = None, progress: Progress | None = None) -> Duplicates:
        """Which texts say nearly the same, exactly, at any threshold from 0.8 on."""
        from ..explore.duplicates import build_duplicate_tree

        if len(corpus.texts) < 2:
            raise StudioError("the corpus has fewer than two texts", "add texts to compare")
        encoder = self._encoder(model)
        vectors = self._vectors(corpus, encoder, progress)
        start = time.perf_counter()
        tree = build_duplicate_tree(vectors, corpus.texts, progress=progress)
        notes = (*_by_cosine(encoder), *self._notes(corpus, model, encoder))
        return Duplicates(corpus, tree, vectors, time.perf_counter() - start, notes)

    def map(
        self,
        corpus: Corpus,
        projection: ProjectionParams | None = None,
        clusters: ClusterParams | None = None,
        model: str | None = None,
        progress: Progress | None = None,
        phase: Callable[[Phase], Progress] | None = None,
    ) -> MapView:
        """The corpus drawn in 2-D or 3-D, with labelled clusters; what did not change comes from the caches.

        Args:
            phase: asked, as each phase begins, whom to tell its progress; in place of ``progress``, which hears of all of them.
        """
        from ..explore.clusters import ClusterParams, cluster, require_clusters, select_rows
        from ..explore.map_edits import NO_CLUSTER
        from ..explore.projection import ProjectionParams, project

        def told(name: Phase) -> Progress | None:
            return progress if phase is None else phase(name)

        require_clusters(clusters or ClusterParams(), len(corpus))
        encoder = self._encoder(model)
        vectors, texts, digest = self._vectors(corpus, encoder, told("encode")), list(corpus.texts), corpus.digest
        places = _places_of_repeated(texts)
        if places is not None:  # each text once: hundreds of rows on one spot are no neighbourhood, and take for ever
            _, rows = np.unique(places, return_index=True)
            vectors, texts = np.asarray(vectors)[rows], [texts[row] for row in rows.tolist()]
            digest = digest_texts(texts)
        base, kept = f"{digest}-{encoder.fingerprint}", self._services.neighbourhoods
        drawn = project(vectors, projection or ProjectionParams(), base, self.workspace, told("layout"), graphs=kept)
        groups = cluster(
            vectors, texts, clusters or ClusterParams(), base, self.workspace, progress=told("groups"), near=kept.of(vectors, base)
        )
        xy = drawn.xy if places is None else drawn.xy[places]
        if places is not None:
            groups = select_rows(groups, places)
        infos = [ClusterInfo(number, label, size) for number, (label, size) in enumerate(zip(groups.labels, groups.sizes, strict=True))]
        if groups.noise:
            infos.append(ClusterInfo(-1, NO_CLUSTER, groups.noise))
        notes = (*_by_cosine(encoder), *self._notes(corpus, model, encoder))
        return MapView(xy, groups.ids, tuple(infos), drawn.key, corpus.account, notes)

    def split(
        self, corpus: Corpus, rows: Sequence[int], parts: int = 2, model: str | None = None
    ) -> tuple[tuple[tuple[int, ...], ...], tuple[str, ...]]:
        """Some texts in ``parts`` groups by k-means, the largest first: the rows of each, and a name of a few words for each.

        Raises:
            StudioError: there are fewer texts than parts, or all of them are alike.
        """
        from ..explore.clusters import ClusterParams, split_clusters

        chosen = np.asarray(rows, np.int64)
        if len(chosen) < parts:
            raise StudioError(f"{len(chosen)} texts cannot be split in {parts}", "choose a larger cluster")
        vectors = np.asarray(self._vectors(corpus, self._encoder(model)))[chosen]
        found = split_clusters(
            vectors, [corpus.texts[row] for row in chosen.tolist()], ClusterParams(method="kmeans", count=parts, seed=12)
        )
        if len(found.sizes) < parts:
            raise StudioError("these texts are all alike to the model", "choose another cluster, or label them by a lasso")
        return tuple(tuple(chosen[found.ids == part].tolist()) for part in range(parts)), found.labels

    def _reader(self, rerank: bool | str) -> PairScorer | None:
        """The model to rank by.

        Raises:
            StudioError: it cannot be read, or cannot rank.
        """
        if not rerank:
            return None
        reader = self.catalog.load_scorer(rerank if isinstance(rerank, str) else self.settings.reranker)
        if reader.labels > 1:
            raise StudioError(f"{reader.name} sorts pairs into classes and cannot rank", "choose a cross-encoder with a single score")
        return reader

    def _again(self, corpus: Corpus, reader: PairScorer, progress: Progress | None) -> Callable[[str, Sequence[Hit]], list[Hit]]:
        """A query and hits → the hits by the reader's scores, the highest first; what it makes of the corpus comes from the cache."""
        from ..evaluation.encoding import require_finite

        of = reader.candidate_encoder
        vectors = None if of is None else self._vectors(corpus, of, progress)

        def ranked(query: str, hits: Sequence[Hit]) -> list[Hit]:
            rows = [hit.row for hit in hits]
            if vectors is None:
                scores = require_finite(reader.predict([(query, corpus.texts[row]) for row in rows]))
            else:
                scores = require_finite(reader.score_candidates([query], vectors[rows])[0])
            return [replace(hits[place], score=float(scores[place])) for place in np.argsort(-scores, kind="stable")]

        return ranked

    def _vectors(self, corpus: Corpus, encoder: Encoder, progress: Progress | None = None) -> np.ndarray:
        return self._services.vectors.get(corpus.texts, corpus.digest, encoder, progress)

    def _semantic(self, corpus: Corpus, encoder: Encoder, progress: Progress | None = None) -> SemanticIndex:
        from ..explore.search import LARGE, SemanticIndex

        by, together = encoder.similarity_name, self._services.together
        key = f"{corpus.digest}-{encoder.fingerprint}" + ("" if by == "cosine" else f"-{by}")

        def made() -> SemanticIndex:
            with together.publish(key, progress) as tell:
                vectors = self._vectors(corpus, encoder, tell)
            indexed = len(vectors) >= LARGE and by == "cosine"
            index = self._services.indexes.load(corpus.digest, encoder.fingerprint, *vectors.shape) if indexed else None
            return SemanticIndex(vectors, index, by)

        return self._services.meanings.get(key, made, together.follow(key, progress))

    def _quicken(self, index: SemanticIndex, corpus: Corpus, encoder: Encoder) -> bool:
        """Have a large corpus that is asked for the second time indexed in the background; whether that goes on. Answers are exact then."""
        from ..explore.search import LARGE

        if len(index) < LARGE or index.approximate is not None or index.asked < _TIMES or index.by != "cosine":
            return False
        texts, digest, fingerprint = corpus.texts, corpus.digest, encoder.fingerprint
        key, files, background = f"{digest}-{fingerprint}", self._services.indexes, self._services.background

        def work() -> None:
            index.approximate = files.make(digest, fingerprint, texts, index.exact)
            if index.approximate is not None:  # else the disk takes nothing, and will not the next time
                background.forget(key)

        return background.want(key, work)

    def _lexical(self, corpus: Corpus, progress: Progress | None = None) -> LexicalIndex:
        kept = self._services.kept_wordings
        return self._services.wordings.get(corpus.digest, lambda: kept.get(corpus.texts, corpus.digest, progress), checkpoint)


def _compared_by(encoder: Encoder | None) -> tuple[str, ...]:
    """Say that scores are no cosines, where the model compares otherwise."""
    from ..models.similarity import score_note

    return () if encoder is None else score_note(encoder.name, encoder.similarity_name)


def _by_cosine(encoder: Encoder) -> tuple[str, ...]:
    """Say that something goes by the cosine although the model compares otherwise, where it does."""
    from ..models.similarity import TITLES

    if encoder.similarity_name == "cosine":
        return ()
    return (f"{encoder.name} compares by {TITLES[encoder.similarity_name]}; maps, groups and near-duplicates go by the cosine here.",)


def _told(recall: float | None, quicker: bool) -> tuple[str, ...]:
    """What to say of a search that is not exact, or of one that is while an index is made."""
    if recall is None:
        return ("Exact: all texts were compared. An index that answers in less time is being made.",) if quicker else ()
    return (f"Approximate: of the nearest texts {recall:.1%} are found, measured on this corpus. A search among some rows is exact.",)


def _places_of_repeated(texts: Sequence[str]) -> np.ndarray | None:
    """For each text its place among the different ones, (n,) int64, where at most half of them are different; else ``None``."""
    known = {text: place for place, text in enumerate(dict.fromkeys(texts))}
    return np.array([known[text] for text in texts], np.int64) if 2 * len(known) <= len(texts) else None


def _missing(recall: PairRecall | None) -> tuple[str, ...]:
    """What to say of pairs that were not found by comparing all."""
    if recall is None:
        return ()
    return (
        f"Approximate: not all texts were compared with all. Of the {recall.pairs:,} closest pairs of {recall.rows:,} texts taken at "
        f"random, down to a cosine of {recall.cosine:.3f}, {recall.share:.1%} were compared.",
    )


def _at_least_one(number: int, name: str) -> int:
    if number < 1:
        raise StudioError(f"{name} is {number}", "choose at least 1")
    return number


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
