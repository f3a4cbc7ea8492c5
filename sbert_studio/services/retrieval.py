"""Retrieval service: evaluate models on queries, documents and graded relevance, beside BM25, hybrid and re-ranked results."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np

from ..data.documents.loading import is_document_source
from ..data.documents.passages import PASSAGE_TOKENS, TokenBudget, make_passages
from ..data.known_items import build_known_items, build_table_items
from ..data.language import detect_language
from ..data.loading.table import Table, table_from_columns
from ..data.retrieval import RetrievalSet, has_beir_files, has_judgments, is_beir_archive, read_beir, read_judgments, unpack_beir
from ..data.schema.roles import SchemaOverrides
from ..errors import StudioError
from ..evaluation.comparison import Comparison, paired_difference
from ..evaluation.encoding import EncodingSpeed, require_finite
from ..evaluation.ranking import CUT, DEPTH, MAIN, Ranking, rank_candidates_by_vectors, rank_vectors, score_rankings
from ..explore.bm25 import stop_words, tokenize
from ..i18n import _, ngettext
from ..models.base import Encoder, PairScorer, require_finite_vectors
from ..models.similarity import score_note
from ..progress import Progress, checkpoint
from ..runs.run import LOCAL_OWNER
from ..workspace import digest_texts, existing_path
from .data import DataService
from .jobs import BeginPhase
from .languages import LanguageService, unknown_word_notes
from .leaderboard import Leaderboard
from .resources import Resources, Service
from .results import RetrievalResult, RetrievalScores
from .results.evaluation import MissedDocument, Reason, SystemKind
from .training_history import TrainingHistory, describe_overlap

if TYPE_CHECKING:
    from ..data.retrieval import RetrievalSet
    from ..explore.bm25 import LexicalIndex
    from ..explore.search import Hit

Candidates = Literal["all", "judged"]
_AT_ONCE = 32  # queries re-ranked at once
_UNPACKED = 4  # an upload may be this many times as large when it is unpacked
LEXICAL = "BM25"


@dataclass(frozen=True)
class RetrievalOptions:
    """Options of an evaluation of retrieval.

    Attributes:
        split: split of a BEIR folder; by default ``test``, else ``dev``, else ``train``.
        candidates: rank all documents, or only the judged ones of each query (re-ranking of given candidates).
        reranker: model that re-ranks the first results of each model; empty for none.
        rerank_depth: number of results to re-rank.
        overrides: columns of a table set by the user.
        corpus: further documents of a table, which are not judged.
        passages: also cut the documents into passages that fit each model's limit, and rank each document by its best one.
        titles: put the titles of a BEIR folder before the texts.
    """

    split: str = ""
    candidates: Candidates = "all"
    reranker: str = ""
    rerank_depth: int = DEPTH
    overrides: SchemaOverrides | None = None
    corpus: str | Path | None = None
    passages: bool = False
    titles: bool = True


@dataclass(frozen=True, eq=False)
class _System:
    """A system, its ranking of every query, and the vectors of the queries, if it has any."""

    name: str
    kind: SystemKind
    rankings: list[Ranking]
    model: str = ""
    base: str = ""
    asked: np.ndarray | None = None


class RetrievalService(Service):
    """Evaluates retrieval: which documents models find for queries."""

    def __init__(self, resources: Resources, data: DataService, languages: LanguageService, leaderboard: Leaderboard) -> None:
        super().__init__(resources)
        self._data, self._languages, self._leaderboard = data, languages, leaderboard
        self._history = TrainingHistory(resources)

    def read(self, source: str | Path | Table, options: RetrievalOptions | None = None) -> RetrievalSet:
        """Read a BEIR folder (or a zip of one), or a table of queries, documents and grades; of documents alone, make a known-item set.

        Raises:
            StudioError: see :func:`~sbert_studio.data.retrieval.read_beir` and :func:`~sbert_studio.data.retrieval.read_judgments`.
        """
        options = options or RetrievalOptions()
        place = None if isinstance(source, Table) else existing_path(source)
        if place is not None and place.is_dir() and (options.split or has_beir_files(place)):
            return read_beir(place, options.split, self._data.read_table, titles=options.titles)
        if place is not None and is_beir_archive(place):
            with unpack_beir(place, _UNPACKED * self.settings.max_upload_mb << 20) as folder:
                return read_beir(folder, options.split, self._data.read_table, titles=options.titles)
        if place is not None and is_document_source(place):
            return build_known_items(self._data.documents.load(place))
        table = self._data.read_table(source, overrides=options.overrides)
        corpus = () if options.corpus is None else self._data.read_corpus(options.corpus).texts
        if place is not None and not options.overrides and not has_judgments(table):
            return build_table_items(self._data.documents.load(place), table.columns)
        return read_judgments(table, options.overrides, corpus)

    def evaluate(
        self,
        models: Sequence[str],
        source: str | Path | Table | RetrievalSet,
        options: RetrievalOptions | None = None,
        *,
        owner: str = LOCAL_OWNER,
        begin_phase: BeginPhase = lambda phase, unit: None,
    ) -> RetrievalResult:
        """Evaluate every model, and BM25, hybrid search and re-ranked results beside it.

        Args:
            models: the default model if empty. Cross-encoders and poly-encoders can only rank judged candidates.
            owner: owner of the leaderboard entries; empty to store none. Known-item checks are never stored.
            begin_phase: called as each phase begins; returns its progress callback.

        Raises:
            StudioError: the set cannot be read, or a model cannot rank its documents.
        """
        options = options or RetrievalOptions()
        begin_phase("reading the retrieval set", "texts")
        data = source if isinstance(source, RetrievalSet) else self.read(source, options)
        judged_only = options.candidates == "judged"
        data = _with_alternatives(data) if judged_only else data
        names = tuple(dict.fromkeys(name for name in models if name)) or (self.settings.default_model,)
        lexical = _System(LEXICAL, "lexical", self._rank_lexically(data, options, begin_phase))
        scored, baselines = list[RetrievalScores](), [_score(lexical, data)]
        for name in names:
            system, scores = self._evaluate_model(name, data, options, begin_phase)
            scored.append(scores)
            baselines += [_score(one, data) for one in self._combine(system, lexical, data, options, begin_phase)]
        result = RetrievalResult(
            *_first_metrics(scored[0]),
            set=data.name,
            queries=len(data),
            documents=len(data.documents),
            models=tuple(scored),
            baselines=tuple(baselines),
            comparisons=tuple(_compare(data.name, scored, baselines)),
            candidates=options.candidates,
            split=data.split,
            known_item=data.known_item,
            notes=(*data.notes, *_judgment_notes(scored[0], judged_only)),
            digest=digest_texts([data.digest, options.candidates]),
            query_texts=data.queries,
        )
        stored = () if data.known_item else self._leaderboard.add_retrieval(result, owner)
        return replace(result, notes=(*result.notes, *stored))

    def _evaluate_model(
        self, name: str, data: RetrievalSet, options: RetrievalOptions, begin_phase: BeginPhase
    ) -> tuple[_System, RetrievalScores]:
        title = self._resources.store.title(name)
        begin_phase(_("loading {name}", name=title), "texts")
        model, began, speed = self.catalog.load_any(name), time.perf_counter(), EncodingSpeed()
        if isinstance(model, PairScorer):
            if options.candidates != "judged":
                raise StudioError(
                    _("{name} compares pairs and cannot search all documents", name=name),
                    "choose it as the reranker, or rank the judged candidates only",
                )
            pairs = [Ranking(np.fromiter(grades, np.int64), np.zeros(len(grades))) for grades in data.grades]
            system = _System(
                name, "semantic", self._rerank(name, pairs, data, None, begin_phase("scoring the candidates", "queries")), name
            )
            return system, replace(_score(system, data), fingerprint=model.fingerprint, seconds=time.perf_counter() - began)
        reader, asker = model.for_role("document"), model.for_role("query")
        with speed.measure(begin_phase(_("encoding the documents with {name}", name=title), "texts")) as show:
            documents = self._resources.vectors.get(data.documents, digest_texts(data.documents), reader, show)
        with speed.measure(begin_phase(_("encoding the queries with {name}", name=title), "texts")) as show:
            queries = require_finite_vectors(asker.encode(data.queries, progress=show))
        progress, by = begin_phase(_("searching with {name}", name=title), "queries"), model.similarity_name
        if options.candidates == "judged":
            found = rank_candidates_by_vectors(queries, documents, data, by)
        else:
            found = rank_vectors(queries, documents, np.arange(len(documents)), by, ignored=data.ignored(), progress=progress)
        system = _System(name, "semantic", list(found), name, asked=queries)
        lengths = None if reader.tokens is None else np.array(reader.tokens.count_tokens(data.documents))
        scores = replace(
            _score(system, data),
            truncated=None if lengths is None else int((lengths > reader.max_length).sum()),
            max_length=None if lengths is None else reader.max_length,
            sentences_per_second=round(speed.rate, 2),
            notes=self._model_notes(name, model, data),
            missed=tuple(find_misses(data, system.rankings, None if lengths is None else lengths > reader.max_length)),
            fingerprint=reader.fingerprint,
            dim=model.dim,
            seconds=time.perf_counter() - began,
        )
        return system, scores

    def _combine(
        self, system: _System, lexical: _System, data: RetrievalSet, options: RetrievalOptions, begin_phase: BeginPhase
    ) -> Iterator[_System]:
        """Yield a model on passages, hybrid search with it, and its re-ranked results."""
        from ..explore.search import Hit, reciprocal_rank_fusion

        def fuse(*both: Ranking) -> Ranking:
            hits = [[Hit(row, score) for row, score in zip(one.rows.tolist(), one.scores.tolist(), strict=True)] for one in both]
            fused = reciprocal_rank_fusion(hits)
            return Ranking(np.array([hit.row for hit in fused], np.int64), np.array([hit.score for hit in fused]))

        if options.passages and system.asked is not None and options.candidates == "all":
            yield self._rank_passages(system, data, begin_phase)
        pairs = zip(system.rankings, lexical.rankings, strict=True)
        yield _System(f"{system.name} + {LEXICAL}", "hybrid", [fuse(one, other) for one, other in pairs], system.model, system.name)
        if options.reranker and options.reranker != system.name:
            name = _("{model}, re-ranked by {reranker}", model=system.name, reranker=options.reranker)
            progress = begin_phase(_("re-ranking with {name}", name=self._resources.store.title(options.reranker)), "queries")
            rankings = self._rerank(options.reranker, system.rankings, data, options.rerank_depth, progress)
            yield _System(name, "reranked", rankings, options.reranker, system.name)

    def _rank_passages(self, system: _System, data: RetrievalSet, begin_phase: BeginPhase) -> _System:
        model = self.catalog.load_vector_encoder(system.model)
        reader, texts = model.for_role("document"), list[str]()
        if reader.tokens is None:
            raise StudioError(_("the tokens of {name} cannot be counted", name=system.name), "evaluate it without passages")
        budget = TokenBudget(reader.tokens.count_tokens, min(reader.max_length, PASSAGE_TOKENS))
        progress = begin_phase(_("cutting passages for {name}", name=self._resources.store.title(system.name)), "documents")
        owners = list[int]()
        for passage in make_passages(data.as_documents(), budget, progress=progress):
            texts.append(passage.encoded_text)
            owners.append(passage.document)
        # A document without text is a passage of its title.
        bare = sorted(set(range(len(data.documents))) - set(owners))
        order = np.argsort([*owners, *bare], kind="stable")
        texts = [[*texts, *(data.documents[row] for row in bare)][place] for place in order.tolist()]
        progress = begin_phase(_("encoding the passages with {name}", name=self._resources.store.title(system.name)), "texts")
        vectors = self._resources.vectors.get(texts, digest_texts(texts), reader, progress)
        assert system.asked is not None
        ranked = np.array([*owners, *bare])[order]
        found = rank_vectors(system.asked, vectors, ranked, model.similarity_name, ignored=data.ignored())
        name = _("{model}, {passages} passages", model=system.name, passages=f"{len(texts):,}")
        return _System(name, "passages", list(found), system.model, system.name)

    def _rank_lexically(self, data: RetrievalSet, options: RetrievalOptions, begin_phase: BeginPhase) -> list[Ranking]:
        progress = begin_phase("searching with BM25", "queries")
        digest, store = digest_texts(data.documents), self._resources.lexical_store
        index = self._resources.lexical_indexes.get(digest, lambda: store.get(data.documents, digest), checkpoint)
        ignored, found = data.ignored(), list[Ranking]()
        for query, text in enumerate(data.queries):
            checkpoint()
            left_out = set(ignored.get(query, ()))
            rows = np.fromiter(sorted(data.grades[query]), np.int64) if options.candidates == "judged" else None
            hits = search_with_ties(index, text, DEPTH + len(left_out)) if rows is None else index.search(text, len(rows), rows)
            scores = {hit.row: hit.score for hit in hits if hit.row not in left_out}
            if rows is not None:  # a given candidate without a shared word is ranked last
                scores = dict.fromkeys(rows.tolist(), 0.0) | scores
            depth = DEPTH if rows is None else None
            found.append(Ranking.sort(np.fromiter(scores, np.int64), np.fromiter(scores.values(), np.float64), depth))
            if progress is not None:
                progress(query + 1, len(data))
        return found

    def _rerank(
        self, name: str, rankings: Sequence[Ranking], data: RetrievalSet, depth: int | None, progress: Progress | None
    ) -> list[Ranking]:
        """Sort the first ``depth`` documents of each ranking (all by default) by a pair scorer; the others follow in their order."""
        scorer, vectors = self.catalog.load_scorer(name), None
        if scorer.labels > 1:
            raise StudioError(_("{name} is a classifier and cannot re-rank", name=name), "choose a cross-encoder with a single score")
        if scorer.candidate_encoder is not None:
            vectors = self._resources.vectors.get(data.documents, digest_texts(data.documents), scorer.candidate_encoder)
        found: list[Ranking] = []
        for start in range(0, len(rankings), _AT_ONCE):
            checkpoint()
            part = rankings[start : start + _AT_ONCE]
            ends = [one.end(depth) for one in part]
            if vectors is None:
                pairs = [
                    (data.queries[start + at], data.documents[row])
                    for at, (one, end) in enumerate(zip(part, ends, strict=True))
                    for row in one.rows[:end].tolist()
                ]
                scores = np.asarray(require_finite(scorer.predict(pairs)), np.float64) if pairs else np.empty(0)
            else:
                per_query = (
                    scorer.score_candidates([data.queries[start + at]], vectors[one.rows[:end]])[0]
                    for at, (one, end) in enumerate(zip(part, ends, strict=True))
                )
                scores = require_finite(np.concatenate([np.asarray(own, np.float64) for own in per_query]))
            for one, own in zip(part, np.split(scores, np.cumsum(ends)[:-1]), strict=True):
                head, rest = Ranking.sort(one.rows[: len(own)], own, None), one.rows[len(own) :]
                place = np.cumsum(np.diff(one.scores[len(own) :], prepend=np.inf) < 0)  # ties stay ties
                below = (own.min() if len(own) else 0.0) - place
                found.append(Ranking(np.concatenate([head.rows, rest]), np.concatenate([head.scores, below])))
            if progress is not None:
                progress(min(start + _AT_ONCE, len(rankings)), len(rankings))
        return found

    def _model_notes(self, name: str, model: Encoder, data: RetrievalSet) -> tuple[str, ...]:
        texts = [*data.queries, *data.documents]
        pairs = [(query, row) for query, grades in enumerate(data.grades) for row, grade in grades.items() if grade > 0]
        columns = {"query": [data.queries[query] for query, _ in pairs], "document": [data.documents[row] for _, row in pairs]}
        table = table_from_columns(data.name, columns)
        return (
            *score_note(name, model.similarity_name),
            *self._languages.language_notes(texts, name),
            *unknown_word_notes(model.coverage(texts), len(texts)),
            *(
                _("{overlap}, so its score here is inflated.", overlap=describe_overlap(rows, table, run))
                for run, rows in self._history.find_trained_rows(name, table)
            ),
        )


def _with_alternatives(data: RetrievalSet) -> RetrievalSet:
    """Return the queries with judged documents that are not relevant: with the others alone, every ranking is right."""
    kept = [query for query, grades in enumerate(data.grades) if min(grades.values()) <= 0]
    if len(kept) == len(data):
        return data
    if not kept:
        raise StudioError(
            _("no query of {name} has a judged document that is not relevant", name=data.name),
            "rank all documents, or add rows with grade 0",
        )
    note = ngettext(
        "{n} query without a judged document that is not relevant is left out",
        "{n} queries without a judged document that is not relevant are left out",
        len(data) - len(kept),
    )
    return replace(data.take(kept), notes=(*data.notes, note))


def search_with_ties(index: LexicalIndex, query: str, depth: int) -> list[Hit]:
    """Return the best ``depth`` rows, and those that tie with the last one."""
    most = depth
    while True:
        hits = index.search(query, most)
        if len(hits) < most or hits[-1].score < hits[depth - 1].score:
            return [hit for hit in hits if hit.score >= hits[min(depth, len(hits)) - 1].score]
        most *= 4


def _score(system: _System, data: RetrievalSet) -> RetrievalScores:
    checkpoint()
    scores = score_rankings(system.rankings, data)
    judged = [row in grades for one, grades in zip(system.rankings, data.grades, strict=True) for row in one.rows[:CUT].tolist()]
    share = float(np.mean(judged)) if judged else 0.0
    return RetrievalScores(*RetrievalScores.values(scores), system.name, system.kind, system.model, share, scores=scores, base=system.base)


def _first_metrics(first: RetrievalScores) -> tuple[float, float, float, float, float, Mapping[str, list[float]]]:
    assert first.scores is not None
    return RetrievalScores.values(first.scores)


def _judgment_notes(first: RetrievalScores, judged_only: bool) -> tuple[str, ...]:
    if judged_only or first.judged == 1:
        return ()
    share = f"{1 - first.judged:.0%}"
    return (_("{share} of the first ten results of {name} have no judgment and count as not relevant.", share=share, name=first.name),)


def _compare(subject: str, models: Sequence[RetrievalScores], baselines: Sequence[RetrievalScores]) -> Iterator[Comparison]:
    """Compare every two models; and BM25 with each model, and each model with what is combined with it."""
    yield from (_comparison(subject, one, other) for one, other in combinations(models, 2))
    for model in models:
        yield _comparison(subject, baselines[0], model)
        yield from (_comparison(subject, model, one) for one in baselines if one.base == model.name)


def _comparison(subject: str, first: RetrievalScores, second: RetrievalScores) -> Comparison:
    scores = first.metric(MAIN), second.metric(MAIN)
    drawn = [None if one.scores is None else one.scores.resampled[:, 0] for one in (first, second)]
    interval, chance = paired_difference(scores, (drawn[0], drawn[1]))
    if interval is not None and first.scores is not None and second.scores is not None:
        low, high = second.scores.interval_of_gain(first.scores)
        interval, chance = (low, high), second.scores.chance_of_gain(first.scores)
    return Comparison(subject, "file", "retrieval", MAIN, (first.name, second.name), scores, interval, chance)


_SHOWN = 200  # characters of a document
_SIMILAR = 0.8  # minimum Jaccard similarity of the words of near-duplicates
_MIN_WORDS = 2  # minimum number of common words of a language
_KANA = re.compile(r"[\u3041-\u30ff]")


def find_misses(data: RetrievalSet, rankings: Sequence[Ranking], is_truncated: np.ndarray | None) -> Iterator[MissedDocument]:
    """Yield the relevant documents below the first ten of each query, with all reasons that apply.

    Args:
        rankings: one per query.
        is_truncated: (n,) bool, documents longer than the model's limit; ``None`` if unknown.
    """

    @cache
    def words(row: int) -> frozenset[str]:
        return frozenset(tokenize(data.documents[row]))

    @cache
    def language(row: int) -> str:
        return detect_language(data.documents[row], _MIN_WORDS)

    for query, (ranking, grades) in enumerate(zip(rankings, data.grades, strict=True)):
        checkpoint()
        first = ranking.rows[:CUT].tolist()
        ranks = {row: rank for rank, row in enumerate(ranking.rows.tolist(), 1)}
        missed = [row for row, grade in grades.items() if grade > 0 and row not in first]
        if not missed:
            continue
        asked = frozenset(tokenize(data.queries[query]))
        asked = asked - stop_words() or asked
        spoken = detect_language(data.queries[query], _MIN_WORDS)
        others = [row for row in first if grades.get(row, 0.0) <= 0]
        for row in missed:
            above = next((other for other in others if _jaccard(words(row), words(other)) >= _SIMILAR), None)
            applies: dict[Reason, bool] = {
                "near-duplicate above": above is not None,
                "other language": _differ(spoken, language(row), data.queries[query]),
                "no shared words": bool(asked) and asked.isdisjoint(words(row)),
                "longer than the limit": is_truncated is not None and bool(is_truncated[row]),
            }
            reasons = tuple(reason for reason, holds in applies.items() if holds) or ("other texts are closer",)
            yield MissedDocument(
                data.query_ids[query],
                data.queries[query],
                data.document_ids[row],
                data.documents[row][:_SHOWN],
                grades[row],
                ranks.get(row),
                reasons,
                "" if above is None else data.documents[above][:_SHOWN],
            )


def _differ(first: str, second: str, query: str) -> bool:
    """Return whether two languages are known and differ; a query of Han characters alone may be Chinese or Japanese."""
    return bool(first and second) and first != second and not ({first, second} == {"zh", "ja"} and not _KANA.search(query))


def _jaccard(one: frozenset[str], other: frozenset[str]) -> float:
    return len(one & other) / max(1, len(one | other))
