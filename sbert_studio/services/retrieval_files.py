"""Files of an evaluation of retrieval: an XLSX workbook, or the scores of every system as CSV."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from ..data.cells import write_rows, xlsx_cell
from ..evaluation.ranking import METRICS
from ..i18n import with_full_stop
from ..workspace import atomic_file, require_suffix
from .results import RetrievalResult, RetrievalScores

_SHEETS = "Scores", "Comparisons", "Queries", "Missed", "Notes"
SUFFIXES = (".xlsx", ".csv")
_Rows = Iterator[Sequence[Any]]


def write_retrieval(result: RetrievalResult, path: Path) -> Path:
    """Write the result to ``path``: .xlsx has sheets for scores, comparisons, queries, missed documents and notes; .csv has the scores.

    Raises:
        StudioError: the suffix is not supported.
    """
    require_suffix(path, SUFFIXES)
    if path.suffix.lower() == ".csv":
        head, *rows = _scores(result)
        write_rows(path, [str(name) for name in head], rows)
        return path
    from openpyxl import Workbook

    book = Workbook(write_only=True)
    for title, sheet_rows in zip(_SHEETS, (_scores, _comparisons, _queries, _missed, _notes), strict=True):
        sheet = book.create_sheet(title)
        sheet.freeze_panes = "A2"
        for number, row in enumerate(sheet_rows(result)):
            sheet.append([xlsx_cell(sheet, cell, is_header=number == 0 and title != "Notes") for cell in row])
    with atomic_file(path) as part:
        book.save(part)
    return path


def _systems(result: RetrievalResult) -> list[RetrievalScores]:
    return [*result.models, *result.baselines]


def _scores(result: RetrievalResult) -> _Rows:
    ends = [f"{metric} {end}" for metric in METRICS for end in ("", "low", "high")]
    yield ["set", "system", "kind", *(name.strip() for name in ends), "sentences per second", "queries", "documents"]
    for one in _systems(result):
        cells = [cell for metric in METRICS for cell in (one.metric(metric), *(one.intervals[metric] or (None, None)))]
        yield [result.title, one.name, one.kind, *cells, one.sentences_per_second or None, result.queries, result.documents]


def _comparisons(result: RetrievalResult) -> _Rows:
    yield ["first", "second", "metric", "difference", "low", "high", "p of a randomization test", "result"]
    for one in result.comparisons:
        yield [*one.models, one.metric, one.difference, *(one.interval or (None, None)), one.chance, str(one.description)]


def _queries(result: RetrievalResult) -> _Rows:
    systems = [one for one in _systems(result) if one.scores is not None]
    yield ["query", *(f"{METRICS[0]} {one.name}" for one in systems)]
    for row, query in enumerate(result.query_texts):
        yield [query, *(float(one.scores.by_query[row, 0]) for one in systems if one.scores is not None)]


def _missed(result: RetrievalResult) -> _Rows:
    yield ["model", "query", "missed document", "grade", "rank", "reasons", "near-duplicate above"]
    for model in result.models:
        for one in model.missed:
            yield [model.name, one.query, one.document, one.grade, one.rank, ", ".join(one.reasons), one.above]


def _notes(result: RetrievalResult) -> _Rows:
    notes = [result.known_item, *result.notes, *(note for model in result.models for note in (*model.length_notes(), *model.notes))]
    yield from ([str(with_full_stop(note))] for note in dict.fromkeys(notes) if note)
