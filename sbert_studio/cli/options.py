"""Options shared by several commands."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..errors import StudioError
from ..shards import MANIFEST, SHARD_ROWS
from ..workspace import existing_path
from .output import Answer, format_number, one_line, print_message

if TYPE_CHECKING:
    from ..data.corpus import Corpus
    from ..data.loading.table import Table
    from ..data.schema.roles import SchemaOverrides
    from ..services import Studio
    from ..services.results import EncodedShards, MinedShards
    from ..services.shards import ShardingOptions
    from ..shards.executor import ExecutionOptions


_INFERRED = "inferred"
Dev = Annotated[Path | None, typer.Option(metavar="FILE", help="Validation file with the same columns.")]
Kind = Annotated[
    str | None,
    typer.Option(
        metavar="KIND", help="scored_pairs, labelled_pairs, positive_pairs, triplets, labelled_texts or sentences.", show_default=_INFERRED
    ),
]
Columns = Annotated[str | None, typer.Option(metavar="A,B", help="Text columns, in order.", show_default=_INFERRED)]
Target = Annotated[str | None, typer.Option(metavar="C", help="Column of scores, labels or categories.", show_default=_INFERRED)]
Group = Annotated[str | None, typer.Option(metavar="G", help="Column of topics or classes; '' for none.", show_default=_INFERRED)]
Split = Annotated[
    str | None, typer.Option(metavar="C", help="Column that assigns rows to train, dev and test; '' for none.", show_default=_INFERRED)
]
Scale = Annotated[
    str | None,
    typer.Option(metavar="LOW-HIGH", help="Scores of the least and the most similar pairs, such as 0-5 or 5-0.", show_default=_INFERRED),
]
Order = Annotated[
    str | None, typer.Option(metavar="NO,YES", help="Labels from least to most similar; none: unordered.", show_default=_INFERRED)
]
Encoding = Annotated[str | None, typer.Option(metavar="NAME", help="Text encoding of the file, such as cp1251.", show_default=_INFERRED)]
Delimiter = Annotated[
    str | None, typer.Option(metavar="SIGN", help="Cell delimiter: a character, or tab, comma, semicolon.", show_default=_INFERRED)
]
Header = Annotated[
    bool | None, typer.Option("--header/--no-header", help="Whether row 1 contains the column names.", show_default=_INFERRED)
]
LlmUrl = Annotated[
    str, typer.Option(metavar="URL", help="OpenAI-compatible endpoint of a language model, or local.", show_default="SBERT_STUDIO_LLM_URL")
]
LlmModel = Annotated[
    str,
    typer.Option(
        metavar="NAME",
        help="Language model there, or the folder or hub id of a local one; its key is SBERT_STUDIO_LLM_KEY.",
        show_default="SBERT_STUDIO_LLM_MODEL",
    ),
]
AsRead = Annotated[bool, typer.Option("--as-read", help="Accept the inferred format even if it is uncertain.")]


def with_overrides(command: Callable[..., Any]) -> Callable[..., Any]:
    """Replace a command's ``overrides`` parameter with the options of :func:`parse_overrides`."""
    signature, options = (inspect.signature(each, eval_str=True, locals={"SchemaOverrides": object}) for each in (command, parse_overrides))
    parameters = [
        parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY)
        for name, own in signature.parameters.items()
        for parameter in (options.parameters.values() if name == "overrides" else (own,))
    ]

    @functools.wraps(command)
    def call(**named: Any) -> Any:
        given = {name: named.pop(name) for name in options.parameters if name in named}
        return command(**named, overrides=parse_overrides(**given))

    call.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
    call.__annotations__ = {each.name: each.annotation for each in parameters}
    return call


def parse_overrides(
    kind: Kind = None,
    columns: Columns = None,
    target: Target = None,
    group: Group = None,
    scale: Scale = None,
    order: Order = None,
    encoding: Encoding = None,
    delimiter: Delimiter = None,
    header: Header = None,
    as_read: AsRead = False,
    split: Split = None,
) -> SchemaOverrides:
    """Return the format options set by the user."""
    from ..data.schema.roles import parse_overrides

    columns_of = {"kind": kind, "columns": columns, "target": target, "group": group, "scale": scale, "order": order, "split": split}
    return parse_overrides(**columns_of, encoding=encoding, delimiter=delimiter, header=header, as_read=as_read)


