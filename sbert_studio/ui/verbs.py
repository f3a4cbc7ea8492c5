"""The endpoints' functions: all arguments explicit, no session state, and the answer's class declares its JSON."""

from __future__ import annotations

import functools
import inspect
import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from pydantic import computed_field

from ..data.doctor.diagnosis import Diagnosis
from ..data.row_report import RowReport
from ..data.schema.roles import SchemaOverrides, parse_overrides
from ..errors import StudioError, is_valid_utf8
from ..evaluation.report import Report
from ..runs.run import LOCAL_OWNER, Run
from ..serialization import JsonResult, doc
from ..services import Studio
from ..services.questions import OpenQuestionsError, describe_answers
from ..services.results import EvaluationResult, MapView, MinedPairs, RetrievalResult, RunView, SearchResult, Similarity
from ..services.retrieval import RetrievalOptions
from ..services.topic_report import TopicReport, make_topic_report
from ..services.training_plan import TrainRequest
from .page import Page

if TYPE_CHECKING:
    from ..explore.clusters import ClusterParams

Verb = Callable[..., JsonResult]
_DIGITS = re.compile(r"[0-9]+", re.ASCII)
_MAX_DIGITS = 1_000  # maximum digits of a number of clusters; Python parses at most 4,300
_MAX_JSON_DIGITS = 16
_MAX_MODELS = 6
_PATHS = ("path", "model")  # fields of events that contain folders of this machine
_PLACEHOLDER = "        overrides: what is known about the file.\n"
_ARGUMENTS = """\
        kind: scored_pairs, labelled_pairs, positive_pairs, triplets, labelled_texts or sentences; empty to detect it; the same applies
            to the following arguments.
        columns: the text columns, comma-separated, in the order of their roles.
        target: the column of scores, labels or categories.
        group: the column of topics.
        scale: scores of the least and the most similar, such as 0-5, or 5-0.
        order: labels from least to most similar, separated by commas; none if they have no order.
        encoding: codec, such as utf-8 or gb18030.
        delimiter: between two cells, such as ; or tab.
        header: yes or no: whether the first row contains the column names.
        split: the column that assigns rows to train, dev and test; none to ignore it.
"""
_AS_READ = "        as_read: accept an uncertain detection; otherwise the question and its answers are returned as an error.\n"


@dataclass(frozen=True)
class PlacedTexts(MapView):
    """A corpus projected by UMAP, with the place of each text."""

    @computed_field(alias="ids", description="topic of each text, -1 for none")  # type: ignore[prop-decorator]
    @property
    def cluster_ids(self) -> list[int]:
        return [int(number) for number in self.ids]

    @computed_field(description="(texts, dimensions)")  # type: ignore[prop-decorator]
    @property
    def coordinates(self) -> list[list[float]]:
        return [[float(value) for value in point] for point in self.points]


class SubmittedRun(Run):
    """A run that was submitted."""

    accounts: Annotated[dict[str, RowReport], doc("of each file")]
    token: Annotated[str, doc("needed by /stop and /resume; only this caller gets it")]


@dataclass(frozen=True, kw_only=True)
class RunProgress(RunView):
    """State of a run."""

    accounts: Annotated[dict[str, RowReport], doc("of each file")]


def with_schema_arguments(*, accepts_uncertain: bool) -> Callable[[Verb], Verb]:
    """Replace the parameter ``overrides``, also in the docstring, with those of :func:`_overrides`; unanswered questions become errors."""

    def wrap(verb: Verb) -> Verb:
        own = list(inspect.signature(verb).parameters.values())
        shared = list(inspect.signature(_overrides).parameters.values())[: None if accepts_uncertain else -1]
        place = next(number for number, each in enumerate(own) if each.name == "overrides")
        later = [each.replace(kind=inspect.Parameter.POSITIONAL_OR_KEYWORD) for each in own[place + 1 :]]
        signature = inspect.signature(verb).replace(parameters=[*own[:place], *shared, *later])

        @functools.wraps(verb)
        def call(*args: object, **named: object) -> JsonResult:
            bound = signature.bind(*args, **named).arguments
            overrides = _overrides(**{each.name: bound.pop(each.name) for each in shared if each.name in bound})
            try:
                return verb(**bound, overrides=overrides)
            except OpenQuestionsError as error:
                raise StudioError(error.message, describe_answers(error.questions[0]), error.rows) from None

        call.__signature__ = signature  # type: ignore[attr-defined]
        call.__doc__ = (verb.__doc__ or "").replace(_PLACEHOLDER, _ARGUMENTS + _AS_READ * accepts_uncertain)
        return call

    return wrap


