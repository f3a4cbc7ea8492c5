"""Verbs over shards: more rows than one file or machine should hold at once."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import StudioError
from ..progress import checkpoint
from ..shards.jobs import SHARD_ROWS, Job
from ..workspace import digest_file, existing_path
from .resources import Service
from .results import EncodedShards, MinedShards, ShardPair
from .results.search import SearchResult, TextHit
from .similarity import require_text

if TYPE_CHECKING:
    from ..evaluation.report import Report
    from ..models.prompts import Role
    from ..progress import Progress
    from ..shards.executor import ExecutionOptions
    from ..shards.sources import SourceFile
    from .data import DataService
    from .resources import Resources

_MOST_PAIRS = 100_000
_MOST_THREADS = 256


@dataclass(frozen=True)
class ShardingOptions:
    """What of a job decides its bits beside the model and the texts.

    Attributes:
        threads: that a shard is computed in.
        rows: the most of a shard.
    """

    threads: int = 1
    rows: int = SHARD_ROWS

    def __post_init__(self) -> None:
        for name, value in (("--threads", self.threads), ("--shard-rows", self.rows)):
            if value < 1:
                raise StudioError(f"{name} is {value}", "choose at least 1")
        if self.threads > _MOST_THREADS:
            raise StudioError(f"--threads is {self.threads}", f"choose at most {_MOST_THREADS}")


class ShardService(Service):
    """Parquet → shards → pairs, scores and hits; whatever ended a job, the same call goes on where it was."""

    def __init__(self, services: Resources, read: DataService) -> None:
        super().__init__(services)
        self._read = read

    def encode(
        self,
        path: str | Path,
        out: Path,
        how: ExecutionOptions,
        sharding: ShardingOptions,
        *,
        column: str | None = None,
        known: str | None = None,
        model: str | None = None,
        precision: str = "float32",
        progress: Progress | None = None,
        role: Role = "plain",
    ) -> EncodedShards:
        """The vectors of every text as shards in the folder ``out``, with the text and its id.

        Args:
            path: a Parquet file, a folder or a pattern of them; or one file of another format, which is read whole first.
            column: the column of texts; known: that of ids.
            role: what the texts are, for a model with prompts: documents to be searched, or texts to be compared.

        Raises:
            StudioError: something of it cannot be read, or ``out`` holds something else.
        """
        from ..shards.executor import execute
        from ..shards.job_model import describe_model
        from ..shards.jobs import JobFolder
        from ..shards.sources import choose_columns

        given, into = existing_path(path), JobFolder(out).path
        if given is not None and given.is_dir() and into.is_relative_to(given.resolve()):
            raise StudioError(f"{into.name} would stand among the files that are read", "name a folder outside of them")
        sources, column, known = self._sources(path, into, column, known)
        text, ids = choose_columns(sources, column, known)
        named, encoder = describe_model(self.catalog, model or self.settings.default_model, precision, role)
        job = Job("encode", sources, {"model": named, "text": text, "id": ids, "threads": sharding.threads}, sharding.rows)
        done = execute(job, JobFolder(out), how, progress)
        rows, left_out = (sum(getattr(receipt, name) for receipt in done.receipts) for name in ("rows", "left_out"))
        return EncodedShards(
            str(JobFolder(out).path), rows, left_out, len(done.receipts), done.resumed, encoder.dim, done.seconds, done.rows, text, ids
        )

    def _sources(
        self, path: str | Path, out: Path, column: str | None, known: str | None
    ) -> tuple[tuple[SourceFile, ...], str | None, str | None]:
        """The Parquet files, and the columns; of a file of another format one is made, in the folder beside ``out``'s shards."""
        from ..shards.sources import find_sources

        file = existing_path(path)
        if file is None or not file.is_file() or file.suffix.lower() == ".parquet":
            return find_sources(path), column, known
        from ..data.loading.table import table_from_columns

        corpus = self._read.corpus(file, column)
        if known is not None and known not in corpus.fields:
            raise StudioError(f"{file.name} has no column {known!r}", f"its columns are: {', '.join(corpus.columns())}")
        ids = [str(line) for line in corpus.lines] if known is None else list(corpus.fields[known])
        beside = out.with_name(f"{out.name}.texts.parquet")
        table_from_columns(beside.name, {"id": ids, "text": corpus.texts}).to_parquet(beside)
        return _known_whole(find_sources(beside)), "text", "id"

    def mine(self, path: Path, how: ExecutionOptions, top: int = 10, threads: int = 1, progress: Progress | None = None) -> MinedShards:
        """The most similar pairs of all rows of a folder that :meth:`encode` wrote, exactly.

        Raises:
            StudioError: the folder holds no vectors, or not all of them yet.
        """
        from ..explore.paraphrase_mining import TopPairs
        from ..models.similarity import TITLES
        from ..shards.executor import execute
        from ..shards.jobs import JobFolder
        from ..shards.reader import ShardedVectors
        from ..shards.sources import find_sources, read_rows

        if not 1 <= top <= _MOST_PAIRS:
            raise StudioError(f"top is {top}", f"choose a number between 1 and {_MOST_PAIRS:,}")
        found = ShardedVectors(path)
        if (by := found.job.settings["model"].get("similarity_fn_name", "cosine")) != "cosine":
            raise StudioError(
                f"{found.folder.path.name} was encoded by a model that compares by {TITLES[by]}: pairs in shards are found by the cosine",
                "mine one file, or encode it by a model that compares by the cosine",
            )
        if len(found) < 2:
            raise StudioError(f"{found.folder.path.name} holds fewer than two texts", "add texts to compare")
        sources = tuple(
            replace(source, digest=receipt.sha256[:16], modified=0)
            for one, receipt in zip(found.paths(), found.receipts, strict=True)
            for source in find_sources(one)
        )
        largest = max(source.rows for source in sources)
        job = Job("mine", sources, {"of": found.key, "top": top, "dim": found.dim, "threads": threads}, largest)
        folder, start = JobFolder(found.folder.path / f"pairs-{top}"), time.perf_counter()
        done = execute(job, folder, how, progress)
        best = TopPairs(top, 1.0)
        for receipt in done.receipts:
            part = read_rows(folder.shard(receipt.number), 0, receipt.rows, ["a", "b", "score"])
            best.add(*(part.column(name).to_numpy() for name in ("a", "b", "score")))
        a, b, scores = best.columns()
        left, right = found.told(a), found.told(b)
        pairs = (ShardPair(*one, *other, float(score)) for one, other, score in zip(left, right, scores, strict=True))
        notes = self._unsuited(found.job.settings["model"])
        return MinedShards(tuple(pairs), len(found), done.resumed, time.perf_counter() - start, notes)

    def _unsuited(self, model: dict[str, Any]) -> tuple[str, ...]:
        """Say that vectors which are compared were made with a prompt for something else, where the model is here to tell."""
        from ..shards.job_model import load_unprompted_model, prompt_mismatch_notes

        try:
            return prompt_mismatch_notes(model, load_unprompted_model(model, self.catalog), "symmetric")
        except StudioError:  # pairs are found without the model
            return ()

    def evaluate(
        self,
        model: str | None,
        path: str | Path,
        how: ExecutionOptions,
        sharding: ShardingOptions,
        task: str = "auto",
        out: Path | None = None,
        precision: str = "float32",
        progress: Progress | None = None,
    ) -> Report:
        """A model judged on pairs with a score or label in Parquet files; what it says of each pair is kept in the folder ``out``.

        Raises:
            StudioError: the files hold no such pairs, or the task needs all vectors in one place.
        """
        from ..data.schema.roles import Roles
        from ..evaluation.evaluate import choose_task
        from ..shards.executor import execute
        from ..shards.job_model import describe_model
        from ..shards.jobs import JobFolder
        from ..shards.reader import gather_scores
        from ..shards.sources import find_sources, sample_rows

        sources = find_sources(path)
        chosen, found = choose_task(table := sample_rows(sources), task, None)
        if not chosen.by_similarity:
            raise StudioError(f"{chosen.name} cannot be judged in shards", "give pairs with a score or label, or leave out --engine")
        roles = found if isinstance(found, Roles) else chosen.roles_of(table)
        named, encoder = describe_model(self.catalog, model or self.settings.default_model, precision, "symmetric")
        told = replace(roles, group=None)
        settings = {"model": named, "task": chosen.name, "roles": told.to_json(), "threads": sharding.threads}
        job = Job("evaluate", sources, settings, sharding.rows)
        where = out or self.workspace.cache("judged") / job.key
        done = execute(job, folder := JobFolder(where), how, progress)
        targets, alike = gather_scores(folder, done.receipts)
        if not len(targets):
            raise StudioError("no row holds a pair that can be judged", "check the columns of the files")
        report = chosen.evaluate_similarities(targets, alike, encoder.similarity_name)
        left_out = sum(receipt.left_out for receipt in done.receipts)
        notes: tuple[str, ...] = ()
        if left_out:
            notes += (f"{left_out:,} of {job.rows:,} rows were left out: a text or the target is missing or unreadable",)
        if "interval" in report.scores:
            notes += ("the interval takes rows that share a text for independent; without --engine it does not",)
        return replace(report, notes=notes)

    def search(self, path: Path, query: str, k: int = 10, model: str | None = None, progress: Progress | None = None) -> SearchResult:
        """The ``k`` texts of a folder that :meth:`encode` wrote that are nearest to a query, by the model that it was written by.

        Args:
            model: the model that is asked for, which must be that one.
            progress: told how far the index is, where it is still to be built.

        Raises:
            StudioError: the folder holds no vectors, or those of another model.
        """
        from ..data.row_report import RowReport
        from ..models.base import require_finite_vectors
        from ..models.similarity import score_note
        from ..shards.job_model import load_unprompted_model, prompt_mismatch_notes
        from ..shards.reader import ShardedVectors
        from ..shards.serving import search_exhaustively

        query = require_text(query, "query")
        if k < 1:
            raise StudioError(f"k is {k}", "choose at least 1")
        rows = ShardedVectors(path)
        of = rows.job.settings["model"]
        by = str(of.get("similarity_fn_name", "cosine"))
        served = self._served(path, progress) if by == "cosine" else None
        role = of.get("role", "plain")
        if model is not None and self.catalog.load(model, of["precision"]).for_role(role).fingerprint != of["fingerprint"]:
            raise StudioError(f"{path.name} was encoded by {of['source']}, not by {model}", "leave the model out, or encode it again")
        plain = load_unprompted_model(of, self.catalog)
        start = time.perf_counter()
        asked = require_finite_vectors(plain.for_role("query").encode([query]))[0]
        numbers, scores = served.search(asked, k) if served else search_exhaustively(rows, asked, k, by)
        told = rows.told(numbers)
        milliseconds = (time.perf_counter() - start) * 1000
        hits = (
            TextHit(int(row), int(row) + 2, text, float(score), {"id": str(known)})
            for row, score, (known, text) in zip(numbers, scores, told, strict=True)
        )
        recall = served.recall(k) if served else None
        notes = (*score_note(plain.name, by), *prompt_mismatch_notes(of, plain, "document"))
        if recall is not None:
            notes += (f"Approximate: of the nearest rows {recall:.1%} are found, measured on rows of this folder.",)
        return SearchResult(tuple(hits), milliseconds, RowReport(len(rows), len(rows)), notes, recall, by)

    def _served(self, path: Path, progress: Progress | None) -> Any:
        from ..shards.jobs import JobFolder
        from ..shards.serving import ShardIndex

        folder = JobFolder(path).path
        return self._services.served.get((str(folder), JobFolder(folder).job().key), lambda: ShardIndex(folder, progress), checkpoint)


def _known_whole(sources: tuple[SourceFile, ...]) -> tuple[SourceFile, ...]:
    """Told by all of their bytes, whenever they were written: they are made anew at each call."""
    return tuple(replace(source, digest=digest_file(Path(source.path))[:16], modified=0) for source in sources)
