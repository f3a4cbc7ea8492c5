"""Commands for exploring texts: ``similarity``, ``encode``, ``search``, ``mine``, ``duplicates``, ``map`` and ``topics``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from ..errors import StudioError
from ..explore import DEFAULT_RESULTS, DEFAULT_SEED
from ..workspace import require_suffix, require_writable_file
from .completion import complete_runs
from .options import (
    EngineOptions,
    LlmOptions,
    ShardOptions,
    TextOptions,
    choose_model,
    encoded_shards_answer,
    is_shard_folder,
    mined_shards_answer,
    open_studio,
    with_options,
)
from .output import Answer, Column, Json, Model, format_number, one_line, print_message, print_notes, progress, progress_by_phase

if TYPE_CHECKING:
    from ..data.corpus import Corpus
    from ..explore.clusters import ClusterParams
    from ..services import Studio
    from ..services.results import TopicInfo

_TYPES = "csv, tsv, jsonl, xlsx, parquet or txt"
_TABLES = (".csv", ".xlsx")
_DOCUMENTS = "documents: md, html, docx, pdf, a folder, zip or quoted pattern of them, a BEIR folder"
File = Annotated[Path, typer.Argument(metavar="FILE", help=f"{_TYPES}; or {_DOCUMENTS}.")]
FileOrShards = Annotated[Path, typer.Argument(metavar="FILE", help=f"{_TYPES}; {_DOCUMENTS}; or a folder of shards written by encode.")]
Unit = Annotated[Literal["document", "passage"] | None, typer.Option(help="Of documents: what is compared.", show_default="document")]


def similarity(
    *,
    a: Annotated[str | None, typer.Argument(metavar="A", help="A text.")] = None,
    b: Annotated[str | None, typer.Argument(metavar="B", help="Another text.")] = None,
    pairs: Annotated[Path | None, typer.Option(metavar="FILE", help="Compare the pairs of a file instead.")] = None,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", metavar="FILE", help="Write the scores of --pairs to FILE.csv or FILE.xlsx.")
    ] = None,
    model: Model = None,
    json: Json = False,
) -> Answer:
    """Compare two texts, or every row of a file of pairs."""
    with open_studio() as studio:
        if pairs is None:
            if a is None or b is None:
                raise StudioError("two texts are needed", 'run sbert-studio similarity "one text" "another", or use --pairs FILE')
            if out is not None:
                raise StudioError("--out requires --pairs", "omit it, or specify a file of pairs")
            model = choose_model(studio, model, [a, b])
            found = studio.similarity.compare(a, b, model)
            print_notes(None, "", found.notes)
            from ..models.similarity import SIMILARITIES

            own = () if found.similarity_fn_name == "cosine" else ("score",)
            return Answer(found.to_json(), [[name, getattr(found, name)] for name in (*SIMILARITIES, *own)])
        if a is not None:
            raise StudioError("both texts and --pairs were specified", "specify either two texts or --pairs")
        if out is not None:
            require_writable_file(out, pairs, suffixes=_TABLES)
        table = studio.data.read_table(pairs)
        model = choose_model(studio, model, table)
        with progress("encoding") as report:
            scores = studio.similarity.compare_file(table, model, report)
    if out is not None:
        scores.write(out)
    print_notes(scores.account, "compared", scores.notes)
    rows = [[row.row, row.similarity.cosine, one_line(row.a, 50), one_line(row.b, 50)] for row in scores.rows[:20]]
    more = [f"… and {len(scores.rows) - 20:,} rows more" + ("" if out else "; --out FILE writes them all")] if len(scores.rows) > 20 else []
    more += [scores.agreement.describe()] if scores.agreement else []
    written = [f"written to {out}"] if out else []
    return Answer({**scores.to_json(), "model": model}, [["row", "cosine", *scores.columns], *rows, *more, *written])


@with_options
def encode(
    *,
    file: Annotated[Path, typer.Argument(metavar="FILE", help=f"{_TYPES}; {_DOCUMENTS}; or a folder or glob of parquet.")],
    out: Annotated[
        Path, typer.Option("--out", "-o", metavar="X.npy", help="Output array, (rows of the file, dim) float32; or a folder for shards.")
    ],
    texts: TextOptions,
    precision: Annotated[Literal["float32", "bfloat16", "int8", "auto"], typer.Option(help="Precision of the weights.")] = "float32",
    role: Annotated[Literal["query", "document", "symmetric"] | None, typer.Option(help="Use the model's prompt for this role.")] = None,
    shards: ShardOptions,
    id: Annotated[str | None, typer.Option("--id", metavar="NAME", help="Id column of shards.", show_default="id, if there is one")] = None,
    json: Json = False,
) -> Answer:
    """Encode a column of texts: one vector for each row below the header, NaN for rows without text; of documents, one for each passage.

    The passages are written to a JSONL file beside the array, one per vector.

    With --engine, or from a folder of Parquet files, the output is a folder of shards of id, text and vector, without blank texts.

    The same command resumes an interrupted one.
    """
    from ..shards.sources import is_multi_file

    if shards.engine is not None or is_multi_file(file):
        from ..services.shards import EncodingOptions

        options = EncodingOptions(texts.column, id, texts.model, precision, role or "plain")
        with open_studio() as studio, progress("encoding") as report:
            encoded = studio.shards.encode(file, out, shards.parse(), shards.sharding(), options, report)
        return encoded_shards_answer(encoded)
    shards.reject(id=bool(id))
    with open_studio() as studio:
        with progress("reading", "") as report:
            rows, table = studio.data.read_texts(file, texts.column, model=texts.model, passages=texts.passages, progress=report)
        require_writable_file(out, file)
        model = choose_model(studio, texts.model, rows.texts)
        with progress("encoding", "rows") as report:
            found = studio.similarity.encode_file(rows, out, model, precision, report, print_message, role=role or "plain")
    from ..data.findings import count

    print_notes(
        None if table.places else found.account, "encoded", [*(note.describe() for note in table.notes if table.places), *found.notes]
    )
    rate = f"{found.seconds:.1f} s ({found.sentences_per_second:,.0f}/s)"
    now = f", the last {found.rows - found.resumed:,} of them in {rate}" if found.resumed else f" in {rate}"
    words = [f"{found.rows:,} rows as {found.dim}-d vectors{now}, written to {out}"]
    if found.why:
        words.append(f"precision {found.precision}: {found.why}")
    if found.account.skipped:
        words.append(f"{count(found.account.skipped, 'row')} without text {'are' if found.account.skipped > 1 else 'is'} NaN there")
    listed = {}
    if table.places:
        from ..data.documents.passages import write_passages

        listed = {"passages": str(write_passages(table, out.with_suffix(".passages.jsonl")))}
        words.append(f"passages written to {listed['passages']}")
    return Answer({**found.to_json(), "model": model, **listed}, words)


@dataclass(frozen=True)
class PromptOptions:
    """Prompts of queries and texts, and the length of vectors; by default the model's."""

    query_prompt: Annotated[str, typer.Option(metavar="TEXT", help="Prompt for the query, or none.", show_default="the model's")] = ""
    document_prompt: Annotated[str, typer.Option(metavar="TEXT", help="Prompt for the texts, or none.", show_default="the model's")] = ""
    truncate_dim: Annotated[int, typer.Option(min=0, help="Truncate vectors to this length.", show_default="the model's")] = 0