def _overrides(
    kind: str = "",
    columns: str = "",
    target: str = "",
    group: str = "",
    scale: str = "",
    order: str = "",
    encoding: str = "",
    delimiter: str = "",
    header: str = "",
    split: str = "",
    as_read: bool = False,
) -> SchemaOverrides:
    typed = {"kind": kind, "columns": columns, "target": target, "group": group, "scale": scale, "order": order}
    typed |= {"encoding": encoding, "delimiter": delimiter, "header": header, "split": split}
    return parse_overrides(as_read=bool(as_read), **{name: value or None for name, value in typed.items()})


def similarity(studio: Studio, a: str, b: str, model: str) -> Similarity:
    """Compare two texts by meaning.

    Args:
        a: the first text.
        b: the second text.
        model: a bundled model's name, a run's id or a hub id; empty for the default, which depends on the language of the texts.

    Returns:
        cosine and dot product (larger is more similar), Euclidean and Manhattan distance (smaller is more similar); notes if the
        model was not trained on the language of the texts; the model that was used.
    """
    from ..data.language import count_languages

    return studio.similarity.compare(a, b, model or studio.languages.default_model(count_languages([a, b])))


def search(studio: Studio, file: str, query: str, k: float, mode: str, model: str, column: str) -> SearchResult:
    """Find the texts of a file that are most similar to a query; of documents, the best passage of each.

    Args:
        file: a CSV, TSV, TXT, JSONL, XLSX or Parquet file of texts, or documents: PDF, DOCX, HTML, MD, or a ZIP of them.
        query: the text to search for.
        k: number of hits.
        mode: semantic, lexical or hybrid.
        model: a bundled model's name, a run's id or a hub id; empty for the default, which depends on the language of the texts.
        column: the text column; empty to detect it.

    Returns:
        hits, best first, each with row, text, score and the row's other columns; the duration in milliseconds; account: how many rows of
        the file were read, used and skipped, and why; notes; and the model that was used.
    """
    corpus = studio.data.read_cached_corpus(require_file(file), column or None)
    model = model or studio.languages.default_model(corpus.languages)
    return studio.search.search(corpus, query, int(k), mode, model=model)  # type: ignore[arg-type]


def mine(studio: Studio, file: str, top: float, model: str, column: str) -> MinedPairs:
    """Find the most similar pairs of texts in a file.

    Args:
        file: a CSV, TSV, TXT, JSONL, XLSX or Parquet file of texts, or documents: PDF, DOCX, HTML, MD, or a ZIP of them.
        top: number of pairs.
        model: a bundled model's name, a run's id or a hub id; empty for the default, which depends on the language of the texts.
        column: the text column; empty to detect it.

    Returns:
        pairs, closest first, each with both texts, both rows and the cosine; the duration in seconds; account, notes and model as in
        /search.
    """
    corpus = studio.data.read_cached_corpus(require_file(file), column or None)
    return studio.search.mine(corpus, int(top), model or studio.languages.default_model(corpus.languages))


def draw_map(studio: Studio, file: str, clusters: str, dimensions: float, model: str, column: str) -> PlacedTexts:
    """Draw the texts of a file as a map with topics.

    Args:
        file: a CSV, TSV, TXT, JSONL, XLSX or Parquet file of texts, or documents: PDF, DOCX, HTML, MD, or a ZIP of them.
        clusters: auto, or the number of topics.
        dimensions: 2 or 3.
        model: a bundled model's name, a run's id or a hub id; empty for the default, which depends on the language of the texts.
        column: the text column; empty to detect it.

    Returns:
        points; topics with id, label, size, parent, keywords and examples; the topic and the coordinates of each text; account, notes and
        model as in /search.
    """
    from ..explore.projection import ProjectionParams

    params = _cluster_params("clusters", clusters)
    if dimensions not in (2, 3):
        raise StudioError(f"dimensions is {dimensions:g}", "choose 2 or 3")
    corpus = studio.data.read_cached_corpus(require_file(file), column or None)
    model = model or studio.languages.default_model(corpus.languages)
    return PlacedTexts(**vars(studio.map.draw(corpus, ProjectionParams(dimensions=int(dimensions)), params, model)))


