"""Search service: search a corpus, mine paraphrases, find near-duplicates."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

import numpy as np

from ..data.corpus import Corpus
from ..errors import StudioError
from ..evaluation.encoding import require_finite
from ..explore import DEFAULT_RESULTS
from ..i18n import _
from ..models.base import Encoder, require_finite_vectors
from ..models.prompts import Role, SearchSettings
from ..models.similarity import TITLES, score_note, unit
from ..progress import Progress, checkpoint
from .jobs import BeginPhase
from .languages import LanguageService
from .resources import Resources, Service
from .results import Duplicates, MinedPair, MinedPairs, SearchResult, TextHit
from .similarity import require_text

if TYPE_CHECKING:
    from ..data.documents.passages import PassagePlace
    from ..explore.bm25 import LexicalIndex
    from ..explore.paraphrase_mining import PairRecall
    from ..explore.search import Hit, SemanticIndex

Mode = Literal["semantic", "lexical", "hybrid"]
MODES: tuple[Mode, ...] = ("semantic", "lexical", "hybrid")
_INDEX_AFTER_QUERIES = 2  # building an index takes longer than a single query, for example from the command line
_DEEPER = 4  # factor of the depth if too few documents are among the passages found
_POOL = 100  # depth of the rankings fused by hybrid search, and number of re-ranked hits


@dataclass(frozen=True)
class SearchOptions:
    """Options of a search.

    Attributes:
        reranker: re-rank the best hits with this model (``True``: the one in the settings). A cross-encoder encodes each pair; a
            poly-encoder encodes the corpus once and then only the query.
        row_ids: search only these rows of the corpus, from 0.
        settings: prompts and vector length that override the model's own.
    """

    reranker: bool | str = False
    row_ids: Sequence[int] | None = None
    settings: SearchSettings | None = None


class SearchService(Service):
    """Search functions with a shared cache of vectors, so that a corpus is encoded only once."""

    def __init__(self, resources: Resources, languages: LanguageService) -> None:
        super().__init__(resources)
        self.languages = languages

    def vectors(self, corpus: Corpus, model: str | None = None, progress: Progress | None = None) -> np.ndarray:
        """Return the corpus' vectors from the cache: (n, dim) float32, read-only."""
        return self.vectors_by(corpus, self.languages.load(model), progress)

    def vectors_by(self, corpus: Corpus, encoder: Encoder, progress: Progress | None = None) -> np.ndarray:
        """Like :meth:`vectors`, with a model that is already loaded. The vector of a document is the mean of those of its passages."""
        if corpus.passages is None:
            return self._resources.vectors.get(corpus.texts, corpus.digest, encoder, progress)
        sums = np.add.reduceat(self.vectors_by(corpus.passages, encoder, progress), corpus.passages.document_starts(), axis=0)
        means = unit(sums).astype(np.float32)
        means.flags.writeable = False
        return means

    def search(
        self,
        corpus: Corpus,
        query: str,
        k: int = DEFAULT_RESULTS,
        mode: Mode = "semantic",
        *,
        model: str | None = None,
        progress: Progress | None = None,
        options: SearchOptions | None = None,
    ) -> SearchResult:
        """Return the ``k`` texts nearest to a query: semantic, lexical (BM25), or both rankings fused.

        Of passages, only the best one of each document is returned.
        """
        from ..explore.search import reciprocal_rank_fusion

        query, k = require_text(query, "query"), _require_positive(k, "k")
        if mode not in MODES:
            raise StudioError(_("there is no search mode {mode}", mode=repr(mode)), _("choose one of {modes}", modes=", ".join(MODES)))
        options = options or SearchOptions()
        settings = options.settings
        rows = None if options.row_ids is None else np.unique(np.asarray(options.row_ids, np.int64))
        if rows is not None and len(rows) and not (rows[0] >= 0 and rows[-1] < len(corpus)):
            raise StudioError("a row is not in the corpus", _("choose rows from 0 to {corpus}", corpus=len(corpus) - 1))
        encoder = None if mode == "lexical" else self._load(model, "document", settings)
        semantic = None if encoder is None else self.semantic_index(corpus, encoder, progress)
        lexical = None if mode == "semantic" else self._lexical_index(corpus, progress)
        rerank = self._load_reranker(options.reranker, corpus, progress)
        # Time only the search itself, without the preparation above.
        start = time.perf_counter()
        vector = None if semantic is None else require_finite_vectors(self._load(model, "query", settings).encode([query]))[0]

        def rank(depth: int) -> tuple[list[Hit], float | None]:
            rankings: list[list[Hit]] = []
            recall = None
            if semantic is not None and vector is not None:
                found = semantic.find(vector, depth, rows)
                rankings, recall = [found.hits], found.recall
            if lexical is not None:
                rankings.append(lexical.search(query, depth, rows))
            hits = reciprocal_rank_fusion(rankings) if len(rankings) > 1 else rankings[0]
            return (rerank(query, hits[:depth]) if rerank else hits), recall

        depth = max(k, _POOL) if mode == "hybrid" or rerank or corpus.places else k
        hits, recall = rank(depth)
        while corpus.places and len(best := _best_by_document(hits, corpus.places)) < k and depth < len(corpus):
            depth *= _DEEPER
            hits, recall = rank(depth)
        result = _search_result(corpus, best if corpus.places else hits, k, start)
        if encoder is None or semantic is None:
            return replace(result, notes=(*corpus.reading_notes(), *corpus.repeat_notes()), recall=recall)
        is_indexing = self._index_in_background(semantic, corpus, encoder)
        languages = self.languages
        notes = (
            *_recall_notes(recall, is_indexing),
            *_measure_notes(encoder),
            *corpus.reading_notes(),
            *corpus.repeat_notes(),
            *languages.length_notes(corpus, encoder),
            *(languages.language_notes(corpus, model) or languages.language_notes([query], model, "Your words")),
            *languages.vocabulary_notes(corpus, encoder),
            *languages.vocabulary_notes([query], encoder, "your query"),
        )
        used = model or self.settings.default_model
        return replace(result, notes=notes, recall=recall, similarity_fn_name=encoder.similarity_name, model=used)

    def find_neighbors(
        self, corpus: Corpus, row: int, k: int = DEFAULT_RESULTS, model: str | None = None, *, row_ids: Sequence[int] | None = None
    ) -> SearchResult:
        """Return the ``k`` texts nearest to row ``row`` (from 0) of the corpus, or of its rows ``row_ids``, without the row itself."""
        if not 0 <= row < len(corpus.texts):
            raise StudioError(_("the corpus has no row {row}", row=row), _("choose one from 0 to {texts}", texts=len(corpus.texts) - 1))
        encoder = self.languages.load(model)
        index, vectors = self.semantic_index(corpus, encoder), self.vectors_by(corpus, encoder)
        start = time.perf_counter()
        rows = None if row_ids is None else np.unique(np.asarray(row_ids, np.int64))
        found = index.find(vectors[row], _require_positive(k, "k") + 1, rows)
        result = _search_result(corpus, [hit for hit in found.hits if hit.row != row], k, start)
        is_indexing = self._index_in_background(index, corpus, encoder)
        notes = (*_recall_notes(found.recall, is_indexing), *_measure_notes(encoder), *self.languages.corpus_notes(corpus, model, encoder))
        return replace(result, notes=notes, recall=found.recall, similarity_fn_name=encoder.similarity_name)

    def mine(
        self,
        corpus: Corpus,
        top: int = DEFAULT_RESULTS,
        model: str | None = None,
        begin_phase: BeginPhase = lambda phase, unit: None,
        *,
        exact: bool = False,
    ) -> MinedPairs:
        """Return the most similar pairs of the corpus. From 200,000 texts on, the search is approximate unless ``exact``.

        Args:
            begin_phase: called as each phase begins; an approximate search first estimates the number of pairs.
        """
        from ..explore.paraphrase_mining import (
            EXACT_BELOW,
            approximate_paraphrase_mining,
            paraphrase_mining,
            paraphrase_mining_by,
            require_top,
        )

        _require_two_texts(corpus)
        require_top(top)
        encoder = self.languages.load(model)
        vectors = self.vectors_by(corpus, encoder, begin_phase("encoding", "texts"))
        report, recall = begin_phase("comparing", "pairs"), None
        start = time.perf_counter()
        if encoder.similarity_name != "cosine":
            found = paraphrase_mining_by(vectors, encoder.similarity_name, top, report)
        elif exact or len(vectors) < EXACT_BELOW:
            found = paraphrase_mining(vectors, top, report)
        else:
            found, recall = approximate_paraphrase_mining(vectors, top, report)
        seconds = time.perf_counter() - start
        texts, lines = corpus.texts, corpus.lines
        pairs = (MinedPair(texts[p.a], texts[p.b], p.a, p.b, lines[p.a], lines[p.b], float(p.score)) for p in found)
        notes = (*_mining_notes(recall), *_measure_notes(encoder), *self.languages.corpus_notes(corpus, model, encoder))
        share, used = None if recall is None else recall.share, model or self.settings.default_model
        return MinedPairs(tuple(pairs), seconds, corpus.account, notes, share, used)

    def find_duplicates(self, corpus: Corpus, model: str | None = None, progress: Progress | None = None) -> Duplicates:
        """Find near-duplicates exactly, at any threshold from 0.8 on."""
        from ..explore.duplicates import build_duplicate_tree

        _require_two_texts(corpus)
        encoder = self.languages.load(model)
        vectors = self.vectors_by(corpus, encoder, progress)
        start = time.perf_counter()
        tree = build_duplicate_tree(vectors, corpus.texts, progress=progress)
        seconds = time.perf_counter() - start
        return Duplicates(corpus, tree, vectors, seconds, (*cosine_notes(encoder), *self.languages.corpus_notes(corpus, model, encoder)))

    def semantic_index(self, corpus: Corpus, encoder: Encoder, progress: Progress | None = None) -> SemanticIndex:
        """Return the semantic index of a corpus from the cache; several requests share one encoding and its progress."""
        from ..explore.search import LARGE, SemanticIndex

        measure, shared = encoder.similarity_name, self._resources.shared_progress
        key = f"{corpus.digest}-{encoder.fingerprint}" + ("" if measure == "cosine" else f"-{measure}")

        def build() -> SemanticIndex:
            with shared.publish(key, progress) as report:
                vectors = self.vectors_by(corpus, encoder, report)
            if len(vectors) < LARGE or measure != "cosine":
                return SemanticIndex(vectors, None, measure)
            return SemanticIndex(vectors, self._resources.index_files.load(corpus.digest, encoder.fingerprint, *vectors.shape), measure)

        return self._resources.semantic_indexes.get(key, build, shared.follow(key, progress))

    def _index_in_background(self, index: SemanticIndex, corpus: Corpus, encoder: Encoder) -> bool:
        """Start building an approximate index of a large corpus at its second query. Return True while one is being built."""
        from ..explore.search import LARGE

        is_due = len(index) >= LARGE and index.approximate is None and index.asked >= _INDEX_AFTER_QUERIES and index.by == "cosine"
        if not is_due:
            return False
        digest, fingerprint = corpus.digest, encoder.fingerprint
        key, files, background = f"{digest}-{fingerprint}", self._resources.index_files, self._resources.background

        def build() -> None:
            index.approximate = files.make(digest, fingerprint, index.exact)
            if index.approximate is not None:  # on a full disk, remember the attempt, so that it is not repeated
                background.forget(key)

        return background.want(key, build)

    def _lexical_index(self, corpus: Corpus, progress: Progress | None = None) -> LexicalIndex:
        store = self._resources.lexical_store
        return self._resources.lexical_indexes.get(corpus.digest, lambda: store.get(corpus.texts, corpus.digest, progress), checkpoint)

    def _load(self, model: str | None, role: Role, settings: SearchSettings | None) -> Encoder:
        return self.languages.load(model, role) if settings is None else settings.apply(self.languages.load(model, "plain"), role)

    def _load_reranker(
        self, reranker: bool | str, corpus: Corpus, progress: Progress | None
    ) -> Callable[[str, Sequence[Hit]], list[Hit]] | None:
        """Return a function that re-ranks hits for a query. A poly-encoder's vectors of the corpus come from the cache."""
        if not reranker:
            return None
        scorer = self.catalog.load_scorer(reranker if isinstance(reranker, str) else self.settings.reranker)
        if scorer.labels > 1:
            raise StudioError(
                _("{name} is a classifier and cannot re-rank", name=scorer.name), "choose a cross-encoder with a single score"
            )
        vectors = None if scorer.candidate_encoder is None else self.vectors_by(corpus, scorer.candidate_encoder, progress)

        def rerank(query: str, hits: Sequence[Hit]) -> list[Hit]:
            rows = [hit.row for hit in hits]
            if vectors is None:
                scores = require_finite(scorer.predict([(query, corpus.texts[row]) for row in rows]))
            else:
                scores = require_finite(scorer.score_candidates([query], vectors[rows])[0])
            return [replace(hits[place], score=float(scores[place])) for place in np.argsort(-scores, kind="stable")]

        return rerank


