"""Results of the Python API: tables that notebooks display, a map that can be moved, the curve of a training."""

from __future__ import annotations

import html
import tempfile
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from ..data.schema.names import unique_name
from ..errors import StudioError

if TYPE_CHECKING:
    import pandas as pd

    from ..data.corpus import Corpus
    from ..evaluation.comparison import Comparison
    from ..models.export import ExportedModel
    from ..runs.run import Run
    from ..services.results import Duplicates, EvaluationResult, MapView, RetrievalResult, SearchResult, Similarity
    from ..services.topic_report import TopicReport

_SHOWN_ROWS = 20
_MAP_HEIGHT = 640  # pixels
_CURVE = (480, 120)  # width and height of a training curve in pixels


@dataclass(frozen=True)
class NotebookResult(ABC):
    """Result of a method of :class:`Studio`.

    Attributes:
        title: one line about the result.
        notes: what was guessed, skipped or limited, one sentence each.
    """

    title: str
    notes: tuple[str, ...]

    @abstractmethod
    def to_pandas(self) -> pd.DataFrame:
        """Return the result as a table."""

    def _repr_html_(self) -> str:
        table = self.to_pandas()
        more = f"<p>… and {len(table) - _SHOWN_ROWS:,} more rows: <code>to_pandas()</code></p>" if len(table) > _SHOWN_ROWS else ""
        shown: str = table.head(_SHOWN_ROWS).to_html(index=False, escape=True, border=0)
        return self._heading() + shown + more

    def _heading(self) -> str:
        return "".join(f"<p>{html.escape(line)}</p>" for line in (self.title, *self.notes))

    def __repr__(self) -> str:
        return "\n".join([self.title, *self.notes, self.to_pandas().head(_SHOWN_ROWS).to_string(index=False)])


@dataclass(frozen=True, repr=False)
class Hits(NotebookResult):
    """Texts that were found, best first."""

    found: SearchResult
    rows: pd.DataFrame | None = None

    def to_pandas(self) -> pd.DataFrame:
        """Return the columns ``row``, ``score``, ``text``, and the other columns of the data; one of the same name gets an underscore.

        Rows of a file are numbered as in a spreadsheet, rows in memory from 0. Passages of documents also have ``document``, its id.
        """
        hits = self.found.hits
        own = _frame([{"row": hit.line, "score": hit.score, "text": hit.text} for hit in hits], ("row", "score", "text"))
        if any(hit.place for hit in hits):
            own.insert(2, "document", [hit.place and hit.place.document for hit in hits])
        if self.rows is None or not hits:
            return _join_columns(own, _frame([hit.fields for hit in hits]))
        others = [name for name in self.rows.columns if str(name) in hits[0].fields]
        return _join_columns(own, self.rows[others].iloc[[hit.line for hit in hits]])


@dataclass(frozen=True, repr=False)
class Similarities(NotebookResult):
    """Similarities of pairs of texts."""

    pairs: Sequence[tuple[str, str, Similarity]]

    @property
    def cosines(self) -> list[float]:
        """Cosine of each pair."""
        return [found.cosine for _, _, found in self.pairs]

    def to_pandas(self) -> pd.DataFrame:
        """Return the columns ``a``, ``b``, ``cosine``, ``dot``, ``euclidean`` and ``manhattan``."""
        measures = ("cosine", "dot", "euclidean", "manhattan")
        return _frame([{"a": a, "b": b, **{name: getattr(found, name) for name in measures}} for a, b, found in self.pairs])


@dataclass(frozen=True, repr=False)
class NotebookMap(NotebookResult):
    """A map of texts; in a notebook, it can be moved, searched and filtered."""

    found: MapView
    corpus: Corpus
    rows: pd.DataFrame | None = None

    def to_pandas(self) -> pd.DataFrame:
        """Return the columns of the data with ``x``, ``y`` and ``found_topic`` in front; one of the same name gets an underscore."""
        axes = dict(zip("xy", self.found.points.T.tolist(), strict=True))
        own = _frame(axes | {"found_topic": [self.found.names[one] for one in self.found.ids.tolist()]})
        rows = _frame(self.corpus.columns()) if self.rows is None else self.rows.iloc[list(self.corpus.lines)]
        return _join_columns(own, rows)

    def save(self, path: str | Path) -> Path:
        """Write the map as one HTML page that needs no network.

        Raises:
            StudioError: the path ends in something else.
        """
        from ..ui.map_value import write_map

        if Path(path).suffix.lower() not in (".html", ".htm"):
            raise StudioError(f"a map cannot be written as {Path(path).name}", "use a name that ends in .html")
        return write_map(self.found, self.corpus.texts, self.corpus.fields, Path(path), lines=self.corpus.lines)

    def _repr_html_(self) -> str:
        with tempfile.TemporaryDirectory() as folder:
            page = self.save(Path(folder) / "map.html").read_text(encoding="utf-8")
        frame = f'<iframe srcdoc="{html.escape(page)}" style="width: 100%; height: {_MAP_HEIGHT}px; border: 0"></iframe>'
        return self._heading() + frame