def topics(studio: Studio, file: str, topics: str, model: str, column: str) -> TopicReport:
    """Find the topics of the texts of a file, and count them over time and by category.

    Args:
        file: a CSV, TSV, TXT, JSONL, XLSX or Parquet file of texts, or documents: PDF, DOCX, HTML, MD, or a ZIP of them.
        topics: auto, or the number of topics.
        model: a bundled model's name, a run's id or a hub id; empty for the default, which depends on the language of the texts.
        column: the text column; empty to detect it.

    Returns:
        topics with id, label, size, parent, keywords and examples, as in /map; for each column of dates, the number of texts of each topic
        in each period; for each column of categories, the number of texts per topic and the deviation from independence; account, notes and
        model as in /search.
    """
    params = _cluster_params("topics", topics)
    corpus = studio.data.read_cached_corpus(require_file(file), column or None)
    model = model or studio.languages.default_model(corpus.languages)
    return make_topic_report(studio.map.find_topics(corpus, params, model), corpus)


def _cluster_params(name: str, number: str) -> ClusterParams:
    from ..explore.clusters import MAX_CLUSTERS, ClusterParams

    digits = "0" if number in ("", "auto") else number.removeprefix("+")
    if not _DIGITS.fullmatch(digits) or len(digits) > _MAX_DIGITS or int(digits) > MAX_CLUSTERS:
        raise StudioError(f"{name} is {number[:40]!r}", f"give auto, or a whole number from 1 to {MAX_CLUSTERS:,}")
    return ClusterParams(count=int(digits))


@with_schema_arguments(accepts_uncertain=True)
def evaluate(
    studio: Studio,
    file: str,
    model: str,
    task: str,
    *,
    overrides: SchemaOverrides,
    files: list[str] | None = None,
    models: str = "",
    suite: str = "",
    known: str | None = None,
    retrieval: bool = False,
) -> Report | EvaluationResult | RetrievalResult:
    """Evaluate a model on a file of scored pairs, triplets or labelled texts, or compare several models on several files, or in retrieval.

    Args:
        file: a CSV, TSV, JSONL, XLSX or Parquet file.
        model: a bundled model's name, a run's id or a hub id; empty for the default.
        task: auto, or the name of a task; the error for an unknown one lists them.
        overrides: what is known about the file.
        files: additional files.
        models: additional models, comma-separated.
        suite: a benchmark suite, such as STS12, whose files are uploaded or on the server; empty for none.
        known: labelled rows that the tasks senteval and categories train on or compare with.
        retrieval: the file has the columns query, document and grade, and the models search its documents.

    Returns:
        for one model on one file: the task, the number of rows, the scores (correlations from -1 to 1), and the account of the file's
        rows as in /search. For several: a report for each file and model, averages, and a comparison of each pair of models. For retrieval:
        the metrics of each model beside BM25 and hybrid search, and the relevant documents that it missed.
    """
    names = [model, *(name.strip() for name in models.split(",") if name.strip())]
    if len(names) > _MAX_MODELS:
        raise StudioError(f"{len(names)} models are named", f"name at most {_MAX_MODELS}")
    given = [Path(path) for path in (file, *(files or ())) if path]
    # API callers of a shared page have no leaderboard.
    owner = LOCAL_OWNER if studio.catalog.allow_folders else ""
    if retrieval:
        if len(given) > 1 or suite or known or task not in ("", "auto"):
            raise StudioError("retrieval needs one file of queries, documents and grades", "omit the other files, the task and the suite")
        judged = require_file(str(given[0]) if given else None)
        return studio.retrieval.evaluate(names, judged, RetrievalOptions(overrides=overrides), owner=owner)
    if suite or len(names) > 1 or len(given) > 1:
        return studio.evaluation.evaluate_models(
            [name or studio.settings.default_model for name in names],
            given,
            task or "auto",
            suite,
            overrides=overrides,
            reference=known or None,
            owner=owner,
        )
    one = require_file(str(given[0]) if given else None)
    return studio.evaluation.evaluate(model or None, one, task or "auto", overrides=overrides, reference=known or None, owner=owner)


@with_schema_arguments(accepts_uncertain=False)
def check(studio: Studio, file: str, model: str = "", *, overrides: SchemaOverrides) -> Diagnosis:
    """Detect the kind of training examples in a file, and report its problems.

    Args:
        file: a CSV, TSV, JSONL, XLSX or Parquet file of pairs, triplets or sentences.
        model: the model whose tokenizer counts tokens; empty for the default.
        overrides: what is known about the file.

    Returns:
        kind, roles of the columns, number of rows, findings with severity, message, rows and fix, and possible conversions; whether the
        detection is certain, and otherwise the open questions with their answers and the corresponding arguments.
    """
    return studio.data.check(require_file(file), overrides=overrides, model=model or None)