@with_options
def search(
    *,
    file: FileOrShards,
    query: Annotated[str, typer.Argument(metavar="QUERY", help="Text to search for.")],
    k: Annotated[int, typer.Option("-k", "--k", min=1, help="Number of hits.")] = DEFAULT_RESULTS,
    mode: Annotated[Literal["semantic", "lexical", "hybrid"], typer.Option(help="Semantic, lexical (BM25), or both fused.")] = "semantic",
    rerank: Annotated[bool, typer.Option("--rerank", help="Re-rank the best hits with a cross-encoder or poly-encoder.")] = False,
    reranker: Annotated[
        str | None,
        typer.Option(
            metavar="MODEL",
            help="Re-ranking model: a run, folder or hub id.",
            autocompletion=complete_runs,
            show_default="SBERT_STUDIO_RERANKER",
        ),
    ] = None,
    prompts: PromptOptions,
    texts: TextOptions,
    json: Json = False,
) -> Answer:
    """Find the texts nearest to a query; of documents, the best passage of each, and where it is."""
    from ..models.prompts import SearchSettings

    settings = SearchSettings(prompts.query_prompt, prompts.document_prompt, prompts.truncate_dim)
    if is_shard_folder(file):
        if settings != SearchSettings():
            raise StudioError("a folder of shards already contains its vectors", "omit --query-prompt, --document-prompt, --truncate-dim")
        if mode != "semantic" or rerank or reranker or texts.column:
            raise StudioError("a folder of shards supports semantic search only", "omit --mode, --rerank, --reranker and --column")
        with open_studio() as studio, progress("indexing", "rows") as report:
            near = studio.shards.search(file, query, k, texts.model, report)
        print_notes(None, "", near.notes)
        return Answer(near.to_json(), [[format_number(hit.score), hit.fields["id"], one_line(hit.text)] for hit in near.hits])
    from ..services.search import SearchOptions

    options = SearchOptions(reranker or rerank, settings=settings)
    with open_studio() as studio:
        corpus = _read_corpus(studio, file, texts)
        model = texts.model if mode == "lexical" else choose_model(studio, texts.model, corpus)
        with progress("encoding") as report:
            found = studio.search.search(corpus, query, k, mode, model=model, progress=report, options=options)
    print_notes(None if corpus.places else found.account, "searched", found.notes)
    hits: list[Any] = []
    for hit in found.hits:
        if hit.place is None:
            hits.append([format_number(hit.score), f"row {hit.line}", one_line(hit.text)])
        else:
            hits += [f"{format_number(hit.score)}  {hit.place.describe()}", f"  {one_line(hit.text[hit.place.context :])}"]
    return Answer(found.to_json(), hits or ["nothing was found"])


