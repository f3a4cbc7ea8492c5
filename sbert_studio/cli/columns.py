"""What a person says of a file's columns, as options that several commands share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from ..data.asked import Asked

_FOUND = "found out"
Kind = Annotated[
    str | None,
    typer.Option("--kind", help="scored_pairs, labelled_pairs, positive_pairs, triplets or sentences.", show_default=_FOUND),
]
Columns = Annotated[
    str | None, typer.Option("--columns", metavar="A,B", help="The text columns, in the order of their parts.", show_default=_FOUND)
]
Target = Annotated[str | None, typer.Option("--target", metavar="C", help="The column of scores or labels.", show_default=_FOUND)]
Group = Annotated[
    str | None, typer.Option("--group", metavar="G", help="The column of topics or classes; '' for none.", show_default=_FOUND)
]
Scale = Annotated[
    str | None, typer.Option("--scale", metavar="LOW-HIGH", help="The lowest and the highest score, such as 0-5.", show_default=_FOUND)
]


def asked(kind: str | None, columns: str | None, target: str | None, group: str | None, scale: str | None) -> Asked:
    """The options as one value.

    Raises:
        StudioError: one of them cannot be read.
    """
    from ..data.asked import asked_in_words

    return asked_in_words(kind, columns, target, group, scale)