@with_schema_arguments(accepts_uncertain=True)
def train(
    page: Page,
    file: str,
    loss: str,
    method: str,
    settings: str,
    model: str,
    name: str,
    dev: str | None = None,
    first: str | None = None,
    *,
    overrides: SchemaOverrides,
) -> SubmittedRun:
    """Start fine-tuning a model on a file of examples. It runs in the background: poll /run with the id.

    Args:
        file: a CSV, TSV, JSONL, XLSX or Parquet file of pairs, triplets or sentences.
        loss: auto, or the name of a loss.
        method: auto, full or lora.
        settings: additional training settings as a JSON object, such as {"epochs": 1, "learning_rate": 2e-5}; empty for none.
        model: the base model; empty for the default.
        name: name of the new model; empty for the file name.
        dev: a validation file with the same columns; by default, some of the rows are held out.
        first: a file for a first stage of training, whose settings are named like "first.epochs".
        overrides: what is known about the file.

    Returns:
        the run: its id, which is also the name of the finished model, its status, its settings and the use of each row; and its token,
        which /stop and /resume require. Anyone who knows the id can see and use the run; stopping it requires the token.
    """
    try:
        given = json.loads(settings or "{}", parse_int=_integer)
        written = json.dumps(given, ensure_ascii=False)
    except (ValueError, RecursionError):  # invalid JSON, or nested too deeply
        given, written = None, ""
    if not is_valid_utf8(written):
        raise StudioError("the settings hold half of a character (a lone surrogate)", "send whole characters, in UTF-8")
    if not isinstance(given, dict):
        raise StudioError("the settings are not a JSON object", 'write them like {"epochs": 1}')
    if "first.model" in given:
        raise StudioError("a first stage begins with the run's own model", 'leave "first.model" out of the settings')
    named = given.pop("model", None) or None
    if named is not None and (not isinstance(named, str) or (model and model != named)):
        raise StudioError("the settings name another model than the model argument", "name it once")
    settings_given = given | {key: value for key, value in (("loss", loss), ("method", method)) if value not in ("", "auto")}
    request = TrainRequest(
        require_file(file),
        dev=Path(dev) if dev else None,
        first=Path(first) if first else None,
        choices=overrides,
        overrides=settings_given,
        model=model or named,
        owner=page.caller(),
        name=name or None,
    )
    begun = page.studio.fine_tune.submit(request)
    accounts = page.studio.fine_tune.get_row_reports(begun.id)
    return SubmittedRun(**dict(begun), accounts=accounts, token=page.studio.fine_tune.get_token(begun.id))


def run(studio: Studio, run_id: str, after: float) -> RunProgress:
    """Report the state of a training run.

    Args:
        run_id: the id returned by /train.
        after: return only events with a higher number; pass the cursor of the last response, initially 0.

    Returns:
        the run with its status, step, scores and time; the use of each row; its new events, and the cursor for the next call. A run with
        the status "asks" was stopped by an alarm: its last event contains the question, whose answer can be passed to a new /train.
    """
    seen = studio.fine_tune.get_run(run_id, int(after))
    # Folders of this machine are private, and a client would try to download what is called a path.
    events = [(seq, {name: value for name, value in event.items() if name not in _PATHS}) for seq, event in seen.events]
    return RunProgress(**{**vars(seen), "events": tuple(events)}, accounts=studio.fine_tune.get_row_reports(run_id))


def stop(studio: Studio, run_id: str, token: str) -> Run:
    """Stop a training run; its best model so far is kept.

    Args:
        run_id: the id returned by /train.
        token: the token returned by /train.

    Returns:
        the run; training stops after the current step, so poll /run until its status is "stopped".
    """
    return studio.fine_tune.stop_with_token(run_id, token)


def resume(studio: Studio, run_id: str, token: str) -> Run:
    """Resume a training run that was stopped or interrupted, or failed, from its last checkpoint.

    Args:
        run_id: the id returned by /train.
        token: the token returned by /train.

    Returns:
        the run; it is queued, so poll /run.
    """
    return studio.fine_tune.resubmit_with_token(run_id, token)


def _integer(digits: str) -> int:
    if len(digits) > _MAX_JSON_DIGITS:
        raise StudioError(f"the settings hold a number of {len(digits):,} digits", f"at most {_MAX_JSON_DIGITS} are read")
    return int(digits)


def require_file(path: str | None) -> Path:
    if not path:
        raise StudioError("there is no file", "send one")
    return Path(path)
