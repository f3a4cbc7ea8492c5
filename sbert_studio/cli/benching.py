"""The command that measures speed beside a peer."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from ..bench.works import BENCHMARKS
from .options import open_studio
from .output import Answer, Json, Model, progress


def bench(
    *,
    work: Annotated[str, typer.Argument(metavar="WORK", help=", ".join(BENCHMARKS))],
    peer: Annotated[str, typer.Option(help="The library to measure beside.")] = "sentence-transformers",
    data: Annotated[Path | None, typer.Option(metavar="FILE", help="Texts, or pairs with a score.", show_default="a bundled set")] = None,
    test: Annotated[Path | None, typer.Option(metavar="FILE", help="train: judge both sides' models on these scored pairs.")] = None,
    limit: Annotated[int | None, typer.Option(min=1, help="Use this many rows at most.")] = None,
    repeats: Annotated[int, typer.Option(min=1, help="How often each side is measured, in turn; train takes the next seed each time.")] = 2,
    precision: Annotated[str, typer.Option(help="Ours, or several with commas between.")] = "float32",
    peer_precision: Annotated[Literal["float32", "bfloat16"], typer.Option(help="The peer's.")] = "float32",
    batch_size: Annotated[int, typer.Option(min=1, help="Rows a training step, on both sides.")] = 16,
    epochs: Annotated[float, typer.Option(help="train: how often each row is seen, on both sides.")] = 1.0,
    lr: Annotated[float, typer.Option(help="train: the highest learning rate, on both sides.")] = 2e-5,
    seed: Annotated[int, typer.Option(min=0, help="train: the first round's seed.")] = 12,
    model: Model = None,
    json: Json = False,
) -> Answer:
    """Measure our speed and a peer's, in turn (A B A B), on the same work. A ratio above 1: ours is faster."""
    from ..bench.base import BenchOptions

    options = BenchOptions(
        work, peer, data, test, limit, repeats, precision, batch_size, epochs, learning_rate=lr, seed=seed, model=model,
        peer_precision=peer_precision,
    )  # fmt: skip
    with open_studio() as studio, progress(f"bench {work}", "rounds") as show:
        found = studio.bench.run(options, show)
    return Answer(found.to_json(), [[name, value] for name, value in found.to_json().items()])


COMMANDS = (bench,)
