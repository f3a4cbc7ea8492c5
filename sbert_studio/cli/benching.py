"""The command that measures speed beside a peer."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from .answers import Answer, Json, Model, progress
from .studio import open_studio


def bench(
    *,
    work: Annotated[str, typer.Argument(metavar="WORK", help="encode, train, search or startup.")],
    peer: Annotated[str, typer.Option(help="The library to measure beside.")] = "sentence-transformers",
    data: Annotated[Path | None, typer.Option(metavar="FILE", help="Texts, or pairs with a score.", show_default="a bundled set")] = None,
    limit: Annotated[int | None, typer.Option(min=1, help="Use this many rows at most.")] = None,
    repeats: Annotated[int, typer.Option(min=1, help="How often each side is measured, in turn.")] = 2,
    precision: Annotated[str, typer.Option(help="Our arithmetic: float32, bfloat16, int8 or auto. The peer's stays float32.")] = "float32",
    batch_size: Annotated[int, typer.Option(min=1, help="Rows a training step, on both sides.")] = 16,
    model: Model = None,
    json: Json = False,
) -> Answer:
    """Measure our speed and a peer's, in turn (A B A B), on the same work. A ratio above 1: ours is faster."""
    from ..studio.benching import BenchOptions, bench

    options = BenchOptions(
        work=work, peer=peer, data=data, limit=limit, repeats=repeats, precision=precision, batch_size=batch_size, model=model
    )
    with open_studio() as studio, progress(f"bench {work}", "rounds") as show:
        found = bench(studio, options, show)
    return Answer(found.to_json(), [[name, value] for name, value in found.to_json().items()])


COMMANDS = (bench,)
