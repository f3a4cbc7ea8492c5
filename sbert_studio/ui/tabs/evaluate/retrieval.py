"""Results of an evaluation of retrieval in the Evaluate tab: models beside BM25, hybrid search and re-ranking, and what they missed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ....data.retrieval import retrieval_kind
from ....errors import StudioError
from ....evaluation.changes import SCORE_DIGITS
from ....evaluation.ranking import METRICS
from ....evaluation.report import describe_metric
from ....i18n import _, join, ngettext, with_full_stop
from ....services.retrieval_files import write_retrieval
from ...views import Value, column, shorten, speed_cell, table
from .conclusion import MainScore, conclusion_view, needed_digits, verdict
from .request import current_job
from .view_model import EvaluationPanel, speed_chart

if TYPE_CHECKING:
    from ....services.results import RetrievalResult, RetrievalScores
    from ...page import Page

RETRIEVAL = "search"
"""Choice of the task that evaluates retrieval from all documents."""
_MAX_MISSED, _MAX_NOTES, _MAX_CHARACTERS = 50, 8, 240


def searches_documents(page: Page, path: Path | str, task: str) -> bool:
    """Return True if models search the documents of a file: by choice, or because the file has documents or relevance judgments."""
    if task == RETRIEVAL:
        return True
    if task != "auto" or not isinstance(path, Path):
        return False
    try:
        return retrieval_kind(page.corpora.table(path), path) is not None
    except StudioError:
        return False  # the evaluation reports it


def retrieval_result(result: RetrievalResult, titles: Mapping[str, str], name: str, provenance: Value | None = None) -> EvaluationPanel:
    """Return the views of an evaluation of retrieval. ``titles``: titles of models by name; ``name``: name of the data."""
    models = [_main_score(one, result, titles) for one in result.models]
    lexical = _main_score(result.baselines[0], result, titles)
    combined = [(one, _main_score(one, result, titles)) for one in result.baselines[1:]]
    systems = [*zip(result.models, models, strict=True), (result.baselines[0], lexical), *combined]
    conclusion = conclusion_view([*models, lexical], warnings=[result.known_item] if result.known_item else [])
    best = max((score for _one, score in combined), key=lambda score: score.score, default=None)
    most = max((*models, lexical), key=lambda score: score.score)
    if best is not None and best.score > most.score:
        conclusion["more"] += [conclusion_view([best, most])["text"]]
    conclusion |= {"made": provenance, "theirs": [score.title for _one, score in systems]}
    points = [(score.title, score.rate, score.rate_spread, score.score, score.interval) for score in models]
    return EvaluationPanel(
        conclusion=conclusion,
        scores=_score_table(systems, result, titles, name),
        details=_interval_table(systems),
        chart=speed_chart(points, METRICS[0]),
        differences=_missed_table(result, titles),
        retrieval=result,
    )


def _main_score(one: RetrievalScores, result: RetrievalResult, titles: Mapping[str, str]) -> MainScore:
    drawn = None if one.scores is None or not len(one.scores.resampled) else one.scores.resampled[:, 0]
    interval = one.intervals[METRICS[0]] or None
    rate = one.sentences_per_second
    score = one.metric(METRICS[0])
    return MainScore(_title(one, titles), result.title, "retrieval", METRICS[0], score, interval, drawn, rate, ranking=one.scores)


def _title(one: RetrievalScores, titles: Mapping[str, str]) -> str:
    """Return the name of a system with the titles of its models, such as ``MiniLM + BM25``."""
    own, base = titles.get(one.model, one.model), titles.get(one.base, one.base)
    if one.kind == "reranked":
        return _("{model}, re-ranked by {reranker}", model=base, reranker=own)
    return own if one.kind == "semantic" else one.name.replace(one.base, base, 1) if one.base else one.name


_System = tuple["RetrievalScores", MainScore]


def _score_table(systems: Sequence[_System], result: RetrievalResult, titles: Mapping[str, str], name: str) -> Value:
    first = systems[0][1]
    digits = max((needed_digits(first, score) for _, score in systems[1:]), default=SCORE_DIGITS)
    columns = [column("System", main=True), column(describe_metric(METRICS[0]), "bar", digits=digits), column("95% interval", "interval")]
    columns += [column("Difference", "change", digits=digits), column("Verdict", ours=True)]
    columns += [column(describe_metric(metric), "number", digits=SCORE_DIGITS) for metric in METRICS[1:]]
    columns += [column("Sentences/s", "speed")]
    rows: list[list[object]] = []
    for one, score in systems:
        interval = [score.interval[0], score.score, score.interval[1]] if score.interval else None
        change = [None, ""] if score is first else [round(score.score, digits) - round(first.score, digits), verdict(first, score)]
        others = [one.metric(metric) for metric in METRICS[1:]]
        rows.append([score.title, score.score, interval, *change, *others, speed_cell(score.rate, None)])
    kind = _("known-item check") if result.known_item else _("retrieval")
    queries = ngettext("{n} query", "{n} queries", result.queries)
    documents = ngettext("{n} document", "{n} documents", result.documents)
    caption = _("{name} · {kind} · {queries} · {documents}", name=name, kind=kind, queries=queries, documents=documents)
    theirs = [score.title for _one, score in systems]
    return table(columns, rows, caption=caption, note=join("\n", _notes(result, titles)), theirs=[*theirs, name])


def _notes(result: RetrievalResult, titles: Mapping[str, str]) -> Iterator[str]:
    notes = [*result.notes]
    for model in result.models:
        title = [titles.get(model.name, model.name)] if len(result.models) > 1 else []
        notes += [*model.length_notes(), *(join(": ", [*title, note]) for note in model.notes)]
    shown = [with_full_stop(note) for note in dict.fromkeys(notes)]
    yield from shown[:_MAX_NOTES]
    if len(shown) > _MAX_NOTES:
        yield _("And {shown} more notes.", shown=len(shown) - _MAX_NOTES)


def _interval_table(systems: Sequence[_System]) -> Value | None:
    """Return the table of the intervals of all metrics; ``None`` if there are too few queries for intervals."""
    if not any(one.intervals[METRICS[0]] for one, _score in systems):
        return None
    columns = [column("System"), *(column(describe_metric(metric), "interval") for metric in METRICS)]
    rows: list[list[object]] = []
    for one, score in systems:
        ends = [(one.intervals[metric], one.metric(metric)) for metric in METRICS]
        rows.append([score.title, *([known[0], value, known[1]] if known else None for known, value in ends)])
    return table(columns, rows, caption="95% intervals of all metrics", theirs=[score.title for _one, score in systems])


def _missed_table(result: RetrievalResult, titles: Mapping[str, str]) -> Value:
    """Return the table of relevant documents below the first ten, of all models in turn, with the reasons."""
    several = len(result.models) > 1
    columns = [column("Model")] if several else []
    columns += [column("Query", main=True), column("Missed document"), column("Rank", ours=True), column("Reason", ours=True)]
    share = _MAX_MISSED // len(result.models)
    rows: list[list[object]] = []
    for model in result.models:
        for one in model.missed[:share]:
            texts = [shorten(one.query, _MAX_CHARACTERS), shorten(one.document, _MAX_CHARACTERS)]
            rank = str(one.rank) if one.rank else _("below 100")
            rows.append([*([titles.get(model.name, model.name)] if several else []), *texts, rank, join(", ", map(_, one.reasons))])
    missed = [one for model in result.models for one in model.missed]
    counts = Counter(reason for one in missed for reason in one.reasons)
    reasons = join("; ", (_("{reason}: {count}", reason=_(reason), count=f"{count:,}") for reason, count in counts.most_common()))
    more = _("The workbook lists all {missed}.", missed=f"{len(missed):,}") if len(missed) > len(rows) else ""
    caption = ngettext("{n} relevant document not among the first ten", "{n} relevant documents not among the first ten", len(missed))
    empty = "Every relevant document is among the first ten."
    return table(columns, rows, caption=caption, note=join("\n", [one for one in (reasons, more) if one]), empty=empty)


def write_result(page: Page, owner: object, corpus: str | None = None) -> Path:
    """Write the visitor's last evaluation of retrieval on the selected data as a workbook."""
    job = current_job(page, owner, corpus)
    result = job.result if job is not None else None
    if not isinstance(result, EvaluationPanel) or result.retrieval is None:
        raise StudioError("this result is no longer stored here", "press Evaluate again")
    return write_retrieval(result.retrieval, page.downloads.path(f"{result.retrieval.set} retrieval.xlsx"))
