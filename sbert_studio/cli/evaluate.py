"""The commands ``evaluate``, ``models`` and ``leaderboard``."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from ..errors import StudioError
from ..registry import registered_names
from ..workspace import existing_path, require_writable_file
from .completion import complete_models, complete_runs, one_of
from .options import FormatOptions, ShardOptions, open_studio, with_options
from .output import Answer, Json, print_message, progress, progress_by_phase

if TYPE_CHECKING:
    from ..data.schema.roles import SchemaOverrides
    from ..services.retrieval import RetrievalOptions


# Read from the sources, because importing them takes most of the time of --help.
_TASKS = registered_names("evaluation/tasks", "TASK_REGISTRY")
_SUITES = tuple(tomllib.loads((Path(__file__).parents[1] / "datasets" / "suites.toml").read_text(encoding="utf-8")))


@dataclass(frozen=True)
class RetrievalArguments:
    """Options of the evaluation of retrieval."""

    retrieval: Annotated[
        str | None,
        typer.Option(
            metavar="PATH",
            help="Evaluate retrieval: a folder in the BEIR layout (corpus.jsonl, queries.jsonl, qrels/test.tsv), or a table with the "
            "columns query, document and grade (without grades, every row is relevant).",
        ),
    ] = None
    part: Annotated[
        str, typer.Option("--qrels", metavar="test|dev|train", help="Judgments of the folder.", show_default="test, else dev")
    ] = ""
    corpus: Annotated[Path | None, typer.Option(metavar="FILE", help="Further documents for the table of --retrieval, not judged.")] = None
    reranker: Annotated[
        str,
        typer.Option(metavar="MODEL", autocompletion=complete_runs, help="With --retrieval: also re-rank each model's results with it."),
    ] = ""
    rerank_top: Annotated[int, typer.Option("--rerank-top", min=1, max=100, help="Number of results that are re-ranked.")] = 100
    judged_only: Annotated[
        bool, typer.Option("--judged-only", help="With --retrieval: rank only the judged documents of each query. Cross-encoders can, too.")
    ] = False
    passages: Annotated[
        bool, typer.Option("--passages", help="With --retrieval: also cut long documents into passages, and rank each by its best one.")
    ] = False
    titles: Annotated[
        bool, typer.Option("--titles/--no-titles", help="With --retrieval: put the titles of a BEIR folder before the texts.")
    ] = True
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", "-o", metavar="FILE", help="With --retrieval: also write the result to FILE.xlsx, or its scores to FILE.csv."
        ),
    ] = None

    def reject(self) -> None:
        """Raise an error if one of the options was given without ``--retrieval``."""
        if self != RetrievalArguments():
            names = "--qrels, --corpus, --reranker, --rerank-top, --judged-only, --passages, --no-titles and --out"
            raise StudioError(f"{names} are options of --retrieval", "add --retrieval PATH")

    def options(self, overrides: SchemaOverrides) -> RetrievalOptions:
        """Return the options of the service."""
        from ..services.retrieval import RetrievalOptions

        ranked: Literal["all", "judged"] = "judged" if self.judged_only else "all"
        return RetrievalOptions(
            split=self.part,
            candidates=ranked,
            reranker=self.reranker,
            rerank_depth=self.rerank_top,
            overrides=overrides,
            corpus=self.corpus,
            passages=self.passages,
            titles=self.titles,
        )


@with_options
def evaluate(
    *,
    models: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="MODEL...",
            autocompletion=complete_models,
            help="Bundled names, run ids, folders or hub ids. Files among them count as --data.",
        ),
    ] = None,
    data: Annotated[
        list[str] | None,
        typer.Option(
            metavar="FILE",
            help="Pairs with a score or label, triplets, labelled texts, a folder of these, or a public dataset by its id on the "
            "Hugging Face Hub (hf://datasets/OWNER/NAME); may be repeated.",
        ),
    ] = None,
    task: Annotated[
        str, typer.Option(metavar="TASK", autocompletion=one_of(("auto", *_TASKS)), help=f"auto, {', '.join(_TASKS)}.")
    ] = "auto",
    suite: Annotated[
        str | None,
        typer.Option(
            metavar="SUITE", autocompletion=one_of(_SUITES), help=f"Evaluate on a suite, whose files are in --data: {', '.join(_SUITES)}."
        ),
    ] = None,
    reference: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Labelled rows, which senteval trains its classifier on and categories compares texts with."),
    ] = None,
    ranking: RetrievalArguments,
    recommend: Annotated[
        bool,
        typer.Option("--recommend", help="Compare all models at hand on --data or --retrieval, and recommend one to start from."),
    ] = False,
    shards: ShardOptions,
    file_format: FormatOptions,
    json: Json = False,
) -> Answer:
    """Evaluate models on files and compare them. Questions about a file are answered with the same options as in ``train``."""
    from ..data.loading.table import SUFFIXES
    from .evaluation_tables import format_evaluation, report_answer

    models = models or []
    named = [name for name in models if not _is_file(name)]
    files = [*(data or ()), *(name for name in models if _is_file(name))]
    for name in named:
        # Model folders have no such suffix: this is a missing file.
        if Path(name).suffix.lower() in SUFFIXES and existing_path(name) is None:
            raise StudioError(f"there is no file {name!r}", "check the path, or quote it if it contains spaces")
    overrides = file_format.overrides()
    if ranking.retrieval is not None:
        if files or suite or reference or shards.engine is not None or task != "auto":
            raise StudioError("--retrieval brings its own data and task", "omit the other files, --task, --suite, --reference and --engine")
        chosen = ranking.options(overrides)
        if recommend:
            return _recommend(named, ranking.retrieval, chosen, out=ranking.out)
        return _evaluate_retrieval(named, ranking.retrieval, chosen, ranking.out)
    ranking.reject()
    if not files and not suite:
        raise StudioError("there is no evaluation data", "specify a file with --data, or a suite with --suite")
    if recommend:
        if suite or reference or shards.engine is not None or len(files) > 1:
            raise StudioError("--recommend compares models on one file", "omit --suite, --reference, --engine and the other files")
        return _recommend(named, files[0], None, task, overrides)
    if not named:
        raise StudioError("no model is specified", "specify one before the files")
    if shards.engine is not None:
        if suite or reference or len(named) > 1 or len(files) > 1:
            raise StudioError("--engine can evaluate only one model on one Parquet file, folder or pattern", "omit the others")
        options, sharding = shards.parse(), shards.sharding()
        with open_studio() as studio, progress("encoding", "pairs") as report:
            sharded = studio.shards.evaluate(named[0], files[0], options, sharding, task, progress=report)
        return report_answer(sharded)
    shards.reject()
    if suite or len(named) > 1 or len(files) > 1 or _is_folder(files[0]):
        with open_studio() as studio, progress_by_phase() as begin_phase:
            found = studio.evaluation.evaluate_models(named, files, task, suite or "", overrides, reference, begin_phase=begin_phase)
        return Answer(found.to_json(), format_evaluation(found))
    with open_studio() as studio, progress("encoding") as report:
        scores = studio.evaluation.evaluate(named[0], files[0], task, report, overrides, reference)
    return report_answer(scores)


def _evaluate_retrieval(models: list[str], source: str, options: RetrievalOptions, out: Path | None) -> Answer:
    from ..services.retrieval_files import SUFFIXES, write_retrieval
    from .evaluation_tables import format_retrieval

    if out is not None:  # before the evaluation, which may take hours
        require_writable_file(
            out, existing_path(source), None if options.corpus is None else Path(options.corpus), suffixes=SUFFIXES
        )  # the table, and its further documents
    with open_studio() as studio, progress_by_phase() as begin_phase:
        found = studio.retrieval.evaluate(models, source, options, begin_phase=begin_phase)
    if out is not None:
        print_message(f"written to {write_retrieval(found, out)}")
    return Answer(found.to_json(), format_retrieval(found))


def _recommend(
    models: list[str],
    source: str,
    options: RetrievalOptions | None,
    task: str = "auto",
    overrides: SchemaOverrides | None = None,
    out: Path | None = None,
) -> Answer:
    from .evaluation_tables import format_recommendation

    if out is not None:
        raise StudioError("--recommend writes no file", "omit --out, or use --json")
    with open_studio() as studio, progress_by_phase() as begin_phase:
        found = studio.recommendation.recommend(
            source, models, task=task, options=options, overrides=overrides or None, begin_phase=begin_phase
        )
    return Answer(found.to_json(), format_recommendation(found))


def _is_file(name: str) -> bool:
    from ..data.loading.hub import is_hub_address

    if is_hub_address(name):
        return True
    found = existing_path(name)
    return found is not None and found.is_file()


def _is_folder(name: str) -> bool:
    from ..data.loading.hub import is_hub_address

    found = None if is_hub_address(name) else existing_path(name)
    return found is not None and found.is_dir()


def models(json: Json = False) -> Answer:
    """List the available models."""
    with open_studio() as studio:
        found, notices = studio.models.list_available()
    for notice in notices:
        print_message(notice)
    lines = [
        [card.name, card.kind, "damaged", "", "", f"{card.title}: {card.damaged}"]
        if card.damaged
        else [card.name, card.kind, f"{card.dim}-d" if card.reads == "texts" else "pairs", card.size, card.pooling, card.title]
        for card in found
    ]
    return Answer({"models": [card.to_json() for card in found], "notices": notices}, lines)


def leaderboard(
    data: Annotated[str, typer.Option(metavar="NAME", help="Only entries of this dataset, as named in the list.")] = "",
    out: Annotated[Path | None, typer.Option("--out", "-o", metavar="FILE", help="Also write the entries to FILE.csv or FILE.md.")] = None,
    remove: Annotated[int, typer.Option(metavar="ID", help="Remove the entry with this id first.")] = 0,
    json: Json = False,
) -> Answer:
    """List stored scores by dataset, best first."""
    from ..services.leaderboard import entry_to_json, write_leaderboard
    from .evaluation_tables import leaderboard_rows

    with open_studio() as studio:
        board = studio.leaderboard
        if remove:
            board.remove(remove)
        found = board.entries(data=data)
        notices = list(studio.store.notices)
    for notice in notices:
        print_message(notice)
    written = {} if out is None else {"path": str(write_leaderboard(out, found))}
    if written:
        print_message(f"written to {out}")
    answer = {"entries": [entry_to_json(one) for one in found], "notices": notices, **written}
    return Answer(answer, leaderboard_rows(found) if found else ["nothing has been evaluated yet: sbert-studio evaluate MODEL --data FILE"])
