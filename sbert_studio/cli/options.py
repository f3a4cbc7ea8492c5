"""Options shared by several commands."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .output import print_message

if TYPE_CHECKING:
    from ..data.corpus import Corpus
    from ..data.loading.table import Table
    from ..data.schema.overrides import SchemaOverrides
    from ..services import Studio


_FOUND = "found out"
Kind = Annotated[
    str | None,
    typer.Option(
        "--kind",
        metavar="KIND",
        help="scored_pairs, labelled_pairs, positive_pairs, triplets, labelled_texts or sentences.",
        show_default=_FOUND,
    ),
]
Columns = Annotated[
    str | None, typer.Option("--columns", metavar="A,B", help="The text columns, in the order of their parts.", show_default=_FOUND)
]
Target = Annotated[
    str | None, typer.Option("--target", metavar="C", help="The column of scores, labels or categories.", show_default=_FOUND)
]
Group = Annotated[
    str | None, typer.Option("--group", metavar="G", help="The column of topics or classes; '' for none.", show_default=_FOUND)
]
Scale = Annotated[
    str | None,
    typer.Option("--scale", metavar="LOW-HIGH", help="The scores of least and of most alike, such as 0-5, or 5-0.", show_default=_FOUND),
]
Order = Annotated[
    str | None,
    typer.Option("--order", metavar="NO,YES", help="The labels from least to most alike; none: they have no order.", show_default=_FOUND),
]
Encoding = Annotated[
    str | None, typer.Option("--encoding", metavar="NAME", help="The file's text encoding, such as cp1251.", show_default=_FOUND)
]
Delimiter = Annotated[
    str | None,
    typer.Option(
        "--delimiter", metavar="SIGN", help="What stands between its cells: a sign, or tab, comma, semicolon.", show_default=_FOUND
    ),
]
Header = Annotated[bool | None, typer.Option("--header/--no-header", help="Whether its first row names the columns.", show_default=_FOUND)]
AsRead = Annotated[bool, typer.Option("--as-read", help="Go on with what was read, though a question is open.")]


def with_overrides(command: Callable[..., Any]) -> Callable[..., Any]:
    """``command`` with the options of :func:`asked` in the place of its parameter ``said``, which is then what they come to."""
    signature, options = (inspect.signature(each, eval_str=True, locals={"SchemaOverrides": object}) for each in (command, parse_overrides))
    every = [
        parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY)
        for name, own in signature.parameters.items()
        for parameter in (options.parameters.values() if name == "said" else (own,))
    ]

    @functools.wraps(command)
    def call(**named: Any) -> Any:
        given = {name: named.pop(name) for name in options.parameters if name in named}
        return command(**named, said=parse_overrides(**given))

    call.__signature__ = signature.replace(parameters=every)  # type: ignore[attr-defined]
    call.__annotations__ = {each.name: each.annotation for each in every}
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
    """The options as one value.

    Raises:
        StudioError: one of them cannot be read.
    """
    from ..data.schema.overrides import parse_overrides

    return parse_overrides(
        kind, columns, target, group, scale, order, encoding=encoding, delimiter=delimiter, header=header, as_read=as_read
    )


def choose_model(studio: Studio, named: str | None, texts: Sequence[str] | Corpus | Table) -> str:
    """Return ``named``, or the usual model for the language of the texts; where that is not the default, stderr says so."""
    from ..data.corpus import Corpus
    from ..data.language import LANGUAGE_NAMES, count_languages, dominant_foreign_language
    from ..data.loading.table import Table

    if named:
        return named
    if isinstance(texts, Table):
        found = studio.data.count_languages(texts)
    else:
        found = texts.languages if isinstance(texts, Corpus) else count_languages(texts)
    model = studio.languages.default_model(found)
    report_model(studio, model, LANGUAGE_NAMES.get(dominant_foreign_language(found), ""))
    return model


def report_model(studio: Studio, model: str, language: str = "") -> None:
    """Say on stderr that the language of the texts chose ``model``, unless it is the default."""
    default = studio.settings.default_model
    if model != default:
        print_message(f"the texts are mostly {language or 'not English'}: using {model}; --model {default} for the English one")


def open_studio() -> Studio:
    """A studio on this machine's settings. Whoever types a command may name any folder, whatever the page allows."""
    from ..services import Studio

    return Studio(allow_folders=True)