@dataclass(frozen=True, repr=False)
class Topics(NotebookResult):
    """Topics of a corpus, largest first."""

    found: TopicReport

    def to_pandas(self) -> pd.DataFrame:
        """Return the columns ``topic``, ``size``, ``share``, ``broad``, ``keywords`` and ``examples``."""
        report = self.found
        rows = []
        for topic, share in sorted(zip(report.order, report.shares, strict=True), key=lambda one: -one[1]):
            info = report.by_id.get(topic)
            words = {"keywords": ", ".join(info.keywords) if info else "", "examples": list(info.examples) if info else []}
            rows.append({"topic": report.label(topic), "size": report.size(topic), "share": share, "broad": report.broad(topic), **words})
        return _frame(rows)

    def save(self, path: str | Path) -> Path:
        """Write the report as ``.xlsx`` or ``.html``, with topics over time and by category."""
        from ..services.topic_report_files import write_topic_report

        write_topic_report(self.found, Path(path))
        return Path(path)


@dataclass(frozen=True, repr=False)
class NearDuplicates(NotebookResult):
    """Groups of near-duplicates."""

    found: Duplicates
    threshold: float
    keep: Literal["first", "longest"]
    rows: pd.DataFrame | None = None

    def to_pandas(self) -> pd.DataFrame:
        """Return a row for each text of a group: ``group``, ``row``, ``kept``, ``score`` (cosine with the text that is kept), ``text``."""
        corpus, rows = self.found.corpus, []
        for number, group in enumerate(self.found.groups(self.threshold, self.keep), start=1):
            for row, score in zip(group.rows, group.scores, strict=True):
                place = {"group": number, "row": corpus.lines[row], "kept": row == group.kept}
                rows.append({**place, "score": score, "text": corpus.texts[row]})
        return _frame(rows, ("group", "row", "kept", "score", "text"))

    def clean(self) -> pd.DataFrame:
        """Return the data without the texts that near-duplicates of them replace.

        A DataFrame keeps its types, its index and its rows without a text.
        """
        groups = self.found.groups(self.threshold, self.keep)
        if self.rows is None:
            return _frame(self.found.clean(groups).columns())
        removed = {self.found.corpus.lines[row] for group in groups for row in group.removed}
        return self.rows.iloc[[row for row in range(len(self.rows)) if row not in removed]]


@dataclass(frozen=True, repr=False)
class Training(NotebookResult):
    """A training run; ``model`` can be passed to every other method. If it was interrupted, :meth:`Studio.resume` continues it."""

    run: Run
    losses: Sequence[tuple[int, float]] = field(default=())
    out: str | Path | None = None

    @property
    def model(self) -> str:
        """Identifier of the run, which is the name of its model."""
        return self.run.id

    def to_pandas(self) -> pd.DataFrame:
        """Return one row: scores before and after on the held-out rows, the number of steps, and the seconds."""
        run = self.run
        scores = {"before": run.before.get("score"), "after": run.after.get("score")}
        return _frame([{"run": run.id, "status": run.status, "metric": run.after.get("metric", ""), **scores, "seconds": run.seconds}])

    def _repr_html_(self) -> str:
        return super()._repr_html_() + _curve(self.losses, f"Loss of {len(self.losses):,} reported steps")


@dataclass(frozen=True, repr=False)
class Evaluation(NotebookResult):
    """Scores of models on one file, with intervals."""

    found: EvaluationResult

    def comparisons(self) -> pd.DataFrame:
        """Return a row for every two models; see :meth:`SearchEvaluation.comparisons`."""
        return _comparison_table(self.found.comparisons)

    def to_pandas(self) -> pd.DataFrame:
        """Return a row for each model: ``metric``, ``score``, and ``low`` and ``high``, its 95 % interval."""
        from ..evaluation.evaluate import main_score

        rows = []
        for model in self.found.models:
            report = model.reports[0]
            metric, score = main_score(report)
            low, high = report.scores.get("interval") or (None, None)
            rows.append({"model": model.model, "task": report.task, "metric": metric, "score": score, "low": low, "high": high})
        return _frame(rows)