@with_options
def mine(
    *,
    file: FileOrShards,
    k: Annotated[int, typer.Option("-k", "--k", min=1, help="Number of pairs.")] = DEFAULT_RESULTS,
    exact: Annotated[bool, typer.Option("--exact", help="Compare all texts with all, whatever their number.")] = False,
    texts: TextOptions,
    engine: EngineOptions,
    json: Json = False,
) -> Answer:
    """Find the most similar pairs of texts; of documents, of passages."""
    if is_shard_folder(file):
        if texts.column or texts.model:
            raise StudioError("a folder of shards already contains its vectors", "omit --column and --model")
        with open_studio() as studio, progress("comparing", "rows") as report:
            shared = studio.shards.mine(file, engine.parse(), k, engine.threads, report)
        return mined_shards_answer(shared)
    if engine.engine is not None:
        raise StudioError(
            f"{file.name} is not a folder of shards",
            "create one: sbert-studio encode FILE --engine ray --out FOLDER; then mine that folder",
        )
    engine.reject()
    with open_studio() as studio:
        corpus = _read_corpus(studio, file, texts)
        model = choose_model(studio, texts.model, corpus)
        with progress_by_phase() as begin_phase:
            found = studio.search.mine(corpus, k, model, begin_phase, exact=exact)
    print_notes(None if corpus.places else found.account, "compared", found.notes)
    lines: list[Any] = []
    for pair in found.pairs:
        lines += [f"{format_number(pair.score)}  rows {pair.line_a} and {pair.line_b}", f"  {one_line(pair.a)}", f"  {one_line(pair.b)}"]
    return Answer(found.to_json(), lines)


@with_options
def duplicates(
    *,
    file: File,
    threshold: Annotated[float, typer.Option(min=0.8, max=1.0, help="Cosine from which two texts are near-duplicates.")] = 0.95,
    keep: Annotated[Literal["first", "longest"], typer.Option(help="Text of each group that is kept.")] = "first",
    out: Annotated[Path | None, typer.Option("--out", "-o", metavar="FILE", help="Write the texts that are kept to this CSV.")] = None,
    unit: Unit = None,
    texts: TextOptions,
    json: Json = False,
) -> Answer:
    """Find near-duplicates, and write a file without them."""
    with open_studio() as studio:
        corpus = _choose_unit(_read_corpus(studio, file, texts), unit)
        if out is not None:
            require_writable_file(out, file, suffixes=_TABLES)
        model = choose_model(studio, texts.model, corpus)
        with progress("comparing") as report:
            found = studio.search.find_duplicates(corpus, model, report)
    groups = found.groups(threshold, keep)
    removed = sum(len(group.removed) for group in groups)
    print_notes(None if corpus.passages or corpus.places else corpus.account, "compared", found.notes)
    lines: list[Any] = [f"{removed:,} of {len(corpus):,} texts are near-duplicates of others, in {len(groups):,} groups"]
    for group in groups[:DEFAULT_RESULTS]:
        lines += [f"{corpus.lines[row]:>7,}  {one_line(corpus.texts[row])}" for row in group.rows] + [""]
    if out is not None:
        found.write_clean(groups, out)
        lines.append(f"written to {out}")
    return Answer({**found.to_json(groups, threshold), "removed": removed, "kept": len(corpus) - removed, "model": model}, lines)


