"""Methods of the Python API, over the services that the page and the command line use."""

from __future__ import annotations

import math
import signal
import tempfile
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import fields, replace
from numbers import Integral, Real
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from ..data.corpus import Corpus, group_passages
from ..data.language import count_languages
from ..data.loading.table import Table, table_from_columns
from ..data.schema.roles import SchemaOverrides, parse_overrides
from ..errors import StudioError
from ..evaluation.changes import format_score
from ..explore import DEFAULT_RESULTS, DEFAULT_SEED
from ..progress import Progress
from ..services import Studio as Services
from ..services import TrainRequest
from ..settings import Settings
from .results import Evaluation, Hits, NearDuplicates, NotebookExport, NotebookMap, SearchEvaluation, Similarities, Topics, Training

if TYPE_CHECKING:
    import pandas as pd

    from ..data.row_report import RowReport
    from ..runs.run import Run
    from ..training.events import Event

    Data: TypeAlias = str | Path | Sequence[str] | Sequence[Mapping[str, object]] | pd.DataFrame | Table
    """A file, a folder or zip of documents, a list of texts, a list of rows, or a DataFrame."""


_COLUMN_CHOICES = frozenset(field.name for field in fields(SchemaOverrides))


class Studio:
    """Explore texts, and train and evaluate models, in a notebook or script.

    Args:
        model: default model of all methods: a bundled name, run id, folder or Hugging Face id; ``None`` for the one that fits the language
            of the texts.
        home: folder of runs and caches; by default the same as that of the page and the command line.
        show_progress: show progress bars.

    Example:
        >>> studio = Studio()
        >>> studio.search(["The parcel never came", "Refund received"], "where is my package?").to_pandas()
    """

    def __init__(self, model: str | None = None, *, home: str | Path | None = None, show_progress: bool = True) -> None:
        _require(model, str | None, "model", "its name")
        settings = Settings.from_env()
        self.services = Services(settings if home is None else replace(settings, home=Path(home).expanduser()), allow_folders=True)
        self.model, self.show_progress = model, show_progress

    def load(self, data: Data, text: str | None = None, *, passages: bool = False) -> Corpus:
        """Read texts once; :meth:`search`, :meth:`map`, :meth:`topics` and :meth:`duplicates` take the result, or the data itself.

        Args:
            data: a file, a folder or zip of documents, a list of texts, a list of rows, or a DataFrame.
            text: column of the texts; by default the one that looks most like text.
            passages: cut long texts of a table into passages, as is done with documents.

        Raises:
            StudioError: the data has no texts.
        """
        if isinstance(data, Corpus):
            return data
        with self._progress("reading", "") as progress, ExitStack() as stack:
            source = data if isinstance(data, str | Path) else _file(data, stack) if passages else _table(data)
            corpus = self.services.data.read_corpus(source, text, progress=progress, model=self.model, passages=passages)
        frame = _rows(data)
        return corpus if passages or frame is None else replace(corpus, frame=frame.copy())

    def search(
        self,
        data: Data | Corpus,
        query: str,
        k: int = DEFAULT_RESULTS,
        *,
        mode: Literal["semantic", "lexical", "hybrid"] = "semantic",
        rerank: bool | str = False,
    ) -> Hits:
        """Find the ``k`` texts nearest to a query.

        Args:
            mode: by meaning, by words (BM25), or both rankings fused.
            rerank: re-rank the best hits with the default cross-encoder, or with a model by its name.
        """
        from ..services.search import SearchOptions

        _require(query, str, "query", "a text")
        _require(k, Integral, "k", "a number of texts")
        corpus = self.load(data)
        with self._progress("encoding") as progress:
            model = self._model(corpus)
            found = self.services.search.search(corpus, query, k, mode, model=model, progress=progress, options=SearchOptions(rerank))
        title = f"{len(found.hits)} of {len(corpus):,} texts · {model}"
        return Hits(title, _notes(found.account, "searched", found.notes), found, _rows(data))

    def similarity(self, a: str | Sequence[str], b: str | Sequence[str]) -> Similarities:
        """Compare two texts, or two lists of texts of equal length pair by pair."""
        one, other = ([texts] if isinstance(texts, str) or not isinstance(texts, Iterable) else list(texts) for texts in (a, b))
        if not all(isinstance(text, str) for text in (*one, *other)):
            raise StudioError("only texts can be compared", "convert numbers with str(), and remove missing values such as None and NaN")
        if len(one) != len(other) or not one:
            raise StudioError(f"{len(one)} texts cannot be compared with {len(other)}", "pass two lists of the same length")
        model = self.model or self.services.languages.default_model(count_languages([*one, *other]))
        if len(one) == 1:
            single = self.services.similarity.compare(one[0], other[0], model)
            return Similarities(model, single.notes, [(one[0], other[0], single)])
        table = table_from_columns("pairs", {"sentence1": one, "sentence2": other})
        with self._progress("encoding") as progress:
            found = self.services.similarity.compare_file(table, model, progress)
        return Similarities(model, _notes(found.account, "compared", found.notes), [(row.a, row.b, row.similarity) for row in found.rows])

    def map(self, data: Data | Corpus, *, topics: int | None = None, seed: int = DEFAULT_SEED) -> NotebookMap:
        """Draw a map of texts with topics; documents are one point each.

        Args:
            topics: number of topics; ``None`` chooses it.
        """
        from ..explore.clusters import ClusterParams
        from ..explore.projection import ProjectionParams

        corpus = _documents(self.load(data))
        params = ClusterParams(count=topics or 0, seed=seed)
        with self._progress("drawing", "steps") as progress:
            model = self._model(corpus)
            found = self.services.map.draw(corpus, ProjectionParams(seed=seed), params, model, progress)
        return NotebookMap(
            f"{len(corpus):,} texts in {len(set(found.ids.tolist()) - {-1}):,} topics · {model}",
            _notes(found.account, "drawn", found.notes),
            found,
            corpus,
            _rows(data),
        )

    def topics(self, data: Data | Corpus, *, topics: int | None = None, seed: int = DEFAULT_SEED) -> Topics:
        """Find the topics of texts; parameters as for :meth:`map`."""
        from ..explore.clusters import ClusterParams
        from ..services.topic_report import make_topic_report

        corpus = _documents(self.load(data))
        with self._progress("finding topics", "steps") as progress:
            model = self._model(corpus)
            view = self.services.map.find_topics(corpus, ClusterParams(count=topics or 0, seed=seed), model, progress)
        report = make_topic_report(view, corpus)
        return Topics(
            f"{report.points:,} texts, {report.outliers:,} of them without a topic · {model}",
            _notes(report.account, "used", report.notes),
            report,
        )

    def duplicates(self, data: Data | Corpus, *, threshold: float = 0.95, keep: Literal["first", "longest"] = "first") -> NearDuplicates:
        """Find near-duplicates: texts whose cosine is at least ``threshold`` (0.8 to 1)."""
        _require(threshold, Real, "threshold", "a number from 0.8 to 1")
        corpus = _documents(self.load(data))
        with self._progress("comparing") as progress:
            model = self._model(corpus)
            found = self.services.search.find_duplicates(corpus, model, progress)
        groups = found.groups(threshold, keep)
        removed = sum(len(group.removed) for group in groups)
        title = f"{removed:,} of {len(corpus):,} texts are near-duplicates of others, in {len(groups):,} groups · {model}"
        return NearDuplicates(title, _notes(corpus.account, "compared", found.notes), found, threshold, keep, _rows(data))

    def train(
        self,
        data: Data,
        *,
        model: str | None = None,
        dev: Data | None = None,
        name: str | None = None,
        out: str | Path | None = None,
        **settings: object,
    ) -> Training:
        """Fine-tune a model on pairs, triplets, or texts with a category. Interrupting the kernel stops after the current step.

        Args:
            model: base model.
            dev: validation data with the same columns; by default, rows of ``data`` are held out.
            name: name of the run in the list of models; by default that of the file, or ``data`` for rows in memory.
            out: folder for a copy of the model.
            settings: how the columns are read, such as ``kind``, ``columns``, ``target`` or ``as_read`` (as in :meth:`evaluate`), and any
                setting of a training or its loss, such as ``epochs=1`` or ``loss="cosent"``; others are chosen automatically.

        Raises:
            OpenQuestionsError: the columns are ambiguous; the hint says which setting answers the question.
            StudioError: the data cannot be trained on.
        """
        given = [None if one is None else one if isinstance(one, str | Path) else _table(one) for one in (data, dev)]
        columns = {key for key in settings if key in _COLUMN_CHOICES and not (key == "scale" and isinstance(settings[key], int | float))}
        choices = parse_overrides(**{key: settings.pop(key) for key in columns})
        request = TrainRequest(given[0], given[1], choices=choices or None, overrides=settings, model=model or self.model, name=name)
        return self._train(lambda **told: self.services.fine_tune.train(request, out=out, **told), out)

    def resume(self, training: Training | str, *, out: str | Path | None = None) -> Training:
        """Continue a training that was interrupted, by its result or the id of its run.

        Args:
            out: folder for a copy of the model; by default that of the interrupted call.
        """
        _require(training, str | Training, "training", "a result of train, or the id of a run")
        run = training if isinstance(training, str) else training.run.id
        out = out or (None if isinstance(training, str) else training.out)
        return self._train(lambda **told: self.services.fine_tune.resume(run, out=out, **told), out)

    def evaluate(
        self, data: Data, models: str | Training | Sequence[str | Training] | None = None, *, task: str = "auto", **columns: object
    ) -> Evaluation:
        """Evaluate one or several models on scored or labelled pairs, triplets, or texts with a category, and compare them.

        Args:
            columns: how the columns are read, where this is not evident: ``kind``, ``columns``, ``target``, ``group``, ``scale``, ``order``
                or ``as_read=True``, as on the command line.
        """
        if unknown := sorted(set(columns) - _COLUMN_CHOICES):
            raise StudioError(f"there is no option {unknown[0]!r}", f"use {', '.join(sorted(_COLUMN_CHOICES))}")
        with ExitStack() as stack:
            path = Path(data) if isinstance(data, str | Path) else _file(data, stack)
            overrides = parse_overrides(**columns)
            found = self.services.evaluation.evaluate_models(
                self._models(models), [path], task, overrides=overrides, begin_phase=self._phases(stack)
            )
        file = found.files[0]
        notes = (*file.notes, *found.notes, *(note for model in found.models for note in model.notes[0]))
        return Evaluation(f"{len(file.rows.examples):,} rows · {', '.join(found.model_names)}", tuple(dict.fromkeys(notes)), found)

    def evaluate_search(
        self,
        data: str | Path | Sequence[Mapping[str, object]] | pd.DataFrame,
        models: str | Training | Sequence[str | Training] | None = None,
        *,
        rerank: bool | str = False,
        passages: bool = False,
    ) -> SearchEvaluation:
        """Evaluate how well models find the relevant documents of queries, beside BM25, hybrid search and re-ranking.

        Args:
            data: a folder in the BEIR layout, a table of queries, documents and grades, or documents alone: their titles and headings then
                become queries.
            rerank: re-rank the first results of each model with the default cross-encoder, or with a model by its name.
            passages: also cut long documents into passages, and rank each by its best one.

        Raises:
            StudioError: the data has no documents or judgments, or a model cannot rank them.
        """
        from ..services.retrieval import RetrievalOptions

        reranker = rerank if isinstance(rerank, str) else self.services.settings.reranker if rerank else ""
        options = RetrievalOptions(reranker=reranker, passages=passages)
        with ExitStack() as stack:
            source = data if isinstance(data, str | Path) else _file(data, stack)
            found = self.services.retrieval.evaluate(self._models(models), source, options, begin_phase=self._phases(stack))
        notes = (found.known_item, *found.notes, *(note for model in found.models for note in (*model.length_notes(), *model.notes)))
        return SearchEvaluation(f"{found.title} · {found.describe()}", tuple(dict.fromkeys(filter(None, notes))), found)

    def export(
        self,
        model: str | Training,
        out: str | Path,
        format: str = "sentence-transformers",
        *,
        data: str | Path | None = None,
        truncate_dim: int = 0,
    ) -> NotebookExport:
        """Export a model for another runtime, opened there and compared with the original.

        Args:
            out: a new folder, or a file that ends in ``.zip``.
            format: ``sentence-transformers``, ``onnx``, ``onnx-int8``, ``openvino``, ``gguf``, ``static`` or ``transformers-js``.
            data: a file with texts to compare on.
            truncate_dim: number of components to keep; 0 for the model's own.

        Raises:
            StudioError: the export would differ from the original by more than its format allows, or a package is missing.
        """
        name = model.model if isinstance(model, Training) else model
        found = self.services.exports.export(name, format, out, data=data, truncate_dim=truncate_dim)
        return NotebookExport(f"{format} · {found.bytes / 1e6:.1f} MB", (), found)

    def _models(self, models: str | Training | Sequence[str | Training] | None) -> list[str]:
        """Return the names of the models to evaluate."""
        several = [models] if isinstance(models, str | Training) else list(models or [self.model or ""])
        return [one.model if isinstance(one, Training) else one for one in several]

    def _model(self, corpus: Corpus) -> str:
        return self.model or self.services.languages.default_model(corpus.languages)

    def _train(self, work: Callable[..., Run], out: str | Path | None) -> Training:
        losses: list[tuple[int, float]] = []
        with self._progress("training", "steps") as progress, _interruptible() as should_stop:

            def listen(event: Event) -> None:
                from ..training.events import Step

                if isinstance(event, Step):
                    step = event.run_step or event.step
                    losses.append((step, event.loss))
                    progress(step, event.run_steps or event.steps)

            run = work(on_event=listen, should_stop=should_stop)
        self.services.fine_tune.require_no_alarm(run.id)
        return Training(*self._describe(run), run, losses, out)

    def _describe(self, run: Run) -> tuple[str, tuple[str, ...]]:
        from ..evaluation.report import describe_metric, describe_run
        from ..services.training_plan import describe_row_reports

        used = describe_row_reports(self.services.fine_tune.get_row_reports(run.id), has_begun=run.model_path is not None)
        reasons = self.services.fine_tune.get_reasons(run.id)[len(used) :]
        used = (*used, *reasons, *([] if run.status == "finished" else [f"continue with resume({run.id!r})"]))
        if not (run.before and run.after):
            return f"{run.status} after {run.step:,} steps", used
        before, after = (format_score(one["score"]) for one in (run.before, run.after))
        title = f"{describe_metric(run.after['metric'])} on held-out rows: {before} → {after}"
        title += "" if run.status == "finished" else f" · {run.status} after {run.step:,} of {run.steps:,} steps"
        return title, (*describe_run(run.before, run.after), *used)

    @contextmanager
    def _progress(self, label: str, unit: str = "texts") -> Iterator[Progress]:
        """Show a progress bar, which appears with the first report."""
        from tqdm.auto import tqdm

        with tqdm(desc=label, unit=f" {unit}", leave=False, disable=not self.show_progress, delay=0.5) as bar:

            def show(done: int, total: int) -> None:
                bar.total = total or None
                if done < bar.n:
                    bar.reset(total or None)
                bar.update(done - bar.n)

            yield show

    def _phases(self, stack: ExitStack) -> Callable[[str, str], Progress]:
        own = stack.enter_context(ExitStack())

        def begin(phase: str, unit: str) -> Progress:
            own.close()
            return own.enter_context(self._progress(phase, unit))

        return begin


