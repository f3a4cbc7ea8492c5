"""Commands by which a person looks at texts: similarity, encode, search, mine, map."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from ..errors import StudioError
from ..shards.jobs import SHARD_ROWS
from ..workspace import require_writable_file
from .options import choose_model, open_studio
from .output import Answer, Column, Json, Model, format_number, one_line, print_message, print_notes, progress, progress_in_turn
from .shards import (
    Address,
    Engine,
    ShardRows,
    Threads,
    Workers,
    encoded_shards_answer,
    is_shard_folder,
    is_shard_job,
    mined_shards_answer,
    parse_execution_options,
    parse_sharding_options,
    reject_engine_options,
)

if TYPE_CHECKING:
    from ..explore.clusters import ClusterParams
    from ..models.prompts import Role

File = Annotated[Path, typer.Argument(metavar="FILE", help="csv, tsv, jsonl, xlsx, parquet or txt.")]


def similarity(
    *,
    a: Annotated[str | None, typer.Argument(metavar="A", help="A text.")] = None,
    b: Annotated[str | None, typer.Argument(metavar="B", help="Another text.")] = None,
    pairs: Annotated[Path | None, typer.Option(metavar="FILE", help="A file of pairs to compare instead.")] = None,
    out: Annotated[Path | None, typer.Option(metavar="FILE", help="Write the scores of --pairs to this CSV.")] = None,
    model: Model = None,
    json: Json = False,
) -> Answer:
    """Compare two texts, or every row of a file of pairs."""
    with open_studio() as studio:
        if pairs is None:
            if a is None or b is None:
                raise StudioError("two texts are needed", 'write sbert-studio similarity "one text" "another", or give --pairs FILE')
            if out is not None:
                raise StudioError("--out goes with --pairs", "leave it out, or give a file of pairs")
            model = choose_model(studio, model, [a, b])
            found = studio.similarity.compare(a, b, model)
            print_notes(None, "", found.notes)
            return Answer(
                {**found.to_json(), "model": model}, [[name, value] for name, value in found.to_json().items() if name != "notes"]
            )
        if a is not None:
            raise StudioError("both texts and --pairs were given", "give the one or the other")
        if out is not None:
            require_writable_file(out, pairs)
        table = studio.data.read_table(pairs)
        model = choose_model(studio, model, table)
        with progress("encoding") as show:
            scores = studio.similarity.compare_file(table, model, show)
    if out is not None:
        scores.to_csv(out)
    print_notes(scores.account, "compared", scores.notes)
    rows = [[row.row, row.similarity.cosine, one_line(row.a, 50), one_line(row.b, 50)] for row in scores.rows[:20]]
    more = [f"… and {len(scores.rows) - 20:,} rows more" + ("" if out else "; --out FILE writes them all")] if len(scores.rows) > 20 else []
    more += [scores.agreement.describe()] if scores.agreement else []
    written = [f"written to {out}"] if out else []
    return Answer({**scores.to_json(), "model": model}, [["row", "cosine", *scores.columns], *rows, *more, *written])


def encode(
    *,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="csv, tsv, jsonl, xlsx, parquet or txt; a folder or pattern of parquet.")],
    out: Annotated[Path, typer.Option(metavar="X.npy", help="Where the vectors go: (rows of the file, dim) float32; of shards, a folder.")],
    column: Column = None,
    model: Model = None,
    precision: Annotated[Literal["float32", "bfloat16", "int8", "auto"], typer.Option(help="Of the model's weights.")] = "float32",
    prompt: Annotated[
        str | None, typer.Option(metavar="ROLE", help="query, document or symmetric: with the model's prompt for such texts.")
    ] = None,
    engine: Engine = None,
    address: Address = "",
    workers: Workers = 0,
    threads: Threads = 1,
    shard_rows: ShardRows = SHARD_ROWS,
    id: Annotated[str | None, typer.Option("--id", help="Of shards, the column of ids.", show_default="id, if there is one")] = None,
    json: Json = False,
) -> Answer:
    """Turn a column of texts into vectors: one for each row below the header, blank ones too (NaN where there is no text).

    Written to the file as it goes: the same command goes on where it was interrupted.

    With --engine, or from a folder of Parquet files, into a folder of shards of id, text and vector, a blank text left out; the same
    command goes on where it was interrupted.
    """
    role = _role(prompt)
    if is_shard_job(file, engine):
        how, sharding = parse_execution_options(engine, address, workers), parse_sharding_options(threads, shard_rows)
        with open_studio() as studio, progress("encoding") as show:
            shards = studio.shards.encode(
                file, out, how, sharding, column=column, id_column=id, model=model, precision=precision, progress=show, role=role
            )
        return encoded_shards_answer(shards)
    reject_engine_options(address, workers, id, threads, cut=shard_rows != SHARD_ROWS)
    with open_studio() as studio:
        texts = studio.data.read_texts(file, column)
        require_writable_file(out, file)
        model = choose_model(studio, model, texts.texts)
        with progress("encoding", "rows") as show:
            found = studio.similarity.encode_file(texts, out, model, precision, show, print_message, role=role)
    from ..data.findings import count

    print_notes(found.account, "encoded", found.notes)
    rate = f"{found.seconds:.1f} s ({found.sentences_per_second:,.0f}/s)"
    now = f", the last {found.rows - found.resumed:,} of them in {rate}" if found.resumed else f" in {rate}"
    words = [f"{found.rows:,} rows as {found.dim}-d vectors{now}, written to {out}"]
    if found.why:
        words.append(f"precision {found.precision}: {found.why}")
    if found.account.skipped:
        words.append(f"{count(found.account.skipped, 'row')} without text {'are' if found.account.skipped > 1 else 'is'} NaN there")
    return Answer({**found.to_json(), "model": model}, words)


def _role(prompt: str | None) -> Role:
    from ..models.prompts import ROLES

    known = next((role for role in ROLES if role == (prompt or "plain")), None)
    if known is None:
        raise StudioError(f"there is no role {prompt!r}", "choose query, document or symmetric")
    return known


def search(
    *,
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="csv, tsv, jsonl, xlsx, parquet or txt; or a folder of shards that encode wrote.")
    ],
    query: Annotated[str, typer.Argument(metavar="QUERY", help="What to look for.")],
    k: Annotated[int, typer.Option("-k", "--k", min=1, help="How many hits.")] = 10,
    mode: Annotated[Literal["semantic", "lexical", "hybrid"], typer.Option(help="By meaning, by words (BM25), or both.")] = "semantic",
    rerank: Annotated[bool, typer.Option("--rerank", help="Rank the best hits again by a cross- or poly-encoder.")] = False,
    reranker: Annotated[
        str | None,
        typer.Option(metavar="MODEL", help="That model: a run, a folder or a hub id.", show_default="SBERT_STUDIO_RERANKER"),
    ] = None,
    query_prompt: Annotated[str, typer.Option(help="Put before the query, or none.", show_default="the model's")] = "",
    document_prompt: Annotated[str, typer.Option(help="Put before each text, or none.", show_default="the model's")] = "",
    truncate_dim: Annotated[
        int, typer.Option(min=0, help="Compare so many components of the vectors.", show_default="as the model has it")
    ] = 0,
    column: Column = None,
    model: Model = None,
    json: Json = False,
) -> Answer:
    """Find the texts nearest to a query."""
    from ..models.prompts import SearchSettings

    settings = SearchSettings(query_prompt, document_prompt, truncate_dim)
    if is_shard_folder(file):
        if settings != SearchSettings():
            raise StudioError("a folder of shards holds its vectors already", "leave out --query-prompt, --document-prompt, --truncate-dim")
        if mode != "semantic" or rerank or reranker or column:
            raise StudioError("a folder of shards is searched by meaning alone", "leave out --mode, --rerank, --reranker and --column")
        with open_studio() as studio, progress("indexing", "rows") as show:
            near = studio.shards.search(file, query, k, model, show)
        print_notes(None, "", near.notes)
        return Answer(near.to_json(), [[f"{hit.score:.4f}", hit.fields["id"], one_line(hit.text)] for hit in near.hits])
    with open_studio() as studio:
        corpus = studio.data.read_corpus(file, column)
        if mode != "lexical":
            model = choose_model(studio, model, corpus)
        with progress("encoding") as show:
            again: bool | str = reranker or rerank
            found = studio.search.search(corpus, query, k, mode, reranker=again, model=model, progress=show, settings=settings)  # type: ignore[arg-type]
    print_notes(found.account, "searched", found.notes)
    hits = [[f"{hit.score:.4f}", f"row {hit.line}", one_line(hit.text)] for hit in found.hits]
    return Answer({**found.to_json(), "model": model}, hits or ["nothing was found"])


def mine(
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="csv, tsv, jsonl, xlsx, parquet or txt; or a folder of shards that encode wrote.")
    ],
    k: Annotated[int, typer.Option("-k", "--k", min=1, help="How many pairs.")] = 10,
    exact: Annotated[bool, typer.Option("--exact", help="Compare all texts with all, however many there are.")] = False,
    column: Column = None,
    model: Model = None,
    engine: Engine = None,
    address: Address = "",
    workers: Workers = 0,
    threads: Threads = 1,
    json: Json = False,
) -> Answer:
    """Find the most similar pairs of texts."""
    if is_shard_folder(file):
        if column or model:
            raise StudioError("a folder of shards holds its vectors already", "leave out --column and --model")
        parse_sharding_options(threads)
        with open_studio() as studio, progress("comparing", "rows") as show:
            shared = studio.shards.mine(file, parse_execution_options(engine, address, workers), k, threads, show)
        return mined_shards_answer(shared)
    if engine is not None:
        raise StudioError(
            f"{file.name} is no folder of shards", "make one: sbert-studio encode FILE --engine ray --out FOLDER; then mine that folder"
        )
    reject_engine_options(address, workers, threads=threads)
    with open_studio() as studio:
        corpus = studio.data.read_corpus(file, column)
        model = choose_model(studio, model, corpus)
        with progress_in_turn(("encoding", "texts"), ("comparing", "pairs")) as (show, comparing):
            found = studio.search.mine(corpus, k, model, show, pair_progress=comparing, exact=exact)
    print_notes(found.account, "compared", found.notes)
    lines: list[Any] = []
    for pair in found.pairs:
        lines += [f"{pair.score:.4f}  rows {pair.line_a} and {pair.line_b}", f"  {one_line(pair.a)}", f"  {one_line(pair.b)}"]
    return Answer({**found.to_json(), "model": model}, lines)


def map(
    *,
    file: File,
    out: Annotated[Path, typer.Option(metavar="map.html", help="Where the page goes; it needs no network.")],
    clusters: Annotated[str, typer.Option(metavar="auto|N", help="How many clusters.")] = "auto",
    seed: Annotated[int | None, typer.Option(min=0, help="Draw the same map every time; slower.")] = None,
    layout: Annotated[Literal["studio", "umap-learn"], typer.Option(help="Which UMAP lays it out; umap-learn is slower.")] = "studio",
    column: Column = None,
    model: Model = None,
    json: Json = False,
) -> Answer:
    """Draw a corpus as a map with labelled clusters."""
    grouping = _cluster_params(clusters, seed)
    from ..explore.projection import ProjectionParams
    from ..ui.map_value import write_map

    params = ProjectionParams(seed=-1 if seed is None else seed, layout=layout)
    with open_studio() as studio:
        corpus = studio.data.read_corpus(file, column)
        require_writable_file(out, file)
        model = choose_model(studio, model, corpus)
        with progress("drawing", "steps") as show:
            view = studio.map.draw(corpus, params, grouping, model, show)
    write_map(view, corpus.texts, corpus.fields, out, lines=corpus.lines)
    print_notes(view.account, "drawn", view.notes)
    found = [[format_number(cluster.size), cluster.label] for cluster in view.clusters]
    return Answer({**view.to_json(), "model": model}, [*found, f"written to {out}"])


def _cluster_params(clusters: str, seed: int | None) -> ClusterParams:
    from ..explore.clusters import ClusterParams

    if clusters != "auto" and (not clusters.isdecimal() or int(clusters) < 1):
        raise StudioError(f"--clusters is {clusters!r}", "write auto, or a whole number of at least 1")
    return ClusterParams(count=0 if clusters == "auto" else int(clusters), seed=-1 if seed is None else seed)


COMMANDS = (similarity, encode, search, mine, map)