@with_options
def map(
    *,
    file: File,
    out: Annotated[Path, typer.Option("--out", "-o", metavar="map.html", help="Output page; it needs no network.")],
    topics: Annotated[str, typer.Option(metavar="auto|N", help="Number of topics.")] = "auto",
    seed: Annotated[int, typer.Option(min=0, help="Random seed.")] = DEFAULT_SEED,
    layout: Annotated[Literal["studio", "umap-learn"], typer.Option(help="UMAP implementation; umap-learn is slower.")] = "studio",
    unit: Unit = None,
    texts: TextOptions,
    json: Json = False,
) -> Answer:
    """Draw a map of a corpus with labelled topics."""
    cluster_params = _cluster_params(topics, seed)
    from ..explore.projection import ProjectionParams
    from ..ui.map_value import write_map

    params = ProjectionParams(seed=seed, layout=layout)
    with open_studio() as studio:
        corpus = _choose_unit(_read_corpus(studio, file, texts), unit)
        require_writable_file(out, file, suffixes=(".html", ".htm"))
        model = choose_model(studio, texts.model, corpus)
        with progress("drawing", "steps") as report:
            view = studio.map.draw(corpus, params, cluster_params, model, report)
    write_map(view, corpus.texts, corpus.fields, out, lines=corpus.lines)
    print_notes(None if corpus.passages or corpus.places else view.account, "drawn", view.notes)
    return Answer(view.to_json(), [*_topic_lines(view.topics, view.outliers), f"written to {out}"])


@with_options
def topics(
    *,
    file: File,
    out: Annotated[Path, typer.Option("--out", "-o", metavar="report.xlsx|.html", help="Output workbook, or page that needs no network.")],
    topics: Annotated[str, typer.Option(metavar="auto|N", help="Number of topics.")] = "auto",
    seed: Annotated[int, typer.Option(min=0, help="Random seed.")] = DEFAULT_SEED,
    llm: LlmOptions,
    llm_hint: Annotated[str, typer.Option(metavar="TEXT", help="What the language model should know about the texts or the names.")] = "",
    column: Column = None,
    model: Model = None,
    json: Json = False,
) -> Answer:
    """Report the topics of a corpus: keywords, typical texts, trends over time, and categories with more or fewer texts than expected.

    With --llm-url, --llm-model or --llm-hint, a language model names the topics; it receives keywords and typical texts.
    """
    params = _cluster_params(topics, seed)
    from ..services.topic_names import name_topics, with_names
    from ..services.topic_report import make_topic_report
    from ..services.topic_report_files import SUFFIXES, write_topic_report

    require_suffix(out, SUFFIXES)
    with open_studio() as studio:
        is_named = bool(llm.llm_url or llm.llm_model or llm_hint)
        language_model = studio.language_models.open(llm.llm_url, llm.llm_model) if is_named else None
        corpus = _read_corpus(studio, file, TextOptions(column, model=model))
        require_writable_file(out, file)
        model = choose_model(studio, model, corpus)
        with progress("finding topics", "steps") as show:
            view = studio.map.find_topics(corpus, params, model, show)
        if language_model is not None:
            with progress("naming topics", "names") as show:
                view = with_names(view, name_topics(view.topics, language_model, llm_hint, show))
    report = make_topic_report(view, corpus)
    write_topic_report(report, out)
    print_notes(report.account, "used", report.notes)
    return Answer(report.to_json(), [*_topic_lines(report.topics, report.outliers), f"written to {out}"])


def _read_corpus(studio: Studio, file: Path, texts: TextOptions) -> Corpus:
    with progress("reading", "") as report:
        return studio.data.read_corpus(file, texts.column, progress=report, model=texts.model, passages=texts.passages)


def _choose_unit(corpus: Corpus, unit: str | None) -> Corpus:
    """Return passages grouped to documents, unless ``unit`` is ``passage``; other texts as they are."""
    from ..data.corpus import group_passages

    if unit is not None and not corpus.places:
        raise StudioError(f"--unit is {unit}, but {corpus.name} is a table of texts", "omit it, or add --passages")
    return group_passages(corpus) if corpus.places and unit != "passage" else corpus


def _topic_lines(topics: Sequence[TopicInfo], outliers: int) -> list[list[str]]:
    """Return a line for each topic, largest first, under a line for its broad topic if it has one."""
    from ..explore.map_edits import NO_CLUSTER

    parents = {topic.parent for topic in topics}
    broad = sorted((topic for topic in topics if topic.id in parents), key=lambda topic: -topic.size)
    lines = []
    for group in [*broad, None]:
        if group is not None:
            lines.append([format_number(group.size), group.label])
        for topic in topics:
            if topic.id not in parents and topic.parent == (group and group.id):
                size = format_number(topic.size)
                lines.append([size, topic.label] if group is None else ["", f"{size}  {topic.label}"])
    return [*lines, *([[format_number(outliers), NO_CLUSTER]] if outliers else [])]


def _cluster_params(topics: str, seed: int) -> ClusterParams:
    from ..explore.clusters import ClusterParams

    if topics != "auto" and (not topics.isdecimal() or int(topics) < 1):
        raise StudioError(f"--topics is {topics!r}", "write auto, or a whole number of at least 1")
    return ClusterParams(count=0 if topics == "auto" else int(topics), seed=seed)
