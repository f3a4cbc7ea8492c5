"""Pair service: make training pairs from documents, and add hard negatives to pairs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ..data.document_pairs import DEFAULT_SOURCES, DOCUMENT_ID, PairOptions, make_document_pairs, parse_sources, passages_for_pairs
from ..data.documents.document import Documents
from ..data.documents.loading import load_documents
from ..data.documents.passages import Passage, TokenBudget, make_passages
from ..data.examples import Examples, build_examples
from ..data.row_report import report_rows
from ..data.schema.roles import Roles
from ..data.split import normalize_text
from ..errors import StudioError
from ..evaluation.encoding import require_finite
from ..explore.hard_negatives import NegativeOptions, QueryNegatives, Rescore, measure_baseline, mine_hard_negatives
from ..i18n import _, join, to_sentence
from ..progress import Progress
from ..workspace import digest_texts
from .data import DataService
from .jobs import BeginPhase
from .languages import LanguageService
from .resources import Resources, Service
from .results.training import MadePairs, MinedNegatives, MinedRow, SuspectedNegative
from .written_queries import NOT_FOUND, WritingEstimate, WritingOptions, estimate_writing, finds_document, list_counts, write_queries

if TYPE_CHECKING:
    from ..data.loading.table import Table
    from ..models.base import Encoder
    from .language_model import LanguageModel

DocumentSource = Documents | str | Path | Sequence[str | Path]
"""Documents, or the paths to read them from."""
_PASSAGE_TOKENS = 256
HELD_OUT = _("kept for the comparison")
"""Reason why pairs of documents that are held out are not used."""


@dataclass(frozen=True)
class CutDocuments:
    """Documents and their passages.

    Attributes:
        model: the model whose token limit the passages respect; ``None`` for the default one.
    """

    documents: Documents
    passages: tuple[Passage, ...]
    model: str | None = None

    @cached_property
    def texts(self) -> list[str]:
        """The passages as they are encoded."""
        return [passage.encoded_text for passage in self.passages]

    def places(self, held_out: Collection[str] = ()) -> list[int]:
        """Return the indices of the passages of all documents except those with the given ids."""
        documents = self.documents.documents
        return [place for place, passage in enumerate(self.passages) if documents[passage.document].id not in held_out]


class PairService(Service):
    """Makes training data: pairs from documents, and hard negatives for pairs."""

    def __init__(self, resources: Resources, data: DataService, languages: LanguageService) -> None:
        super().__init__(resources)
        self._data, self._languages = data, languages

    def read(self, documents: DocumentSource, model: str | None = None, begin_phase: BeginPhase = lambda phase, unit: None) -> CutDocuments:
        """Read documents and cut them into passages without overlap, within the token limit of the model to be trained."""
        if not isinstance(documents, Documents):
            documents = load_documents(documents, progress=begin_phase("reading", "files"))
        encoder = self._languages.load(model, "document")
        report = begin_phase("cutting into passages", "documents")
        return CutDocuments(documents, tuple(make_passages(documents.documents, _token_budget(encoder), 0.0, report)), model)

    def estimate(
        self, source: CutDocuments, language_model: LanguageModel, options: WritingOptions | None = None, held_out: Collection[str] = ()
    ) -> WritingEstimate:
        """Let a language model write a few queries, and estimate the time and cost of all; for no held-out documents."""
        count = _token_budget(self._languages.load(source.model, "document")).count
        texts = [source.texts[place] for place in source.places(held_out)]
        return estimate_writing(texts, language_model, options or WritingOptions(), count)

    def make(
        self,
        source: CutDocuments,
        sources: Collection[str] = DEFAULT_SOURCES,
        options: PairOptions | None = None,
        *,
        language_model: LanguageModel | None = None,
        writing: WritingOptions | None = None,
        held_out: Collection[str] = (),
        begin_phase: BeginPhase = lambda phase, unit: None,
    ) -> MadePairs:
        """Make pairs of queries and passages from documents, without labels.

        Args:
            sources: names of :data:`~sbert_studio.data.document_pairs.SOURCES`.
            language_model: writes the queries of the source ``llm``.
            held_out: ids of documents (:func:`~sbert_studio.data.known_items.hold_out_documents`) for which no queries are written, and
                whose other pairs are not used.
            begin_phase: called as each phase begins.

        Raises:
            StudioError: a source is unknown, the language model is missing, or the documents give no pairs.
        """
        origins = parse_sources(sources)
        texts = passages_for_pairs(source.documents.documents, source.passages)
        dropped: dict[str, dict[str, int]] = {}
        notes = list(source.documents.notes())
        if "written" in origins:
            if language_model is None:
                raise StudioError("the source llm needs a language model", "specify the address and the name of one")
            queries, failures, outages = self._write(source, language_model, writing or WritingOptions(), held_out, begin_phase)
            notes += outages
            texts = [replace(text, written=(queries[place],) if place in queries else ()) for place, text in enumerate(texts)]
            dropped["written"] = dict(failures)
        found = make_document_pairs(texts, origins, options, begin_phase("making pairs", "passages"))
        for pair in found.pairs:
            if pair.document_id in held_out:
                found.drop(pair, HELD_OUT)
        found.pairs = [pair for pair in found.pairs if pair.document_id not in held_out]
        owners = [texts[place].document for place in source.places(held_out)]
        unused = {**found.unused_passages(owners), HELD_OUT: len(texts) - len(owners)}
        for origin, reasons in found.dropped.items():
            dropped[origin] = {**dropped.get(origin, {}), **reasons}
        if not found.pairs:
            counts = sum(map(Counter, dropped.values()), Counter[str]())
            hint = "use more or longer documents, or another source"
            if counts:
                hint = _("Dropped: {reasons}. Use more or longer documents, or another source.", reasons=list_counts(counts))
            if found.repeated:
                repeated = _(
                    "All sentences of {n} of {passages} passages are in other documents, too, and cannot tell them apart.",
                    n=f"{found.repeated:,}",
                    passages=f"{len(texts):,}",
                )
                hint = join(" ", [repeated, to_sentence(hint)])
            raise StudioError(_("the documents of {name} give no pairs", name=source.documents.name), hint)
        if missing := [origin for origin in origins if not found.kept[origin]]:
            names = [f"{origin} ({list_counts(dropped[origin])})" if dropped.get(origin) else origin for origin in missing]
            notes.append(_("No pairs were made from: {origins}.", origins=", ".join(names)))
        unused = {reason: count for reason, count in unused.items() if count}
        return MadePairs(tuple(found.pairs), len(source.documents), len(source.passages), dropped, unused, tuple(notes))

    def _write(
        self,
        source: CutDocuments,
        language_model: LanguageModel,
        options: WritingOptions,
        held_out: Collection[str],
        begin_phase: BeginPhase,
    ) -> tuple[dict[int, str], Counter[str], list[str]]:
        """Return the written queries that find their document, by passage, the number of others by reason, and notes."""
        candidates = source.places(held_out)
        texts = [source.texts[place] for place in candidates]
        written, failures, notes = write_queries(texts, language_model, options, begin_phase("writing queries", "passages"))
        queries = {candidates[number]: query for number, query in written.items()}
        if queries and options.depth:
            encoder = self._languages.load(source.model, "document")
            places, asked = list(queries), list(queries.values())
            vectors = self._vectors(source.texts, encoder, begin_phase("encoding the passages", "passages"))
            query_vectors = self._vectors(
                asked, self._languages.load(source.model, "query"), begin_phase("encoding the queries", "queries")
            )
            owners = [passage.document for passage in source.passages]
            found = finds_document(query_vectors, vectors, places, owners, options.depth, encoder.similarity_name)
            failures[NOT_FOUND] += found.count(False)
            queries = {place: queries[place] for place, is_found in zip(places, found, strict=True) if is_found}
        return queries, +failures, notes

    def mine_negatives(
        self,
        pairs: str | Path | Table,
        corpus: DocumentSource | None = None,
        options: NegativeOptions | None = None,
        *,
        model: str | None = None,
        reranker: str | None = None,
        begin_phase: BeginPhase = lambda phase, unit: None,
    ) -> MinedNegatives:
        """Find hard negatives for the pairs of a file with a model.

        Never used are texts of the same document as a positive, if the file has the column ``document_id``, and copies of the query.

        Args:
            corpus: documents to search, in addition to the second texts of all pairs.
            options: by default, the relative margin is a share of what the positive's score exceeds that of unrelated texts by.
            model: the model to be trained.
            reranker: a cross-encoder, whose scores then decide; by default, the similarity of the model.
        """
        options = options or NegativeOptions(baseline=None)
        table = self._data.read_table(pairs, progress=begin_phase("reading", "bytes"))
        roles = self._data.infer_roles(table)
        if len(roles.texts) < 2:
            raise StudioError("this file has only one text column, but pairs need two", "put the two texts of a pair into two columns")
        columns = (roles.texts[0], roles.texts[1])
        examples, findings = build_examples(table, Roles("positive_pairs", columns))
        places = np.searchsorted(table.lines, examples.lines).tolist()
        fields = {name: [table.column(name)[row] for row in places] for name in table.columns if name not in roles.texts}
        encoder = self._languages.load(model, "document")
        searched = _SearchedTexts()
        if corpus is not None:
            cut = self.read(corpus, model, begin_phase)
            for passage in cut.passages:
                searched.add(passage.encoded_text, cut.documents.documents[passage.document].id)
        asked = searched.add_pairs(examples, fields.get(DOCUMENT_ID))
        queries, texts = list(asked), searched.texts
        vectors = (
            self._vectors(queries, self._languages.load(model, "query"), begin_phase("encoding the queries", "queries")),
            self._vectors(texts, encoder, begin_phase("encoding the passages", "passages")),
        )
        positives = list(asked.values())
        excluded = [searched.related(query, rows) for query, rows in asked.items()]
        by, rescore, report = encoder.similarity_name, self._rescore(reranker, queries, texts), begin_phase("searching", "queries")
        options = measure_baseline(*vectors, positives, options, excluded=excluded, by=by, rescore=rescore)
        found = mine_hard_negatives(*vectors, positives, options, excluded=excluded, by=by, rescore=rescore, progress=report)
        of_query = dict(zip(queries, found, strict=True))
        rows, kept = _mined_rows(examples, of_query, asked, texts)
        return MinedNegatives(
            rows,
            columns,
            {name: [cells[place] for place in kept] for name, cells in fields.items()},
            _suspected(examples, of_query, asked, texts),
            options.per_row,
            sum(len(row.negatives) < options.per_row for row in rows),
            len(examples) - len(rows),
            len(texts),
            options.relative_margin,
            options.baseline,
            report_rows(table, findings, examples.lines),
            model or self.settings.default_model,
            reranker,
            self._languages.language_notes(queries, model),
        )

    def _vectors(self, texts: Sequence[str], encoder: Encoder, report: Progress | None) -> np.ndarray:
        return self._resources.vectors.get(texts, digest_texts(texts), encoder, report)

    def _rescore(self, reranker: str | None, queries: Sequence[str], texts: Sequence[str]) -> Rescore | None:
        if reranker is None:
            return None
        scorer = self.catalog.load_scorer(reranker)
        if scorer.labels > 1:
            raise StudioError(
                _("{name} is a classifier and cannot re-rank", name=scorer.name), "choose a cross-encoder with a single score"
            )
        return lambda query, rows: require_finite(scorer.predict([(queries[query], texts[row]) for row in rows.tolist()]))


@dataclass
class _SearchedTexts:
    """Distinct texts to search, and the documents that they belong to."""

    texts: list[str] = field(default_factory=list)
    _rows: dict[str, int] = field(default_factory=dict)
    _groups: list[set[str]] = field(default_factory=list)
    _members: dict[str, set[int]] = field(default_factory=dict)

    def add(self, text: str, document: str) -> int:
        row = self._rows.setdefault(text, len(self.texts))
        if row == len(self.texts):
            self.texts.append(text)
            self._groups.append({_text_group(text)})
        if document:
            self._groups[row].add(f"document {document}")
        for group in self._groups[row]:
            self._members.setdefault(group, set()).add(row)
        return row

    def add_pairs(self, examples: Examples, documents: Sequence[str] | None) -> dict[str, list[int]]:
        """Add the second texts of pairs; return the rows of the positives of each query."""
        asked: dict[str, list[int]] = {}
        for place, (query, positive) in enumerate(zip(*examples.texts[:2], strict=True)):
            rows = asked.setdefault(query, [])
            if (row := self.add(positive, documents[place] if documents else "")) not in rows:
                rows.append(row)
        return asked

    def related(self, query: str, positives: Sequence[int]) -> set[int]:
        """Return the rows that are no negatives of a query: those equal to it or to a positive, and those of the positives' documents."""
        groups = {_text_group(query)}.union(*(self._groups[row] for row in positives))
        return set().union(*(self._members.get(group, ()) for group in groups)) - set(positives)