def choose_model(studio: Studio, name: str | None, texts: Sequence[str] | Corpus | Table) -> str:
    """Return ``name``, or the default model for the language of the texts; report on stderr if that is not the global default."""
    from ..data.corpus import Corpus
    from ..data.language import LANGUAGE_NAMES, count_languages, dominant_foreign_language
    from ..data.loading.table import Table

    if name:
        return name
    if isinstance(texts, Table):
        languages = studio.data.count_languages(texts)
    else:
        languages = texts.languages if isinstance(texts, Corpus) else count_languages(texts)
    model = studio.languages.default_model(languages)
    report_model(studio, model, LANGUAGE_NAMES.get(dominant_foreign_language(languages), ""))
    return model


def report_model(studio: Studio, model: str, language: str = "") -> None:
    """Report on stderr that ``model`` was chosen for the language of the texts, unless it is the default."""
    default = studio.settings.default_model
    if model != default:
        print_message(f"the texts are mostly {language or 'not English'}: using {model}; use --model {default} for the English model")


def open_studio() -> Studio:
    """Return a studio with this machine's settings. Unlike the page, commands may access any folder."""
    from ..services import Studio

    return Studio(allow_folders=True)


Engine = Annotated[str | None, typer.Option(metavar="NAME", help="Engine for shards: local (one at a time) or ray (on many machines).")]
Address = Annotated[
    str, typer.Option(metavar="HOST:PORT", help="Address of a Ray cluster, or auto.", show_default="one on this machine alone")
]
Workers = Annotated[int, typer.Option(min=0, help="Number of shards processed at a time.", show_default="as many as there are cores for")]
Threads = Annotated[int, typer.Option(min=1, help="Threads per shard; the last bits of the result depend on it.")]
ShardRows = Annotated[int, typer.Option("--shard-rows", min=1, help="Rows per shard; the last bits of the result depend on it.")]


def is_shard_folder(file: Path) -> bool:
    """Return True for a folder of shards written by ``encode``."""
    found = existing_path(file)
    return found is not None and (found / MANIFEST).is_file()


def parse_shard_options(
    engine: str | None, address: str, workers: int, threads: int, rows: int = SHARD_ROWS
) -> tuple[ExecutionOptions, ShardingOptions]:
    """Return the options of a job over shards; the engine defaults to ``local``, or to ``ray`` if an address is given."""
    from ..services.shards import ShardingOptions
    from ..shards.executor import ENGINES, ExecutionOptions

    name = engine or ("ray" if address else "local")
    if name not in ENGINES:
        raise StudioError(f"there is no engine {name!r}", f"choose one of {', '.join(ENGINES)}")
    return ExecutionOptions(name, address, workers), ShardingOptions(threads, rows)


def reject_engine_options(address: str = "", workers: int = 0, id: str | None = None, threads: int = 1, cut: bool = False) -> None:
    """Raise an error for options that require an engine."""
    more = (("--threads", threads != 1), ("--shard-rows", cut))
    for option, given in (("--address", address), ("--workers", workers), ("--id", id), *more):
        if given:
            raise StudioError(f"{option} requires an engine", "add --engine ray or --engine local")


def encoded_shards_answer(result: EncodedShards) -> Answer:
    """Return the answer of ``encode`` for shards."""
    rate = f"{result.seconds:.1f} s ({result.sentences_per_second:,.0f}/s)"
    lines = [f"{result.rows:,} texts as {result.dim}-d vectors in {result.shards:,} shards, written to {result.folder}"]
    lines += [f"{result.encoded:,} rows of the files were encoded, in {rate}" if result.encoded else "all shards already existed"]
    if result.resumed and result.encoded:
        lines.append(f"{result.resumed:,} shards existed already")
    if result.left_out:
        lines.append(f"skipped: {result.left_out:,} without text")
    return Answer(result.to_json(), lines)


def mined_shards_answer(result: MinedShards) -> Answer:
    """Return the answer of ``mine`` for shards."""
    lines = list(result.notes)
    for pair in result.pairs:
        lines += [f"{format_number(pair.score)}  {pair.id_a} and {pair.id_b}", f"  {one_line(pair.a)}", f"  {one_line(pair.b)}"]
    return Answer(result.to_json(), lines)