def _notes(account: RowReport, verb: str, notes: Sequence[str]) -> tuple[str, ...]:
    """Return the notes of a result, after how many rows were skipped and why, if any were."""
    return (account.describe(verb), *notes) if account.reasons else tuple(notes)


def _is_missing(text: object) -> bool:
    return text is None or (isinstance(text, float) and math.isnan(text))


def _rows(data: object) -> pd.DataFrame | None:
    """Return a DataFrame that was passed or loaded; ``None`` for other data."""
    if isinstance(data, Corpus):
        return data.frame
    return data if hasattr(data, "iloc") and hasattr(data, "columns") else None  # type: ignore[return-value]


def _documents(corpus: Corpus) -> Corpus:
    return group_passages(corpus) if corpus.places else corpus


def _table(data: object) -> Table:
    """Return rows in memory as a table; they are counted from 0, as pandas and Python do."""
    if isinstance(data, Table):
        return data
    if hasattr(data, "tolist") and not hasattr(data, "columns"):  # a Series or an array
        data = data.tolist()
    columns = getattr(data, "columns", None)
    cells: dict[str, Sequence[Any]] = {}
    if columns is not None and hasattr(data, "itertuples"):  # a DataFrame, without importing pandas
        frame: Any = data
        if twice := [name for name in columns if list(columns).count(name) > 1]:
            raise StudioError(f"two columns are called {twice[0]!r}", "rename one of them")
        cells = {str(name): frame[name].tolist() for name in columns}
    elif isinstance(data, Sequence) and all(isinstance(row, Mapping) for row in data):
        cells = {name: [row.get(name) for row in data] for name in dict.fromkeys(name for row in data for name in row)}
    elif isinstance(data, Sequence) and not isinstance(data, str) and all(isinstance(text, str) or _is_missing(text) for text in data):
        cells = {"text": data}  # missing texts, None or NaN, are skipped and counted
    if rows := len(next(iter(cells.values()), ())):
        return table_from_columns("data", cells, lines=range(rows))
    raise StudioError(*_unreadable(data))