def _text_group(text: str) -> str:
    return f"text {normalize_text(text)}"


def _token_budget(encoder: Encoder) -> TokenBudget:
    tokens = encoder.tokens
    if tokens is None:
        return TokenBudget(lambda texts: [len(text) // 4 + 1 for text in texts], _PASSAGE_TOKENS)
    return TokenBudget(tokens.count_tokens, min(encoder.max_length, _PASSAGE_TOKENS))


def _mined_rows(
    examples: Examples, by_query: Mapping[str, QueryNegatives], positives: Mapping[str, Sequence[int]], texts: Sequence[str]
) -> tuple[list[MinedRow], list[int]]:
    """Return the rows with negatives, and their indices among the examples."""
    rows, kept = [], []
    for place, (query, positive) in enumerate(zip(*examples.texts[:2], strict=True)):
        mined = by_query[query]
        own = next(number for number, row in enumerate(positives[query]) if texts[row] == positive)
        if mined.rows:
            negatives = tuple(texts[row] for row in mined.rows)
            line = int(examples.lines[place])
            rows.append(MinedRow(line, query, positive, negatives, float(mined.positive_scores[own]), tuple(mined.scores)))
            kept.append(place)
    return rows, kept


def _suspected(
    examples: Examples, negatives: Mapping[str, QueryNegatives], positives: Mapping[str, Sequence[int]], texts: Sequence[str]
) -> list[SuspectedNegative]:
    """Return the doubtful texts of each query once, those with the largest excess over the positive first."""
    doubts = []
    lines = dict(zip(reversed(examples.texts[0]), reversed(examples.lines.tolist()), strict=True))
    for query, mined in negatives.items():
        weakest = int(np.argmin(mined.positive_scores))
        positive, score = texts[positives[query][weakest]], float(mined.positive_scores[weakest])
        doubts += [SuspectedNegative(lines[query], query, positive, texts[row], float(one), score) for row, one in mined.suspected]
    return sorted(doubts, key=lambda doubt: doubt.positive_score - doubt.score)
