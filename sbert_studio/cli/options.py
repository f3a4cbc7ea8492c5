"""Options shared by several commands."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .output import print_message

if TYPE_CHECKING:
    from ..data.corpus import Corpus
    from ..data.loading.table import Table
    from ..data.schema.roles import SchemaOverrides
    from ..services import Studio

_INFERRED = "inferred"
Dev = Annotated[Path | None, typer.Option(metavar="FILE", help="Validation rows, in the same columns.")]
Kind = Annotated[
    str | None,
    typer.Option(
        metavar="KIND",
        help="scored_pairs, labelled_pairs, positive_pairs, triplets, labelled_texts or sentences.",
        show_default=_INFERRED,
    ),
]
Columns = Annotated[str | None, typer.Option(metavar="A,B", help="Text columns, in order.", show_default=_INFERRED)]
Target = Annotated[str | None, typer.Option(metavar="C", help="Column of scores, labels or categories.", show_default=_INFERRED)]
Group = Annotated[str | None, typer.Option(metavar="G", help="Column of topics or classes; '' for none.", show_default=_INFERRED)]
Scale = Annotated[
    str | None, typer.Option(metavar="LOW-HIGH", help="Scores of least and most similar, such as 0-5, or 5-0.", show_default=_INFERRED)
]
Order = Annotated[
    str | None, typer.Option(metavar="NO,YES", help="Labels from least to most similar; none: unordered.", show_default=_INFERRED)
]
Encoding = Annotated[str | None, typer.Option(metavar="NAME", help="Text encoding of the file, such as cp1251.", show_default=_INFERRED)]
Delimiter = Annotated[
    str | None, typer.Option(metavar="SIGN", help="Cell delimiter: a character, or tab, comma, semicolon.", show_default=_INFERRED)
]
Header = Annotated[bool | None, typer.Option("--header/--no-header", help="Whether row 1 names the columns.", show_default=_INFERRED)]
AsRead = Annotated[bool, typer.Option("--as-read", help="Accept the inferred format although a question is open.")]


def with_overrides(command: Callable[..., Any]) -> Callable[..., Any]:
    """Replace a command's parameter ``overrides`` by the options of :func:`parse_overrides`, and pass their value as it."""
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
) -> SchemaOverrides:
    """Return what the user set of a file's format.

    Raises:
        StudioError: an option cannot be parsed.
    """
    from ..data.schema.roles import parse_overrides

    return parse_overrides(
        kind, columns, target, group, scale, order, encoding=encoding, delimiter=delimiter, header=header, as_read=as_read
    )


def choose_model(studio: Studio, name: str | None, texts: Sequence[str] | Corpus | Table) -> str:
    """Return ``name``, or the default model for the language of the texts; a choice other than the default is reported on stderr."""
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
    """Print to stderr that the language of the texts chose ``model``, unless it is the default."""
    default = studio.settings.default_model
    if model != default:
        print_message(f"the texts are mostly {language or 'not English'}: using {model}; --model {default} for the English one")


def open_studio() -> Studio:
    """Return a studio with this machine's settings. A command may name any folder, whatever the page allows."""
    from ..services import Studio

    return Studio(allow_folders=True)