def _unreadable(data: object) -> tuple[str, str]:
    """Return why rows in memory cannot be read, and what to pass instead."""
    instead = "pass a file, a list of texts, a list of rows as dictionaries, or a DataFrame"
    if isinstance(data, Corpus):
        return "texts that were loaded have no columns of pairs or labels", "pass the data itself instead of the result of load"
    if not isinstance(data, Sequence) or isinstance(data, str | bytes):
        if isinstance(data, Iterable) and not isinstance(data, Mapping | bytes) and not hasattr(data, "columns"):
            return f"data of the type {type(data).__name__} has no order or can be read only once", "pass list(data)"
        return ("the data has no rows" if hasattr(data, "columns") else f"data of the type {type(data).__name__} cannot be read"), instead
    if not data:
        return "the data has no rows", instead
    unknown = [(place, one) for place, one in enumerate(data) if not isinstance(one, str | Mapping) and not _is_missing(one)]
    if not unknown:
        return "some items are texts and others are rows", instead
    place, item = unknown[0]
    fix = "write each row as a dictionary of its columns" if isinstance(item, list | tuple) else "convert it with str()"
    return f"item {place} is of the type {type(item).__name__}, neither a text nor a row", fix


def _require(value: object, type_: Any, name: str, what: str) -> None:
    """Raise a StudioError if an argument is not of its type."""
    if not isinstance(value, type_) or isinstance(value, bool):
        raise StudioError(f"{name} is {value!r:.80}", f"pass {what}")


def _file(data: object, stack: ExitStack) -> Path:
    """Write rows in memory to a file that is deleted with the stack, for what reads files only."""
    path = Path(stack.enter_context(tempfile.TemporaryDirectory())) / "data.parquet"
    _table(data).to_parquet(path)
    return path


@contextmanager
def _interruptible() -> Iterator[Callable[[], bool]]:
    """Yield a function that returns True after Ctrl-C or *Interrupt the kernel*; a second one raises KeyboardInterrupt."""
    stopped = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield stopped.is_set
        return
    before = signal.getsignal(signal.SIGINT)

    def stop(number: int, frame: object) -> None:
        stopped.set()
        signal.signal(signal.SIGINT, signal.default_int_handler)

    signal.signal(signal.SIGINT, stop)
    try:
        yield stopped.is_set
    finally:
        signal.signal(signal.SIGINT, before)
