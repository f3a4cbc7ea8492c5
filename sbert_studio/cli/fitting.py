"""The command by which word vectors are learned: fit."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from .answers import Answer, Json, progress
from .studio import open_studio
from .tuning import settings


def fit(
    *,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Texts: csv, tsv, jsonl, xlsx, parquet or txt.")],
    kind: Annotated[str, typer.Option(help="word2vec (skipgram), cbow, glove; or a table: glove-6B-50d, a file.")] = "glove",
    column: Annotated[list[str] | None, typer.Option(help="A column of texts; may be given again. Default: all of them.")] = None,
    out: Annotated[Path | None, typer.Option(metavar="DIR", help="Where the model goes.", show_default="below the data folder")] = None,
    weighting: Annotated[str, typer.Option(help="How words count in a text's mean: plain, tfidf or sif.")] = "sif",
    common: Annotated[int, typer.Option(min=0, max=10, help="How many directions that all texts share are taken away.")] = 0,
    seed: Annotated[int, typer.Option(help="Of everything that is drawn.")] = 12,
    sets: Annotated[list[str] | None, typer.Option("--set", metavar="NAME=VALUE", help="width, epochs, window, min_count, …")] = None,
    json: Json = False,
) -> Answer:
    """Learn word vectors from the texts of a file, or fit the weights of those that are there to it."""
    with open_studio() as studio, progress("learning") as show:
        found = studio.words.fit(
            file, kind, columns=column or (), out=out, weighting=weighting, common=common, settings=settings(sets or ()), seed=seed,
            progress=show,
        )  # fmt: skip
    words = f"{found.words:,} words as {found.dim}-d vectors from {found.texts:,} texts in {found.seconds:.1f} s, written to {found.model}"
    return Answer(found.to_json(), [words, *found.notes])


COMMANDS = (fit,)