@dataclass(frozen=True, repr=False)
class SearchEvaluation(NotebookResult):
    """How well models find the relevant documents, beside BM25, hybrid search and re-ranking."""

    found: RetrievalResult

    def comparisons(self) -> pd.DataFrame:
        """Return a row for each compared pair: ``first``, ``second``, ``metric``, ``difference`` (second minus first), its 95 % interval
        ``low`` to ``high``, and the ``result`` in words."""
        return _comparison_table(self.found.comparisons)

    def to_pandas(self) -> pd.DataFrame:
        """Return a row for each system: its metrics, and ``low`` and ``high``, the 95 % interval of nDCG@10."""
        from ..evaluation.ranking import MAIN, METRICS

        rows = []
        for one in (*self.found.models, *self.found.baselines):
            low, high = one.intervals.get(MAIN) or (None, None)
            rows.append({"system": one.name, **{metric: one.metric(metric) for metric in METRICS}, "low": low, "high": high})
        return _frame(rows)

    def missed(self) -> pd.DataFrame:
        """Return a row for each relevant document below the first ten: ``model``, ``query``, ``document`` (id), ``rank``, ``reasons``."""
        import pandas as pd

        table = _frame(
            [
                {"model": model.name, "query": one.query, "document": one.document_id, "rank": one.rank, "reasons": ", ".join(one.reasons)}
                for model in self.found.models
                for one in model.missed
            ],
            ("model", "query", "document", "rank", "reasons"),
        )
        return table.astype({"rank": pd.Int64Dtype()})  # missing below the first 100


@dataclass(frozen=True, repr=False)
class NotebookExport(NotebookResult):
    """A verified export."""

    found: ExportedModel

    def to_pandas(self) -> pd.DataFrame:
        """Return one row: the format, path and size, and how closely it agrees with the original."""
        verified = self.found.verified
        size = {"format": self.found.format, "path": str(self.found.path), "bytes": self.found.bytes}
        return _frame([{**size, "minimum cosine": verified.cosine, "equal top-10 hits": verified.top10}])


def _comparison_table(comparisons: Sequence[Comparison]) -> pd.DataFrame:
    rows = []
    for one in comparisons:
        low, high = one.interval or (None, None)
        first, second = one.models
        values = {"metric": one.metric, "difference": one.difference, "low": low, "high": high, "result": str(one.description)}
        rows.append({"first": first, "second": second, **values})
    return _frame(rows, ("first", "second", "metric", "difference", "low", "high", "result"))


def _join_columns(own: pd.DataFrame, data: pd.DataFrame) -> pd.DataFrame:
    """Return the columns of a result followed by those of the data, each with a name of its own."""
    import pandas as pd

    names = list(own.columns)
    for name in data.columns:
        names.append(unique_name(name, names))
    return pd.concat([own, data.reset_index(drop=True)], axis=1).set_axis(names, axis=1)


def _frame(rows: Any, columns: Sequence[str] | None = None) -> pd.DataFrame:
    import pandas as pd

    return pd.DataFrame(rows, columns=columns)


def _curve(points: Sequence[tuple[int, float]], label: str) -> str:
    """Return a line of (step, loss) as SVG; empty for fewer than two points."""
    if len(points) < 2:
        return ""
    width, height = _CURVE
    first, last = points[0][0], points[-1][0]
    low, high = min(loss for _, loss in points), max(loss for _, loss in points)
    places = (
        f"{(step - first) / max(last - first, 1) * width:.1f},{height - (loss - low) / max(high - low, 1e-9) * height:.1f}"
        for step, loss in points
    )
    line = f'<polyline points="{" ".join(places)}" fill="none" stroke="currentColor" stroke-width="1.5" />'
    box = f'viewBox="-2 -2 {width + 4} {height + 4}" width="{width}" role="img" aria-label="{html.escape(label)}"'
    return f"<p>{html.escape(label)}: {high:.4g} to {low:.4g}</p><svg {box}>{line}</svg>"
