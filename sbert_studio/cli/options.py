"""Options shared by several commands."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, is_dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import typer

from ..errors import StudioError
from ..settings import override_device
from ..shards import MANIFEST, SHARD_ROWS
from ..workspace import existing_path
from .completion import one_of
from .output import Answer, Column, Model, Passages, format_number, one_line, print_message

if TYPE_CHECKING:
    from ..data.corpus import Corpus
    from ..data.loading.table import Table
    from ..data.schema.roles import SchemaOverrides
    from ..services import Studio
    from ..services.results import EncodedShards, MinedShards
    from ..services.shards import ShardingOptions
    from ..shards.executor import ExecutionOptions


_INFERRED = "inferred"
_RUNS_MODELS = {"model", "models", "port"}  # parameters of the commands that run models
_KINDS = ("scored_pairs", "labelled_pairs", "positive_pairs", "triplets", "labelled_texts", "sentences")
Device = Annotated[
    str,
    typer.Option(
        metavar="cpu|cuda|cuda:N|mps",
        autocompletion=one_of(("cpu", "cuda", "mps")),
        help="Device for models.",
        show_default="SBERT_STUDIO_DEVICE, else the GPU if there is one",
    ),
]
Dev = Annotated[Path | None, typer.Option(metavar="FILE", help="Validation file with the same columns.")]


def with_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Replace each parameter whose type is a dataclass, such as :class:`FormatOptions`, with an option for each field."""
    signature = inspect.signature(command, eval_str=True)
    groups: dict[str, Any] = {name: own.annotation for name, own in signature.parameters.items() if is_dataclass(own.annotation)}
    parameters: list[inspect.Parameter] = []
    for name, own in signature.parameters.items():
        if name not in groups:
            parameters.append(own.replace(kind=inspect.Parameter.KEYWORD_ONLY))
            continue
        types = get_type_hints(groups[name], include_extras=True)
        parameters += [
            inspect.Parameter(field.name, inspect.Parameter.KEYWORD_ONLY, default=field.default, annotation=types[field.name])
            for field in fields(groups[name])
        ]

    @functools.wraps(command)
    def call(**named: Any) -> Any:
        options = {
            name: group(**{field.name: named.pop(field.name) for field in fields(group) if field.name in named})
            for name, group in groups.items()
        }
        return command(**named, **options)

    call.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
    call.__annotations__ = {each.name: each.annotation for each in parameters}
    return call


