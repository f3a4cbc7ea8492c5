"""Shard service for large corpora: encode, mine, evaluate and search folders of Parquet shards."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..data.loading.table import table_from_columns
from ..data.row_report import RowReport
from ..data.schema.roles import Roles
from ..errors import StudioError
from ..evaluation.evaluate import choose_task
from ..evaluation.report import Report
from ..evaluation.tasks.base import SimilarityTask
from ..explore import DEFAULT_RESULTS
from ..i18n import _
from ..models.base import require_finite_vectors
from ..models.prompts import Role
from ..models.similarity import TITLES, score_note
from ..progress import Progress, checkpoint
from ..shards import SHARD_ROWS
from ..shards.jobs import Job, JobFolder, describe_model, load_unprompted_model, prompt_mismatch_notes
from ..shards.serving import ShardedVectors, gather_scores
from ..shards.sources import SourceFile, choose_columns, find_sources, read_rows, sample_rows
from ..workspace import digest_file, existing_path
from .data import DataService
from .resources import Resources, Service
from .results import EncodedShards, MinedShards, SearchResult, ShardPair, TextHit
from .similarity import require_text

if TYPE_CHECKING:
    from ..shards.executor import ExecutionOptions
    from ..shards.serving import ShardIndex

_MAX_PAIRS = 100_000
_MAX_THREADS = 256


@dataclass(frozen=True)
class ShardingOptions:
    """Options that, together with the model and the texts, determine every bit of a job's result.

    Attributes:
        threads: threads per shard.
        rows: maximum number of rows per shard.
    """

    threads: int = 1
    rows: int = SHARD_ROWS

    def __post_init__(self) -> None:
        for name, value in (("--threads", self.threads), ("--shard-rows", self.rows)):
            if value < 1:
                raise StudioError(_("{name} is {value}", name=name, value=value), "choose at least 1")
        if self.threads > _MAX_THREADS:
            raise StudioError(f"--threads is {self.threads}", _("choose at most {max_threads}", max_threads=_MAX_THREADS))


@dataclass(frozen=True)
class EncodingOptions:
    """Columns to read and model to encode with; ``None`` for the default.

    Attributes:
        column, id_column: columns of the texts and of their ids.
        role: role of the texts for a model with prompts.
    """

    column: str | None = None
    id_column: str | None = None
    model: str | None = None
    precision: str = "float32"
    role: Role = "plain"


class ShardService(Service):
    """Jobs over Parquet files. Repeating a call continues an interrupted job."""

    def __init__(self, resources: Resources, data: DataService) -> None:
        super().__init__(resources)
        self._data = data

    def encode(
        self,
        path: str | Path,
        out: Path,
        execution: ExecutionOptions,
        sharding: ShardingOptions,
        encoding: EncodingOptions,
        progress: Progress | None = None,
    ) -> EncodedShards:
        """Encode all texts into shards of id, text and vector in the folder ``out``, which must not contain anything else.

        Args:
            path: a Parquet file, a folder or a glob; or one file in another format, which is converted first.
        """
        from ..shards.executor import execute

        source, folder = existing_path(path), JobFolder(out)
        if source is not None and source.is_dir() and folder.path.is_relative_to(source.resolve()):
            raise StudioError(
                _("{name} would be inside the input folder", name=folder.path.name), "specify a folder outside the input folder"
            )
        sources, column, id_column = self._sources(path, folder.path, encoding)
        text, ids = choose_columns(sources, column, id_column)
        name = encoding.model or self.settings.default_model
        named, encoder = describe_model(self.catalog, name, encoding.precision, encoding.role)
        job = Job("encode", sources, {"model": named, "text": text, "id": ids, "threads": sharding.threads}, sharding.rows)
        done = execute(job, folder, execution, progress)
        return EncodedShards(
            folder=str(folder.path),
            rows=sum(receipt.rows for receipt in done.receipts),
            left_out=sum(receipt.left_out for receipt in done.receipts),
            shards=len(done.receipts),
            resumed=done.resumed,
            dim=encoder.dim,
            seconds=done.seconds,
            encoded=done.rows,
            text=text,
            id=ids,
        )

    def _sources(self, path: str | Path, out: Path, encoding: EncodingOptions) -> tuple[tuple[SourceFile, ...], str | None, str | None]:
        """Return the Parquet files and the columns. A file in another format is converted to Parquet next to ``out``."""
        file, column, id_column = existing_path(path), encoding.column, encoding.id_column
        if file is None or not file.is_file() or file.suffix.lower() == ".parquet":
            return find_sources(path), column, id_column
        corpus = self._data.read_corpus(file, column)
        if id_column is not None and id_column not in corpus.fields:
            raise StudioError(
                _("{name} has no column {id_column}", name=file.name, id_column=repr(id_column)),
                _("its columns are: {columns}", columns=", ".join(corpus.columns())),
            )
        ids = [str(line) for line in corpus.lines] if id_column is None else list(corpus.fields[id_column])
        converted = out.with_name(f"{out.name}.texts.parquet")
        table_from_columns(converted.name, {"id": ids, "text": corpus.texts}).to_parquet(converted)
        # The file is rewritten at each call, so identify it by its content instead of its modification time.
        sources = (replace(one, digest=digest_file(Path(one.path))[:16], modified=0) for one in find_sources(converted))
        return tuple(sources), "text", "id"

    def mine(
        self, path: Path, options: ExecutionOptions, top: int = DEFAULT_RESULTS, threads: int = 1, progress: Progress | None = None
    ) -> MinedShards:
        """Find the most similar pairs of all rows of an encoded folder, exactly."""
        from ..explore.paraphrase_mining import TopPairs
        from ..shards.executor import execute

        if not 1 <= top <= _MAX_PAIRS:
            raise StudioError(_("top is {top}", top=top), _("choose a number between 1 and {max_pairs}", max_pairs=f"{_MAX_PAIRS:,}"))
        vectors = ShardedVectors(path)
        name, model = vectors.folder.path.name, vectors.job.settings["model"]
        if (measure := model.get("similarity_fn_name", "cosine")) != "cosine":
            raise StudioError(
                _(
                    "{name} was encoded by a model that uses {titles}, but pairs in shards are mined by cosine",
                    name=name,
                    titles=TITLES[measure],
                ),
                "mine one file, or encode it with a model that uses cosine similarity",
            )
        if len(vectors) < 2:
            raise StudioError(_("{name} contains fewer than two texts", name=name), "add texts to compare")
        sources = tuple(
            replace(source, digest=receipt.sha256[:16], modified=0)
            for shard, receipt in zip(vectors.paths(), vectors.receipts, strict=True)
            for source in find_sources(shard)
        )
        settings = {"of": vectors.key, "top": top, "dim": vectors.dim, "threads": threads}
        job = Job("mine", sources, settings, max(source.rows for source in sources))
        folder, start = JobFolder(vectors.folder.path / f"pairs-{top}"), time.perf_counter()
        done = execute(job, folder, options, progress)
        best = TopPairs(top, 1.0)
        for receipt in done.receipts:
            part = read_rows(folder.shard(receipt.number), 0, receipt.rows, ["a", "b", "score"])
            best.add(*(part.column(column).to_numpy() for column in ("a", "b", "score")))
        a, b, scores = best.columns()
        rows = zip(vectors.texts(a), vectors.texts(b), scores, strict=True)
        pairs = tuple(ShardPair(*left, *right, float(score)) for left, right, score in rows)
        return MinedShards(pairs, len(vectors), done.resumed, time.perf_counter() - start, self._prompt_notes(model))

    def _prompt_notes(self, model: dict[str, Any]) -> tuple[str, ...]:
        try:
            return prompt_mismatch_notes(model, load_unprompted_model(model, self.catalog), "symmetric")
        except StudioError:  # mining does not need the model
            return ()

    def evaluate(
        self,
        model: str | None,
        path: str | Path,
        options: ExecutionOptions,
        sharding: ShardingOptions,
        task: str = "auto",
        out: Path | None = None,
        precision: str = "float32",
        progress: Progress | None = None,
    ) -> Report:
        """Evaluate a model on scored or labelled pairs in Parquet files; similarities are stored in the folder ``out``."""
        from ..shards.executor import execute

        sources = find_sources(path)
        chosen, found = choose_task(table := sample_rows(sources), task, None)
        if not isinstance(chosen, SimilarityTask):
            raise StudioError(
                _("{name} cannot be evaluated on shards", name=chosen.name), "use pairs with a score or label, or omit --engine"
            )
        roles = replace(found if isinstance(found, Roles) else chosen.roles_of(table), group=None)
        named, encoder = describe_model(self.catalog, model or self.settings.default_model, precision, "symmetric")
        settings = {"model": named, "task": chosen.name, "roles": roles.to_json(), "threads": sharding.threads}
        job = Job("evaluate", sources, settings, sharding.rows)
        folder = JobFolder(out or self.workspace.cache("judged") / job.key)
        done = execute(job, folder, options, progress)
        targets, scores = gather_scores(folder, done.receipts)
        if not len(targets):
            raise StudioError("no row contains a pair that can be evaluated", "check the columns of the files")
        report = chosen.evaluate_similarities(scores, targets, encoder.similarity_name)
        left_out = sum(receipt.left_out for receipt in done.receipts)
        notes: tuple[str, ...] = ()
        if left_out:
            notes += (
                _(
                    "{left_out} of {rows} rows were skipped: a text or the target is missing or unreadable",
                    left_out=f"{left_out:,}",
                    rows=f"{job.rows:,}",
                ),
            )
        if "interval" in report.scores:
            notes += ("the interval treats rows that share a text as independent, unlike the one without --engine",)
        return replace(report, notes=notes)

    def search(
        self, path: Path, query: str, k: int = DEFAULT_RESULTS, model: str | None = None, progress: Progress | None = None
    ) -> SearchResult:
        """Return the ``k`` texts of an encoded folder nearest to a query, using the model that encoded it.

        Args:
            model: must be that model if given.
            progress: called while the index is built, at the first search.
        """
        from ..shards.serving import search_exhaustively

        query = require_text(query, "query")
        if k < 1:
            raise StudioError(_("k is {k}", k=k), "choose at least 1")
        vectors = ShardedVectors(path)
        job_model = vectors.job.settings["model"]
        measure, role = str(job_model.get("similarity_fn_name", "cosine")), job_model.get("role", "plain")
        index = self._index(path, progress) if measure == "cosine" else None
        if model is not None and self.catalog.load(model, job_model["precision"]).for_role(role).fingerprint != job_model["fingerprint"]:
            raise StudioError(
                _("{name} was encoded by {source}, not by {model}", name=path.name, source=job_model["source"], model=model),
                "omit the model, or encode it again",
            )
        encoder = load_unprompted_model(job_model, self.catalog)
        start = time.perf_counter()
        vector = require_finite_vectors(encoder.for_role("query").encode([query]))[0]
        rows, scores = index.search(vector, k) if index else search_exhaustively(vectors, vector, k, measure)
        texts = vectors.texts(rows)
        milliseconds = (time.perf_counter() - start) * 1000
        # Number rows as in a spreadsheet with a header.
        hits = tuple(
            TextHit(int(row), int(row) + 2, text, float(score), {"id": str(id_)})
            for row, score, (id_, text) in zip(rows, scores, texts, strict=True)
        )
        recall = index.recall(k) if index else None
        notes = (*score_note(encoder.name, measure), *prompt_mismatch_notes(job_model, encoder, "document"))
        if recall is not None:
            notes += (_("Approximate: {recall} of the nearest rows are found, measured on rows of this folder.", recall=f"{recall:.1%}"),)
        return SearchResult(hits, milliseconds, RowReport(len(vectors), len(vectors)), notes, recall, measure, encoder.name)

    def _index(self, path: Path, progress: Progress | None) -> ShardIndex:
        from ..shards.serving import ShardIndex

        folder = JobFolder(path)
        return self._resources.served_shards.get(
            (str(folder.path), folder.job().key), lambda: ShardIndex(folder.path, progress), checkpoint
        )