def _best_by_document(hits: Sequence[Hit], passages: Sequence[PassagePlace]) -> list[Hit]:
    """Return the first hit of each document."""
    best: dict[int, Hit] = {}
    for hit in hits:
        best.setdefault(passages[hit.row].number, hit)
    return list(best.values())


def cosine_notes(encoder: Encoder) -> tuple[str, ...]:
    """Return a sentence if a feature uses cosine although the model uses another similarity function."""
    if encoder.similarity_name == "cosine":
        return ()
    return (
        _(
            "{name} uses {titles}; maps, topics and near-duplicates use cosine similarity.",
            name=encoder.name,
            titles=TITLES[encoder.similarity_name],
        ),
    )


def _measure_notes(encoder: Encoder) -> tuple[str, ...]:
    return score_note(encoder.name, encoder.similarity_name)


def _recall_notes(recall: float | None, is_indexing: bool) -> tuple[str, ...]:
    if recall is None:
        return ("Exact: all texts were compared. An index for faster results is being built.",) if is_indexing else ()
    return (
        _(
            "Approximate: {recall} of the nearest texts are found, measured with texts of this corpus as queries. A filtered search is "
            "exact.",
            recall=f"{recall:.1%}",
        ),
    )


def _mining_notes(recall: PairRecall | None) -> tuple[str, ...]:
    if recall is None:
        return ()
    return (
        _(
            "Approximate: not all pairs were compared. Of the {pairs} closest pairs of {rows} random texts, down to a "
            "cosine of {cosine}, {share} were compared.",
            pairs=f"{recall.pairs:,}",
            rows=f"{recall.rows:,}",
            cosine=f"{recall.cosine:.3f}",
            share=f"{recall.share:.1%}",
        ),
    )


def _require_positive(number: int, name: str) -> int:
    if number < 1:
        raise StudioError(_("{name} is {number}", name=name, number=number), "choose at least 1")
    return number


def _require_two_texts(corpus: Corpus) -> None:
    if len(corpus.texts) < 2:
        raise StudioError("the corpus has fewer than two texts", "add texts to compare")


def _search_result(corpus: Corpus, hits: Sequence[Hit], k: int, start: float) -> SearchResult:
    milliseconds = (time.perf_counter() - start) * 1000

    def text_hit(hit: Hit) -> TextHit:
        fields = {name: values[hit.row] for name, values in corpus.fields.items()}
        place = corpus.places[hit.row] if corpus.places else None
        return TextHit(hit.row, int(corpus.lines[hit.row]), corpus.texts[hit.row], float(hit.score), fields, place)

    return SearchResult(tuple(text_hit(hit) for hit in hits[:k]), milliseconds, corpus.account)