def with_device(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the option ``--device`` to a command that runs models."""
    signature = inspect.signature(command, eval_str=True)
    if not _RUNS_MODELS & set(signature.parameters):
        return command

    @functools.wraps(command)
    def call(**named: Any) -> Any:
        with override_device(named.pop("device")):
            return command(**named)

    option = inspect.Parameter("device", inspect.Parameter.KEYWORD_ONLY, default="", annotation=Device)
    parameters = [own.replace(kind=inspect.Parameter.KEYWORD_ONLY) for own in signature.parameters.values()]
    place = next((place for place, own in enumerate(parameters) if own.name == "json"), len(parameters))
    parameters.insert(place, option)
    call.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
    call.__annotations__ = {each.name: each.annotation for each in parameters}
    return call


@dataclass(frozen=True)
class FormatOptions:
    """Format of a training or evaluation file."""

    kind: Annotated[
        str | None,
        typer.Option(
            metavar="KIND",
            autocompletion=one_of(_KINDS),
            help=f"{', '.join(_KINDS)}.",
            show_default=_INFERRED,
        ),
    ] = None
    columns: Annotated[str | None, typer.Option(metavar="A,B", help="Text columns, in order.", show_default=_INFERRED)] = None
    target: Annotated[str | None, typer.Option(metavar="C", help="Column of scores, labels or categories.", show_default=_INFERRED)] = None
    group: Annotated[str | None, typer.Option(metavar="G", help="Column of topics or classes; '' for none.", show_default=_INFERRED)] = None
    scale: Annotated[
        str | None,
        typer.Option(
            metavar="LOW-HIGH", help="Scores of the least and the most similar pairs, such as 0-5 or 5-0.", show_default=_INFERRED
        ),
    ] = None
    order: Annotated[
        str | None, typer.Option(metavar="NO,YES", help="Labels from least to most similar; none: unordered.", show_default=_INFERRED)
    ] = None
    encoding: Annotated[
        str | None, typer.Option(metavar="NAME", help="Text encoding of the file, such as cp1251.", show_default=_INFERRED)
    ] = None
    delimiter: Annotated[
        str | None, typer.Option(metavar="SIGN", help="Cell delimiter: a character, or tab, comma, semicolon.", show_default=_INFERRED)
    ] = None
    header: Annotated[
        bool | None, typer.Option("--header/--no-header", help="Whether row 1 contains the column names.", show_default=_INFERRED)
    ] = None
    as_read: Annotated[bool, typer.Option("--as-read", help="Accept the inferred format even if it is uncertain.")] = False
    split: Annotated[
        str | None, typer.Option(metavar="C", help="Column that assigns rows to train, dev and test; '' for none.", show_default=_INFERRED)
    ] = None

    def overrides(self) -> SchemaOverrides:
        """Return the options as overrides of the inferred schema."""
        from ..data.schema.roles import parse_overrides

        return parse_overrides(**vars(self))


@dataclass(frozen=True)
class TextOptions:
    """Texts of a file to use, and the model that encodes them."""

    column: Column = None
    passages: Passages = False
    model: Model = None


@dataclass(frozen=True)
class LlmOptions:
    """Language model to use."""

    llm_url: Annotated[
        str,
        typer.Option(metavar="URL", help="OpenAI-compatible endpoint of a language model, or local.", show_default="SBERT_STUDIO_LLM_URL"),
    ] = ""
    llm_model: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="Language model there, or the folder or hub id of a local one; its key is SBERT_STUDIO_LLM_KEY.",
            show_default="SBERT_STUDIO_LLM_MODEL",
        ),
    ] = ""


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


@dataclass(frozen=True)
class EngineOptions:
    """Processing of a large corpus, shard by shard."""

    engine: Annotated[
        str | None,
        typer.Option(
            metavar="local|ray", autocompletion=one_of(("local", "ray")), help="Engine for shards: one at a time, or on many machines."
        ),
    ] = None
    address: Annotated[
        str, typer.Option(metavar="HOST:PORT", help="Address of a Ray cluster, or auto.", show_default="one on this machine alone")
    ] = ""
    workers: Annotated[
        int, typer.Option(min=0, help="Number of shards processed at a time.", show_default="as many as there are cores for")
    ] = 0
    threads: Annotated[int, typer.Option(min=1, help="Threads per shard; the last bits of the result depend on it.")] = 1

    def parse(self) -> ExecutionOptions:
        """Return the engine of the shards, which defaults to ``local``, or to ``ray`` if an address is given."""
        from ..shards.executor import ENGINES, ExecutionOptions

        name = self.engine or ("ray" if self.address else "local")
        if name not in ENGINES:
            raise StudioError(f"there is no engine {name!r}", f"choose one of {', '.join(ENGINES)}")
        return ExecutionOptions(name, self.address, self.workers)

    def reject(self, **more: bool) -> None:
        """Raise an error if an option was given that requires an engine: one of these, or one of ``more``."""
        given = {"address": self.address, "workers": self.workers, **more, "threads": self.threads != 1}
        for option, is_given in given.items():
            if is_given:
                raise StudioError(f"--{option.replace('_', '-')} requires an engine", "add --engine ray or --engine local")


@dataclass(frozen=True)
class ShardOptions(EngineOptions):
    """Division of a large corpus into shards, and their processing."""

    shard_rows: Annotated[int, typer.Option("--shard-rows", min=1, help="Rows per shard; the last bits of the result depend on it.")] = (
        SHARD_ROWS
    )

    def sharding(self) -> ShardingOptions:
        """Return the division of the corpus into shards."""
        from ..services.shards import ShardingOptions

        return ShardingOptions(self.threads, self.shard_rows)

    def reject(self, **more: bool) -> None:
        """Raise an error if an option was given that requires an engine."""
        super().reject(**more)
        EngineOptions().reject(shard_rows=self.shard_rows != SHARD_ROWS)


def is_shard_folder(file: Path) -> bool:
    """Return True for a folder of shards written by ``encode``."""
    found = existing_path(file)
    return found is not None and (found / MANIFEST).is_file()


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
